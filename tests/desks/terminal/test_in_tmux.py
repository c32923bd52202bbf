"""The terminal desk in tmux, at 80x24: what a person sees there, types, pastes and clicks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.command import HANDRAISE
from tests.pane import Pane, pane

pytestmark = [pytest.mark.slow, pytest.mark.stranger]
ROOT = Path(__file__).parents[3]


class Desk(Pane):
    """The terminal desk in a pane."""

    def ready(self) -> None:
        """Look at the question, as a person does, until keys count."""
        self.sees("asks, to run")
        self.until(lambda screen: "just appeared" not in screen)
        time.sleep(0.7)


@contextmanager
def tmux(kind: str) -> Iterator[Desk]:
    with pane([sys.executable, "-m", "tests.desks.terminal.at_a_terminal", kind], ROOT) as made:
        yield Desk(made.socket)


@pytest.mark.shows("D2b", "D2c", "O8", "D10")
def test_a_confirmation_is_in_sight_at_80x24_and_answered_with_one_key() -> None:
    with tmux("confirm") as pane:
        pane.ready()
        lines = pane.screen()
        assert lines[1].strip() == "█ Delete 47 files in “Old”?"
        assert "Yes: “Delete 47 files”  y  No: “Keep them”  n" in lines[-2]
        assert "Decline  F3  Cancel  Esc  More  F4" in lines[-1]
        pane.keys("n")
        pane.sees("handraise: You said no to notes.", "DECIDED Decision Accepted(data={'answer': False})")


@pytest.mark.shows("D10")
def test_pasted_text_with_tabs_fills_seven_fields_also_where_a_terminal_does_not_mark_it() -> None:
    with tmux("seven") as pane:
        pane.ready()
        pane.paste("one\ttwo\tthree", marked=True)
        pane.sees("three")
        pane.paste("\tfour\tfive\tsix\t12.5", marked=False)
        pane.sees("12.5")
        pane.keys("F5")
        said = pane.sees("DECIDED")
        for part in ("'project': 'one'", "'customer': 'two'", "'purpose': 'six'", "'budget_eur': 12.5"):
            assert part in said.replace("\n", "")


@pytest.mark.shows("D10", "D2f")
def test_arrows_enter_and_typing_choose_one_of_2000_options() -> None:
    with tmux("options") as pane:
        pane.ready()
        pane.keys("Down")
        pane.keys("Down")
        pane.sees("› ( ) City 2")
        pane.keys("1", "9", "9")
        pane.sees("Search: 199")
        pane.keys("Down", "Enter")
        pane.sees("(•) City 1199")
        pane.keys("F5")
        pane.sees("{'city': 'City 1199'}")


@pytest.mark.shows("D10")
def test_the_mouse_presses_a_button() -> None:
    with tmux("confirm") as pane:
        pane.ready()
        pane.click("Keep them")
        pane.sees("DECIDED Decision Accepted(data={'answer': False})")


@pytest.mark.shows("D2b")
def test_logs_and_prints_have_a_place_of_their_own_and_are_not_lost() -> None:
    with tmux("noisy") as pane:
        pane.ready()
        pane.sees("log lines, F10")
        lines = pane.screen()
        assert lines[1].strip() == "█ Delete 47 files in “Old”?"
        assert not [line for line in lines if "of a server" in line or "standard output" in line]
        pane.keys("F10")
        pane.sees("log line 0 of a server", "a line on standard output 2")
        pane.keys("Escape")
        pane.sees("Delete 47 files in")
        time.sleep(0.2)
        pane.keys("y")
        pane.sees("DECIDED Decision Accepted(data={'answer': True})", "of a server")


SERVER = """
import sys, threading, time
from mcp.server.mcpserver import MCPServer
from handraise import Handraise, ask
server = Handraise().install(MCPServer("files"))

def make_noise():
    for number in range(1000):
        print("log line", number, "of a server", file=sys.stderr, flush=True)
        time.sleep(0.1)

@server.tool()
async def tidy() -> str:
    threading.Thread(target=make_noise, daemon=True).start()
    return f"Asked: {await ask.confirm('Delete 47 files?')}"

server.run()
"""


@pytest.mark.shows("D2b")
def test_the_log_of_a_server_that_was_started_is_not_drawn_over_the_screen(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    python, server = sys.executable, str(tmp_path / "server.py")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm-256color"}
    command = [*HANDRAISE, "call", "tidy", "--name", "files", "--", python, server]
    with pane(command, tmp_path, environment) as made:
        desk = Desk(made.socket)
        desk.ready()
        desk.sees("log lines, F10")
        lines = desk.screen()
        assert lines[1].strip() == "█ Delete 47 files?"
        assert not [line for line in lines if "of a server" in line]
        desk.keys("F10")
        desk.sees("of a server")
        desk.keys("Escape")
        desk.sees("Delete 47 files?")
        time.sleep(0.2)
        desk.keys("n")
        desk.sees("Asked: Declined(by='answer')")
