"""The walkthrough with the Inspector's command line goes as its page says."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.snippets import commands, pages, same_output
from tests.strangers.programs import environment

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.shows("T1")]

[PAGE] = [page for page in pages() if page.name == "docs/inspector.md"]
[WALK] = [block for block in PAGE.blocks if "$ mcpdo" in block.text]
ID = re.compile(r"elicitation-[0-9a-f-]{36}")


class Shell:
    """Runs commands in a folder of its own, with a short name for sockets, in which the page's server is."""

    def __init__(self, folder: Path) -> None:
        for name, text in PAGE.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        self._folder = folder
        self._known = environment(str(folder))
        self._known["PATH"] = f"{sysconfig.get_path('scripts')}{os.pathsep}{self._known['PATH']}"

    def run(self, command: str) -> str:
        done = subprocess.run(
            command, shell=True, cwd=self._folder, env=self._known, capture_output=True, text=True, timeout=60
        )
        return re.sub(r"(?m)^Server: .*python", "Server: python", done.stdout)


@pytest.fixture
def shell() -> Iterator[Shell]:
    with tempfile.TemporaryDirectory(prefix="hr", dir="/tmp") as folder:
        shell = Shell(Path(folder))
        yield shell
        shell.run("mcpdo daemon stop")


def test_mcpdo_goes_through_the_walk(shell: Shell) -> None:
    [named, *_] = ID.findall(WALK.text)
    asked = named
    for command, expected in commands(WALK):
        shown = shell.run(command.replace(named, asked))
        asked = next(iter(ID.findall(shown)), asked)
        assert same_output(shown.replace(asked, named), expected), f"{command} prints:\n{shown}"
