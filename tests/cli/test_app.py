from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.make.commands import command_tree
from typer.testing import CliRunner

from handraise.cli.app import app


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, re.fullmatch(r"handraise \d+\.\d+\.\d+\n", result.stdout) is not None) == (
        0,
        True,
    )


def test_without_a_command_the_help_is_shown() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "check" in result.output


@pytest.mark.parametrize(
    "words", [words for words, command in command_tree() if hasattr(command, "commands")]
)
def test_every_command_is_listed_with_a_whole_sentence(words: str) -> None:
    shown = CliRunner().invoke(app, [*words.split()[1:], "--help"], env={"COLUMNS": "80"}).output
    listed = shown.partition("\nCommands:\n")[2].partition("\n\n")[0].splitlines()
    assert listed
    assert not [line for line in listed if line.endswith("...")]


@pytest.mark.parametrize("words", [words for words, _ in command_tree()])
def test_no_help_is_wider_than_a_terminal(words: str) -> None:
    shown = CliRunner().invoke(app, [*words.split()[1:], "--help"], env={"COLUMNS": "80"}).output
    assert not [line for line in shown.splitlines() if len(line) > 80]


@pytest.mark.parametrize("command", ["call", "tools", "trace", "design", "gateway"])
def test_how_a_command_is_used_says_where_the_servers_command_stands(command: str) -> None:
    usage = CliRunner().invoke(app, [command, "--help"]).output.partition("\n\n")[0]
    assert "[-- COMMAND...]" in usage


def test_starting_loads_neither_the_sdk_nor_pydantic_nor_a_terminal_toolkit() -> None:
    program = (
        "import sys, handraise.cli.app; print({'mcp', 'pydantic', 'rich', 'textual'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_finds_no_room_ends_with_one_sentence() -> None:
    command = Path(sys.executable).with_name("handraise")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([command, "policy", "show"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        b"handraise: the output cannot be written: No space left on device. Make room, and run it again\n"
    )


def test_the_command_can_be_run() -> None:
    command = Path(sys.executable).with_name("handraise")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("handraise ")
