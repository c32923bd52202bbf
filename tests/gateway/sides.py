"""The two sides of a gateway on one machine: a model with a client and a shell, and a person at a terminal."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.command import HANDRAISE, ROOT
from tests.forking import fork_at_terminal
from tests.login_shell import Started, from_login_shell

ARMED_AFTER = 0.5
"""Seconds for which a desk takes no answer, so that typing ahead is no consent."""


class Model:
    """The model's side; everything that it sees is kept."""

    def __init__(self, process: Started) -> None:
        self._process = process
        self.saw = ""

    def call(self, tool: str, **arguments: str) -> str:
        return self._ask({"tool": tool, "arguments": arguments})

    def shell(self, words: str) -> str:
        return self._ask({"shell": words})

    def _ask(self, asked: object) -> str:
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        seen: str = json.loads(self._process.stdout.readline())
        self.saw += seen
        return seen


def make_home(folder: Path) -> dict[str, str]:
    """The environment of a user with a browser and a screen: what either is told to show is written down."""
    for name in ("run", "data", "bin"):
        (folder / name).mkdir(mode=0o700)
    for program, file in {"xdg-open": "opened", "notify-send": "notices"}.items():
        script = folder / "bin" / program
        script.write_text(
            f'#!/bin/sh\nfor word; do last="$word"; done\nprintf "%s" "$last" > {folder}/{file}\n'
        )
        script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE")}
    return {
        **kept,
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "XDG_DATA_HOME": str(folder / "data"),
        "DISPLAY": ":99",
        "TERM": "dumb",
    }


@contextmanager
def model(
    home: dict[str, str],
    errors: Path,
    *options: str,
    starter: Sequence[str] = (),
    launcher: Sequence[str] = (),
) -> Iterator[Model]:
    """A model whose client reaches the notes server through a gateway; its standard error goes to a file.

    `starter` is a program that starts the client, `launcher` one between the client and the gateway.
    """
    server = [sys.executable, "-m", "tests.gateway.few_notes"]
    gateway = [*HANDRAISE, "gateway", "--name", "my notes", "--hold", "1", *options, "--", *server]
    command = [*launcher, *gateway]
    client = [*starter, sys.executable, "-m", "tests.gateway.model", *command]
    with from_login_shell(client, home, ROOT, errors) as started:
        yield Model(started)


def at_a_terminal(
    command: Sequence[str],
    environment: dict[str, str],
    typed: Sequence[tuple[str, str]] = (),
    status: int | None = None,
) -> str:
    """Run a command as a person does, in a terminal of their own; what it shows.

    `typed`: what to wait for on the screen, and what is typed then. What came before a prompt is no part of it.
    `status`: the exit status with which it has to end.
    """
    child, terminal = fork_at_terminal(lambda: os.execvpe(command[0], list(command), environment))
    shown, seen = "", 0
    for prompt, words in typed:
        while prompt not in shown[seen:]:
            shown += _read(terminal)
        seen = len(shown)
        time.sleep(ARMED_AFTER)  # no event tells that the moment is over in which typing ahead is no consent
        os.write(terminal, words.encode() + b"\n")
    try:
        while True:
            shown += _read(terminal)
    except OSError:  # the terminal is gone with the command
        pass
    os.close(terminal)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (None, ended), f"it ended with {ended}: {shown}"
    return shown


def opened_file(folder: Path) -> Path:
    """The private file with which the browser of a home was opened."""
    file = Path((folder / "opened").read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file


def link_in(folder: Path) -> str:
    """The sign-in link to which that file leads the browser."""
    found = re.search(r'href="([^"]+)"', opened_file(folder).read_text())
    assert found is not None
    return found[1]


def _read(terminal: int) -> str:
    assert select.select([terminal], [], [], 30)[0], "nothing more was shown within thirty seconds"
    chunk = os.read(terminal, 4096)
    if not chunk:
        raise OSError
    return chunk.decode(errors="replace")
