"""`handraise pending` and `handraise answer`, with a person at one terminal and a model at a shell."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from tests.cli.conftest import ROOT, around
from tests.desks.questions import form_question, link_question
from typer.testing import CliRunner

from handraise.cli.answer import lines_of
from handraise.cli.app import app
from handraise.desks.waiting import describe
from handraise.forms import Choice, Choices, Form, Integer, Text
from handraise.questions import Origin

HANDRAISE = [sys.executable, "-c", "from handraise.cli import main; main()"]
CALL = ["call", "structured", '{"run": "x"}']
KITCHEN = ["--", "python", "tests/server/kitchen.py", "stdio"]
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0); "
)


@dataclass
class Shell:
    """Runs commands the way a model does: without a terminal, and it reads all that they print."""

    env: dict[str, str]
    handraise: str
    """A command that starts at once: a model asks many times what waits."""

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.handraise, *words],
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=True,
        )

    def pending(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.run("pending", "--json").stdout)
        return listed

    def first_pending(self) -> dict[str, Any]:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if waiting := self.pending():
                return waiting[0]
        raise AssertionError("nothing waits")


@pytest.fixture
def shell(programs: Path, tmp_path: Path) -> Shell:
    (tmp_path / "run").mkdir(mode=0o700)
    home = {"XDG_RUNTIME_DIR": str(tmp_path / "run"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    env = {**around(programs), **home, "XDG_DATA_HOME": str(tmp_path / "data")}
    return Shell(env, str(programs / "handraise"))


class Screen:
    """What a person sees on their terminal, and types there."""

    def __init__(self, side: int) -> None:
        self._side = side
        self.seen = ""

    def sees(self, pattern: str) -> re.Match[str]:
        end = time.monotonic() + 30
        while not (found := re.search(pattern, self.seen)):
            ready = select.select([self._side], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, f"{pattern!r} did not come:\n{self.seen}"
            self.seen += os.read(self._side, 65536).decode(errors="replace")
        return found

    def types(self, text: str) -> None:
        os.write(self._side, text.encode())


@contextmanager
def at_terminal(shell: Shell, *words: str, **streams: Any) -> Iterator[tuple[Screen, subprocess.Popen[str]]]:
    """A command whose controlling terminal is a person's; its output goes where `streams` say."""
    ours, theirs = pty.openpty()
    start = f"{OWN_TERMINAL} os.execv(sys.argv[2], sys.argv[2:])"
    process = subprocess.Popen(
        [sys.executable, "-c", start, str(theirs), *HANDRAISE, *words],
        cwd=ROOT,
        env=shell.env,
        pass_fds=(theirs,),
        text=True,
        **{"stdin": theirs, "stdout": theirs, "stderr": theirs, **streams},
    )
    os.close(theirs)
    try:
        yield Screen(ours), process
    finally:
        process.kill()
        process.communicate()
        os.close(ours)


CAPTURED = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
@pytest.mark.shows("D9", "G4")
def test_a_model_with_a_shell_cannot_answer_and_the_person_can(shell: Shell, tmp_path: Path) -> None:
    with at_terminal(shell, *CALL, *KITCHEN, **CAPTURED) as (screen, call):
        code = screen.sees(r"the code to answer with is (\w{4}-\w{4})")[1]
        question = shell.first_pending()
        listed = shell.run("pending").stdout + json.dumps(question)
        assert code not in listed
        assert code.replace("-", "") not in listed
        accept = ["answer", question["id"], "--accept", '{"answer": "yes"}']
        refused = shell.run(*accept)
        assert refused.returncode == 2
        assert "no terminal to type the code at" in refused.stderr
        (tmp_path / "guess").write_text(question["id"])
        tried = shell.run(*accept, "--credential-file", str(tmp_path / "guess"))
        assert (tried.returncode, tried.stdout) == (1, "")
        assert "not the code" in tried.stderr
        with at_terminal(shell, "answer", question["id"], "--accept", '{"answer": ""}') as (other, answer):
            other.sees(r"\| Say something")
            other.sees("type the code that the desk shows: ")
            other.types(f"{code.lower()}\n")
            other.sees("does not fit the form")
            assert code.lower() not in other.seen, "it is not echoed"
            assert answer.wait(20) == 1
        with at_terminal(shell, *accept) as (other, answer):
            other.sees("type the code that the desk shows: ")
            other.types(f"{code}\n")
            other.sees("Accepted.")
            assert answer.wait(20) == 0
        printed, told = call.communicate(timeout=30)
        assert call.returncode == 0
        assert "yes" in printed
        assert code not in printed + told
        assert "Sent. It was answered with handraise answer." in told
    assert shell.run("pending").stdout == "Nothing waits.\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
