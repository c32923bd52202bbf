"""The tour keeps its promises without a person too, and says so when one is broken."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from tests.server.peers import ROOT

from handraise.demo import hostile_server
from handraise.demo import tour as touring
from handraise.demo.stage import Program, TourStage, Transcript
from handraise.demo.tour import KEY, STEPS, NotKept, Step, make_notes, notes_server
from handraise.desks.scripted import Line
from handraise.ledger import Ledger

COMMAND = Path(sysconfig.get_path("scripts")) / "handraise"


@pytest.mark.slow
def test_without_a_terminal_a_scripted_person_takes_the_tour() -> None:
    ran = subprocess.run(
        ["make", "--silent", "--old-file=.venv/.ready", "demo"],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONWARNINGS": "error",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.stderr == ""
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.count("\n  ok  ") == len(STEPS)
    assert "Every step did what it should." in ran.stdout
    assert '( ) "Meeting" (2024,' in ran.stdout
    assert "(•) monday" in ran.stdout, "what the server suggests is seen"
    assert KEY not in ran.stdout
    assert "\x1b" not in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 100


def test_an_interrupt_while_the_tour_waits_for_enter_ends_it_at_once() -> None:
    ours, theirs = pty.openpty()
    waits = "import asyncio; from handraise.cli.demo import _wait; asyncio.run(_wait())"
    with subprocess.Popen(
        [sys.executable, "-c", waits],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as waiting:
        try:
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == b"\n"
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(10) != 0
        finally:
            waiting.kill()
            os.close(ours)
            os.close(theirs)


@pytest.mark.slow
async def test_the_messages_of_an_older_revision_are_shown_with_no_secret_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_a_page = next(step for step in STEPS if step.title == "A key on a page")
    monkeypatch.setattr(touring, "STEPS", (STEPS[0], on_a_page))
    told: list[str] = []
    assert await touring.tour(Transcript(told.append, colour=False), mode="legacy", wire=True) == 0
    shown = "".join(told)
    assert "→ tools/call" in shown
    assert "← elicitation/create" in shown
    assert shown.count("\n  ok  ") == 2
    assert KEY not in shown


async def test_a_broken_promise_is_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaks(_stage: TourStage) -> str:
        raise NotKept("It should be so that it holds.")

    async def keeps(stage: TourStage) -> str:
        assert stage.notes.is_dir()
        return "It holds."

    monkeypatch.setattr(touring, "STEPS", (Step("One", "Why.", keeps), Step("Two", "Why.", breaks)))
    told: list[str] = []
    assert await touring.tour(Transcript(told.append, colour=False)) == 1
    assert "  ok  It holds.\n" in told
    assert "  NOT AS IT SHOULD BE  It should be so that it holds.\n" in told


def test_the_folder_has_notes_to_choose_from_and_a_neighbour_that_looks_alike(tmp_path: Path) -> None:
    notes = make_notes(tmp_path)
    assert len(list(notes.rglob("meeting.md"))) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name != "Notes"] == ["Notes-evil"]


def test_the_notes_server_is_found_here_and_travels_with_the_package() -> None:
    assert notes_server().is_file()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert build["force-include"] == {"examples/notes": "handraise/demo/notes"}


def test_what_is_told_while_a_desk_has_the_screen_comes_afterwards() -> None:
    told: list[str] = []
    telling = Transcript(told.append, colour=True)
    telling.hold()
    telling.note("ledger", "one event")
    assert told == []
    telling.release()
    assert "one event" in told[0]
    assert "\x1b[2m" in told[0]


@pytest.mark.slow
async def test_the_tour_knows_what_was_asked_and_what_was_not_shown(tmp_path: Path) -> None:
    """Its promises rest on this: a question that was shown must not pass for one that was not."""
    told: list[str] = []
    deleting = Program("notes", (str(notes_server()),))
    stranger = Program("backup", ("-m", hostile_server.__name__))
    notes, ledger = make_notes(tmp_path), Ledger.at(tmp_path / "ledger.db")
    async with TourStage(notes, ledger, Transcript(told.append, colour=False)) as stage:
        shown = await stage.call(deleting, "notes_delete", {"title": "Diary"}, [Line("decline", repeat=True)])
        kept = await stage.call(stranger, "connect_cloud", None, [Line("cancel", repeat=True)])
    await ledger.aclose()
    assert (len(shown.asked), len(shown.decisions), shown.refused, shown.accepted) == (1, 1, [], False)
    assert (kept.asked, len(kept.refused), kept.accepted) == ([], 1, False)
