from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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


def test_starting_loads_neither_the_sdk_nor_pydantic_nor_a_terminal_toolkit() -> None:
    program = (
        "import sys, handraise.cli.app; print({'mcp', 'pydantic', 'rich', 'textual'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_command_can_be_run() -> None:
    command = Path(sys.executable).with_name("handraise")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("handraise ")
