"""Commands that the pages name and no test runs are at least commands that exist."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from docs.make.commands import command_tree
from tests.docs.snippets import ROOT, Page, idle_commands, pages

TREE = dict(command_tree())
TARGETS = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
TYPED = re.compile(r"(handraise|make|pip install) ")
NAMED = re.compile(r"`((?:handraise|make|pip install) [^`\n]+)`")


def named_commands(page: Page) -> Iterator[str]:
    """What a page tells its reader to run and does not run itself: in sentences, in blocks, in configurations."""
    text = (ROOT / page.name).read_text(encoding="utf-8")
    yield from NAMED.findall(re.sub(r"(?ms)^```.*?^```$", "", text))
    yield from idle_commands(page)
    for block in page.blocks:
        if block.language == "text":
            typed = block.text.replace("\\\n", " ").splitlines()
            yield from (re.split(r" {2,}", line)[0] for line in typed if TYPED.match(line))
        if block.language == "json" and not block.mark:
            yield from _configured(json.loads(block.text))


def _configured(value: Any) -> Iterator[str]:
    """The commands of a client's configuration."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _configured(each)
    if isinstance(value, dict) and value.get("command") == "handraise":
        yield shlex.join(["handraise", *value["args"]])


def problem_with(command: str) -> str | None:
    """Why a command cannot be right."""
    if command.count("'") % 2:  # an argument that goes on in the next line
        command = command.partition("'")[0]
    words = shlex.split(command, comments=True)
    match words:
        case ["make", target, *_]:
            return None if target in TARGETS else f"the Makefile has no {target}"
        case ["pip", "install", *what]:
            extras = {extra for each in what for extra in re.findall(r"handraise\[([\w,]+)\]", each)}
            unknown = {name for extra in extras for name in extra.split(",")} - EXTRAS.keys()
            return f"there is no extra {unknown}" if unknown else None
        case ["handraise", *_]:
            return _problem_with_ours(words)
    return None


def _problem_with_ours(words: list[str]) -> str | None:
    words = words[: words.index("--")] if "--" in words else words
    found = max((name for name in TREE if f"{' '.join(words)} ".startswith(f"{name} ")), key=len)
    rest = words[len(found.split()) :]
    known = {spelled for each in TREE[found].params for spelled in (*each.opts, *each.secondary_opts)}
    options = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    if hasattr(TREE[found], "commands") and rest[:1] and re.fullmatch(r"[a-z-]+", rest[0]) and not options:
        return f"{found} has no command {rest[0]}"
    unknown = [each for each in options if each not in known | {"--help"}]
    return f"{found} has no {unknown[0]}" if unknown else None


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in pages()])
def test_a_command_that_a_page_names_exists(page: Page) -> None:
    wrong = {command: why for command in named_commands(page) if (why := problem_with(command)) is not None}
    assert not wrong


@pytest.mark.parametrize(
    "command",
    [
        "handraise fly",
        "handraise gateway fly",
        "handraise call --fly -- x --y",
        "make fly",
        "pip install 'handraise[fly]'",
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    assert problem_with(command) is not None


@pytest.mark.parametrize(
    "command",
    ["handraise call greet --trace -- python x.py --fly", "make docs", "pip install 'handraise[web,sql]'"],
)
def test_a_command_that_exists_is_fine(command: str) -> None:
    assert problem_with(command) is None
