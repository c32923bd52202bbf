"""The whole way: a client that cannot ask, a model with a shell, and a person who answers in Chromium."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.desks.web.browsing import Person, open_browser
from tests.gateway.test_stdio import HANDRAISE, ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.stranger, pytest.mark.slow]

KNOCK = """
import json, os, pathlib, socket
for door in pathlib.Path(os.environ['XDG_RUNTIME_DIR'], 'handraise').glob('*.desk'):
    with socket.socket(socket.AF_UNIX) as visit:
        visit.connect(str(door))
        visit.sendall(json.dumps({'do': 'sign in'}).encode() + b'\\n')
        print(visit.makefile().readline())
"""
ANSWER = "the blue folder"


class Model:
    """The model's side; everything that it sees is kept."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.saw = ""

    def call(self, tool: str, **arguments: str) -> str:
        return self._ask({"tool": tool, "arguments": arguments})

    def shell(self, words: str) -> str:
        return self._ask({"shell": words})

    def _ask(self, asked: object) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        seen: str = json.loads(self._process.stdout.readline())
        self.saw += seen
        return seen


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A user with a browser: what it is told to open is written down."""
    for name in ("run", "data", "bin"):
        (tmp_path / name).mkdir(mode=0o700)
    opener = tmp_path / "bin/xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "DISPLAY": ":99",
        "TERM": "dumb",
    }


@contextmanager
def model(home: dict[str, str], errors: Path) -> Iterator[Model]:
    server = [sys.executable, "-m", "tests.gateway.notes", "stdio"]
    command = [*HANDRAISE, "gateway", "--name", "my notes", "--hold", "1", "--", *server]
    with (
        errors.open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "tests.gateway.model", *command],
            cwd=ROOT,
            env=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        yield Model(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)


def at_a_terminal(command: list[str], environment: dict[str, str]) -> str:
    """Run a command as a person does, in a terminal of their own; what it shows."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment)
    shown = b""
    try:
        while chunk := os.read(terminal, 4096):
            shown += chunk
    except OSError:  # the terminal is gone with the command
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    return shown.decode(errors="replace")


@pytest.mark.shows("W2", "W9")
async def test_a_person_answers_at_the_desk_what_the_model_could_not(
    home: dict[str, str], tmp_path: Path
) -> None:
    inbox = f"{HANDRAISE[0]} -c '{HANDRAISE[2]}' inbox"
    errors = tmp_path / "errors.txt"
    with model(home, errors) as side:
        parked = side.call("archive", title="plans")
        found = re.search(r"ticket '([\w-]+)'", parked)
        assert found is not None, parked

        assert "needs you at a terminal" in side.shell(inbox)
        assert "person at a terminal only" in side.shell(f'{sys.executable} -c "{KNOCK}"')
        assert "does not open to what the client started" in side.shell(f'script -qec "{inbox}" /dev/null')
        pending = side.shell(inbox.replace("inbox", "pending") + " --json")
        question = json.loads(pending)[0]["id"]
        answer = inbox.replace("inbox", f"answer {question}") + " --decline --credential-file /dev/stdin"
        assert "not the code" in side.shell(f"echo 0000-0000 | {answer}")
        side.shell(f"cat {errors} /proc/self/environ; find {home['XDG_RUNTIME_DIR']} {home['XDG_DATA_HOME']}")
        assert "sign-in/" not in side.saw

        shown = at_a_terminal([*HANDRAISE, "inbox"], home)
        assert "Opened the desk where my notes asks you" in shown
        assert "sign-in/" not in shown
        async with open_browser() as browser:
            person = Person(await browser.new_page())
            await person.page.goto((tmp_path / "opened").read_text())
            await person.press("main button")
            await person.page.locator("#inbox").wait_for()
            code = await person.page.locator(".code").text_content(timeout=5_000)
            await person.open()
            await person.type("#f0", ANSWER)
            await person.press("button[value=review]")
            await person.heading("will get")
            await person.armed()
            await person.press("button[value=send]")
            await person.heading("Accepted")

        assert side.call("handraise_resume", ticket=found[1]) == "archived plans"

        found = re.search(r"ticket '([\w-]+)'", side.call("archive", title="drafts"))
        assert found is not None
        (tmp_path / "code").write_text(str(code))
        assert "drafts" in answered_by_id({"answer": ANSWER}, tmp_path / "code", home)
        assert side.call("handraise_resume", ticket=found[1]) == "archived drafts"
        assert ANSWER not in side.saw
        assert str(code) not in side.saw


def answered_by_id(content: object, code: Path, home: dict[str, str]) -> str:
    """Answer the one question that waits from a shell of the person's own; how it was listed."""
    listed = subprocess.run([*HANDRAISE, "pending", "--json"], env=home, capture_output=True, check=True)
    (question,) = json.loads(listed.stdout)
    answer = ["answer", question["id"], "--accept", json.dumps(content), "--credential-file", str(code)]
    subprocess.run([*HANDRAISE, *answer], env=home, check=True)
    return listed.stdout.decode()
