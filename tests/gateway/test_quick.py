"""The short way into the gateway understands the same words as the whole command line, or leaves them to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from handraise.cli.gateway import app
from handraise.gateway.quick import read_flags

WHOLE = {each.name: each for each in typer.main.get_command(app).params}
QUICK: dict[str, tuple[list[str], Any]] = {
    "desk": (["--desk", "always"], "always"),
    "hold": (["--hold", "7"], 7.0),
    "wait": (["--wait", "8"], 8.0),
    "store": (["--store", "x.db"], "x.db"),
    "browser": (["--browser"], True),
    "notify": (["--no-notify"], False),
    "stdio": (["--stdio"], ""),
}
LEFT = {"url", "config", "http", "people", "issuer", "desk_client", "public_url"}
"""What is left to the whole command line."""
AT_START = """
import sys
def heard(event, told):
    if event == "subprocess.Popen":
        heavy = {"asyncio", "mcp", "typer", "pydantic", "tomllib", "handraise.forms", "handraise.policy.settings"}
        print(sorted(heavy & set(sys.modules)), file=sys.stderr)
sys.addaudithook(heard)
from handraise.cli import main
main()
"""


def test_every_option_of_the_command_is_understood_or_left_to_it() -> None:
    shells_own = {"install_completion", "show_completion"}
    left = set(WHOLE) - shells_own - {*QUICK, "name"}
    assert left >= LEFT
    for name in left:
        assert read_flags([f"--{str(name).replace('_', '-')}", "x"]) is None


@pytest.mark.parametrize("option", QUICK)
@pytest.mark.parametrize("joined", [False, True], ids=["apart", "joined"])
def test_both_ways_read_the_same_value(option: str, joined: bool) -> None:
    words, value = QUICK[option]
    assert words[0] in [*WHOLE[option].opts, *WHOLE[option].secondary_opts]
    read = read_flags(["=".join(words)] if joined else words)
    assert read == (None, {"http" if option == "stdio" else option: value})


def test_a_server_has_the_name_that_it_is_given() -> None:
    assert read_flags(["--name", "notes"]) == ("notes", {})


@pytest.mark.parametrize(
    "words",
    [["--hold", "soon"], ["--hold", "99999"], ["--desk", "mine"], ["--odd"], ["--name"], ["--browser=x"]],
    ids=" ".join,
)
def test_what_is_wrong_is_left_to_the_whole_command_line(words: list[str]) -> None:
    assert read_flags(words) is None


@pytest.mark.slow
@pytest.mark.parametrize("file", [None, "gateway.hold = 3"], ids=["without a file", "with a file"])
def test_the_server_is_started_before_anything_heavy_is_loaded(tmp_path: Path, file: str | None) -> None:
    done = start(tmp_path, file, "--", sys.executable, "-c", "pass")
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_file_that_cannot_be_used_is_told_with_its_line_and_the_server_is_let_go(tmp_path: Path) -> None:
    done = start(
        tmp_path, "[gateway]\nhold = 'soon'", "--", sys.executable, "-c", "import sys; sys.stdin.read()"
    )
    assert done.returncode == 2
    assert "handraise.toml:2: gateway.hold: use a number of seconds" in done.stderr


@pytest.mark.slow
def test_a_file_that_says_http_has_http_served(tmp_path: Path) -> None:
    """A host that is not this computer is refused there: so it is seen that the file was read."""
    file = '[gateway]\nhttp = "192.0.2.1:80"'
    done = start(tmp_path, file, "--", sys.executable, "-c", "pass")
    assert done.returncode == 2
    assert "on 192.0.2.1 anybody could answer" in done.stderr
    assert start(tmp_path, file, "--stdio", "--", sys.executable, "-c", "pass").returncode == 0


def start(home: Path, file: str | None, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, for a user with this file; what it loaded at its start is on standard error."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE")}
    if file is not None:
        (home / "handraise.toml").write_text(file)
        around["HANDRAISE_CONFIG"] = str(home / "handraise.toml")
    code = f"import sys; sys.argv[1:] = {json.dumps(['gateway', *words])}\n{AT_START}"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**around, "HOME": str(home)},
        cwd=home,
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
