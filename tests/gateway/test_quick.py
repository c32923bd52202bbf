"""The short way into the gateway understands the same words as the whole command line, or leaves them to it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
import typer.main

from handraise.cli.gateway import app
from handraise.gateway.options import Options
from handraise.gateway.quick import _options

WHOLE = {each.name: each for each in typer.main.get_command(app).params}
QUICK: dict[str, tuple[list[str], Any]] = {
    "name": (["--name", "notes"], "notes"),
    "desk": (["--desk", "always"], "always"),
    "hold": (["--hold", "7"], 7.0),
    "wait": (["--wait", "8"], 8.0),
    "browser": (["--browser"], True),
}
LEFT = {"url", "config", "http", "people", "issuer", "desk_client", "public_url"}
"""What is left to the whole command line."""


def test_every_option_of_the_command_is_understood_or_left_to_it() -> None:
    shells_own = {"install_completion", "show_completion"}
    assert set(WHOLE) - shells_own == {*QUICK, *LEFT}
    for name in LEFT:
        assert _options([f"--{name.replace('_', '-')}", "x"]) is None


@pytest.mark.parametrize("option", [name for name in QUICK if name != "name"])
def test_both_ways_have_the_same_default(option: str) -> None:
    assert WHOLE[option].default == asdict(Options())[option]


@pytest.mark.parametrize("option", QUICK)
@pytest.mark.parametrize("joined", [False, True], ids=["apart", "joined"])
def test_both_ways_read_the_same_value(option: str, joined: bool) -> None:
    words, value = QUICK[option]
    assert words[0] in WHOLE[option].opts
    read = _options(["=".join(words)] if joined else words)
    assert read is not None
    name, options = read
    assert (name if option == "name" else asdict(options)[option]) == value


@pytest.mark.parametrize(
    "words", [["--hold", "soon"], ["--desk", "mine"], ["--odd"], ["--name"], ["--browser=x"]], ids=" ".join
)
def test_what_is_wrong_is_left_to_the_whole_command_line(words: list[str]) -> None:
    assert _options(words) is None
