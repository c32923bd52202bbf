"""The desks in a real terminal: what a person types there, also before they can have read anything."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there are no ptys")]

ROOT = Path(__file__).parents[3]
F5, ESCAPE, YES = "\x1b[15~", "\x1b", "y"


class Pty:
    """One side of a terminal, with a program on the other."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._seen = ""

    def types(self, text: str) -> None:
        os.write(self._side, text.encode())

    def sees(self, text: str, patience: float = 20.0) -> str:
        """Wait until this was written, and give back all that came before it."""
        end = time.monotonic() + patience
        while text not in self._seen:
            ready, _, _ = select.select([self._side], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not come:\n{self._seen[-2000:]}"
            self._seen += os.read(self._side, 65536).decode(errors="replace")
        before, self._seen = self._seen.split(text, 1)
        return before

    def is_quiet_about(self, text: str, seconds: float) -> bool:
        """Whether this is not written for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._side], [], [], left)[0]:
                self._seen += os.read(self._side, 65536).decode(errors="replace")
        return text not in self._seen


@contextmanager
def terminal(kind: str, term: str) -> Iterator[Pty]:
    """A program in a terminal of 80x24."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {**os.environ, "TERM": term, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "LINES": "24"}
    command = [sys.executable, "-m", "tests.desks.terminal.at_a_terminal", kind]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=env, start_new_session=True
    ) as program:
        os.close(theirs)
        try:
            yield Pty(ours)
        finally:
            program.terminate()
            program.wait(10)
            os.close(ours)


@pytest.mark.shows("D4", "D10")
def test_on_the_whole_screen_what_is_typed_ahead_does_not_consent() -> None:
    with terminal("empty", "xterm-256color") as here:
        here.sees("READY")
        here.types(YES + "\r" + YES)
        here.sees("More")
        here.types(YES + "\r")
        assert here.is_quiet_about("DECIDED", 1.2)
        here.types(YES)
        here.sees("DECIDED Decision Accepted(data={})")


@pytest.mark.shows("D2", "D10")
def test_on_the_whole_screen_a_form_is_filled_in_and_sent_and_the_screen_given_back() -> None:
    with terminal("form", "xterm-256color") as here:
        here.sees("\x1b[?1049h")
        here.sees("More")
        time.sleep(1.0)  # as a person would: look first
        here.types("Ada")
        here.sees("Ada")
        here.types(F5)
        here.sees("\x1b[?1049l")
        here.sees("handraise: notes has your answer.")
        here.sees("DECIDED Decision Accepted(data={'name': 'Ada'})")


def test_a_program_that_ends_without_a_word_leaves_the_terminal_as_it_was() -> None:
    with terminal("abandoned", "xterm-256color") as here:
        here.sees("More")
        time.sleep(1.0)
        here.types(YES)
        here.sees("\x1b[?1049l")


def test_what_a_program_prints_right_after_the_answer_is_not_wiped_with_the_screen() -> None:
    with terminal("goes on", "xterm-256color") as here:
        here.sees("More")
        time.sleep(1.0)
        here.types(YES)
        here.sees("\x1b[?1049l")
        here.sees("DECIDED Decision Accepted(data={})")
        here.sees("AFTERWARDS")


@pytest.mark.shows("O4")
def test_on_the_whole_screen_escape_alone_cancels() -> None:
    with terminal("empty", "xterm-256color") as here:
        here.sees("More")
        time.sleep(1.0)
        here.types(ESCAPE)
        here.sees("DECIDED Decision Cancelled()")


@pytest.mark.shows("D4", "D10")
def test_in_lines_what_is_typed_ahead_does_not_consent() -> None:
    with terminal("empty", "dumb") as here:
        here.sees("READY")
        here.types("yes\nyes\n")
        said = here.sees("Write yes")
        assert "\x1b" not in said
        assert here.is_quiet_about("DECIDED", 1.2)
        here.types("yes\n")
        here.sees("DECIDED Decision Accepted(data={})")
