"""`handraise inbox` as a person meets it, with a client that cannot ask on the other side."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2 as httpx
import pytest
from tests.command import HANDRAISE, ROOT
from tests.gateway.sides import at_a_terminal, link_in, make_home, model
from tests.pane import pane
from typer.testing import CliRunner

from handraise.cli.app import app


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return make_home(tmp_path)


def test_without_a_gateway_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["inbox"])
    assert (done.exit_code, done.output.startswith("No gateway waits for you.")) == (0, True)


@pytest.mark.slow
def test_it_can_stay_at_a_terminal_where_nothing_waits_yet(home: dict[str, str]) -> None:
    shown = at_a_terminal(
        [*HANDRAISE, "inbox", "--terminal", "--all"], home, [("Questions appear", "\x03")], 0
    )
    assert "Traceback" not in shown


@pytest.mark.slow
@pytest.mark.shows("D8")
def test_a_tray_that_comes_before_the_first_question_opens_with_it(
    home: dict[str, str], tmp_path: Path
) -> None:
    with pane([*HANDRAISE, "inbox", "--tray", "--port", "0"], ROOT, home) as tray:
        tray.sees("Your tray opens in your browser with the first question.")
        assert not (tmp_path / "opened").exists()
        with model(home, tmp_path / "errors") as side:
            side.call("rename", title="plans")
            tray.sees("Your tray is at http://127.0.0.1:")
            page = httpx.get(link_in(tmp_path)).text
            assert "Your desk is ready" in page, "it needs no desk code: it knows the client by now"


@pytest.mark.slow
@pytest.mark.shows("W2", "W9")
def test_a_person_answers_in_the_terminal_and_the_model_cannot(home: dict[str, str], tmp_path: Path) -> None:
    """One client and one gateway for the whole story: each takes seconds to start."""
    (tmp_path / "bin/xdg-open").write_text("#!/bin/sh\nexit 3\n")
    inbox = f"{HANDRAISE[0]} -c '{HANDRAISE[2]}' inbox --terminal"
    with model(home, tmp_path / "errors") as side:
        ticket = re.findall(r"ticket '([\w-]+)'", side.call("rename", title="plans"))[0]
        notice = "You are asked by my notes. Open the desk with: handraise inbox"
        assert (tmp_path / "notices").read_text() == notice
        assert "does not open to a program that the client started" in side.shell(
            f'script -qec "{inbox}" /dev/null'
        )

        at_a_terminal([*HANDRAISE, "inbox", "--terminal"], home, [("Answer:", "\x04")], 0)
        assert '"waiting": 1' in side.shell(
            inbox.replace("--terminal", "--json")
        )  # closing it decides nothing

        typed = [("Answer:", "roadmap"), ("Write send", "send"), ("Answer:", "short"), ("Write send", "send")]
        shown = at_a_terminal([*HANDRAISE, "inbox"], home, typed, 0)
        assert "No browser can be opened here" in shown
        assert "http" not in shown
        assert shown.count("my notes has your answer.") == 2
        assert side.call("handraise_resume", ticket=ticket) == "plans is roadmap because short"
