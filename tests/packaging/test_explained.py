"""Every exception from a security rule has its reason in words beside it."""

from __future__ import annotations

import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "bench", "examples", "docs/make")
EXCEPTION = re.compile(r"#\s*(?:noqa:[ A-Z0-9,]*\bS\d{3}\b[ A-Z0-9,]*|nosec\b[ B0-9,]*)(?P<reason>.*)")
REASON = re.compile(r"- (?:\S+ )+\S+")


def unexplained(comment: str) -> bool:
    """Whether a comment makes an exception from a security rule and does not say why, in two words at least."""
    found = EXCEPTION.match(comment)
    return found is not None and REASON.match(found["reason"]) is None


def comments() -> Iterator[tuple[Path, int, str]]:
    """The comments that may make an exception."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if {".venv", "node_modules"} & {part.partition("-")[0] for part in path.parts[len(ROOT.parts) :]}:
                continue
            if re.search("#.*(noqa|nosec)", path.read_text(encoding="utf-8")) is None:
                continue
            with path.open("rb") as file:
                for token in tokenize.tokenize(file.readline):
                    if token.type == tokenize.COMMENT:
                        yield path.relative_to(ROOT), token.start[0], token.string


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa: S608", True),
        ("# noqa: S608 - ours", True),
        ("# noqa: E501, S608", True),
        ("# nosec", True),
        ("# nosec B608", True),
        ("# noqa: S608 - SQL of ours", False),
        ("# nosec B608 - SQL of ours", False),
        ("# noqa: BLE001", False),
        ("# noqa: SIM102", False),
        ("# a noqa: S608 in a sentence", False),
    ],
)
def test_a_reason_has_two_words_at_least(comment: str, expected: bool) -> None:
    assert unexplained(comment) is expected


def test_every_exception_from_a_security_rule_says_why() -> None:
    assert [found for found in comments() if unexplained(found[2])] == []


def test_every_security_rule_that_is_off_for_a_folder_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r'\s+"S\d{3}"', line)]
    assert lines
    assert [line for line in lines if not re.search(r"# (?:\S+ )+\S+", line)] == []
    off = tomllib.loads(text)["tool"]["ruff"]["lint"]
    assert "S" in off["select"]
    assert not {"S"} & {rule for rules in off["per-file-ignores"].values() for rule in rules}