@pytest.mark.shows("D9")
def test_a_question_at_a_web_desk_is_answered_with_the_code_on_its_page(shell: Shell, tmp_path: Path) -> None:
    with at_terminal(shell, *CALL, "--desk", "web", *KITCHEN, stdout=subprocess.PIPE) as (screen, call):
        link = screen.sees(r"Answer here: (http://\S+)\r?\n")[1]
        question = shell.first_pending()
        (tmp_path / "code").write_text(code_on_page(link))
        words = ["answer", question["id"], "--accept", '{"answer": "by id"}']
        answered = shell.run(*words, "--credential-file", str(tmp_path / "code"))
        assert (answered.returncode, answered.stdout) == (0, "Accepted.\n")
        assert "by id" in call.communicate(timeout=30)[0]


def code_on_page(link: str) -> str:
    """Sign in as a browser does, and read the code."""
    base = link.partition("/sign-in/")[0]
    with httpx.Client(headers={"origin": base}) as browser:
        signed_in = browser.post(link, data={"open": "yes"})
        cookie = signed_in.headers["set-cookie"].partition(";")[0]
        page = browser.get(f"{base}{signed_in.headers['location']}", headers={"cookie": cookie}).text
    found = re.search(r'class="code">(\w{4}-\w{4})<', page)
    assert found
    return found[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
@pytest.mark.shows("D9")
def test_a_call_without_a_terminal_cancels_with_the_reason_that_the_policy_gives(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text('[headless]\nrule = "cancel"\nreason = "It is night."\n')
    shell.env["HANDRAISE_CONFIG"] = str(tmp_path / "own.toml")
    called = shell.run(*CALL, *KITCHEN)
    assert called.returncode == 1
    assert "a question of kitchen.py was cancelled: It is night." in called.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
@pytest.mark.shows("D9")
def test_a_hook_answers_for_a_call_without_a_terminal(shell: Shell, tmp_path: Path) -> None:
    answer = json.dumps({"action": "accept", "content": {"answer": "from the hook"}})
    (tmp_path / "hook.py").write_text(f"print({answer!r})")
    rule = f'[headless]\nrule = "hook"\nhook = {json.dumps([sys.executable, str(tmp_path / "hook.py")])}\n'
    (tmp_path / "own.toml").write_text(rule)
    shell.env["HANDRAISE_CONFIG"] = str(tmp_path / "own.toml")
    called = shell.run(*CALL, *KITCHEN)
    assert called.returncode == 0
    assert "from the hook" in called.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give one of"),
        (["--accept", "{}", "--decline"], "give one of"),
        (["--accept", "{"], "not JSON"),
        (["--accept", "[1]"], "takes a JSON object"),
        (["--decline", "--credential-file", "/nonexistent"], "waits"),
    ],
)
def test_wrong_use_is_explained_in_a_sentence(shell: Shell, words: list[str], told: str) -> None:
    answered = CliRunner().invoke(app, ["answer", "abc", *words], env=shell.env)
    assert answered.exit_code in (1, 2)
    assert told in answered.stderr


@pytest.mark.shows("D1", "D9")
def test_who_asks_comes_first_then_why_the_servers_words_and_the_fields() -> None:
    form = Form.by_hand(
        Text("day", format="date"),
        Integer("n", required=False),
        Choice("size", {"s": "Small", "l": "Large"}),
        Choices("extras", ["card", "wrap"]),
    )
    waiting = form_question("Which?", form, id="5f0c", deadline=time.time() + 150)
    assert lines_of(describe(waiting)) == [
        "5f0c  notes (python notes.py)",
        '  because of delete_note {"title": "Plans"}',
        "  | Which?",
        "  day: date",
        "  n: integer, optional",
        '  size: one of "s", "l"',
        '  extras: any of "card", "wrap"',
        "  2 minutes left",
    ]


def test_a_link_is_shown_whole() -> None:
    lines = lines_of(describe(link_question("https://example.com/" + "a" * 300)))
    assert f"  link: https://example.com/{'a' * 300}" in lines


@pytest.mark.shows("D7")
def test_hostile_text_is_inert() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202e\u200b\nhandraise: all is well"
    waiting = form_question(
        evil, Form.by_hand(Choice("c", {evil: evil})), origin=Origin(evil, evil), cause=None, warnings=(evil,)
    )
    lines = lines_of(describe(waiting))
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("handraise:") for line in lines)
