"""The tour: a folder of notes, the steps that each try one promise out, and the way through all of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from handraise.demo.stage import DeskOpener, Program, TourStage, Transcript
from handraise.desks import Queue
from handraise.desks.scripted import Line
from handraise.ledger import Ledger
from handraise.ledger.verify import LedgerVerdict

_NOTE_FILES: Final = {
    "Shopping list.md": (2026, "# Shopping list\n\n- tea\n- paper\n"),
    "2024/meeting.md": (2024, "# Meeting\n\nWe decided to write things down.\n"),
    "2025/meeting.md": (2025, "# Meeting\n\nWe could not find what we wrote down.\n"),
    "2026/meeting.md": (2026, "# Meeting\n\nWe bought a shelf.\n"),
    "Diary.md": (2026, "# Diary\n\nNothing that a machine should decide about.\n"),
}


def make_notes(place: Path) -> Path:
    """Notes in a new folder, beside another one whose name only looks alike; the folder of the notes."""
    notes = place.resolve() / "Notes"
    for name, (year, text) in _NOTE_FILES.items():
        path = notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        changed = datetime(year, 6, 1, tzinfo=UTC).timestamp()
        os.utime(path, (changed, changed))
    (place / "Notes-evil").mkdir()
    return notes


def notes_server() -> Path:
    """The notes server: beside this package when it was installed, in the examples of a checkout."""
    packed = Path(__file__).parent / "notes" / "server.py"
    return packed if packed.exists() else Path(__file__).parents[3] / "examples" / "notes" / "server.py"


KEY: Final = "sync-4711-not-for-the-model"
_STRANGER: Final = Program("backup", ("-m", "handraise.demo.hostile_server"))
_NOTES: Final = Program("notes", (str(notes_server()),))
_YES: Final = Line("accept", {"answer": True})


class NotKept(Exception):
    """A promise was not kept."""


@dataclass(frozen=True, slots=True)
class Step:
    """One promise: its text, the reason, and how it is tried out. `play` gives a sentence when it was kept."""

    title: str
    why: str
    play: Callable[[TourStage], Awaitable[str]]


async def _happy(stage: TourStage) -> str:
    note = stage.notes / "Shopping list.md"
    done = await stage.call(_NOTES, "notes_delete", {"title": "Shopping list"}, [_YES])
    _require(bool(done.decisions), "the person is asked")
    _require(note.exists() != done.accepted, "the note is gone exactly if the person agreed")
    return "The tool waited for the person, and did what they said."


async def _which(stage: TourStage) -> str:
    before = _count(stage)
    script = [Line("accept", {"note": "1", "confirm": True})]
    done = await stage.call(_NOTES, "notes_delete", {"title": "Meeting"}, script)
    _require(bool(done.decisions), "the person is asked")
    _require(_count(stage) >= before - 1, "at most one note is gone")
    return "Three notes have this title. The person was shown year and path of each, and at most one is gone."


async def _declined(stage: TourStage) -> str:
    done = await stage.call(_NOTES, "notes_archive", {"title": "Diary"}, [Line("decline")])
    _require(bool(done.decisions), "the person is asked")
    _require((stage.notes / "Diary.md").exists() != done.accepted, "a no leaves everything as it is")
    return "The person's decision counts, and the model is told whether to try again."


async def _outside(stage: TourStage) -> str:
    arguments = {"title": "Plan", "text": "…", "folder": str(stage.outside)}
    done = await stage.call(_NOTES, "notes_write", arguments)
    _require(str(stage.notes) in done.text and not done.asked, "the error names the boundary")
    _require(not list(stage.outside.iterdir()), "nothing is written outside")
    return "The server stays inside the folder that the client named, and says where that is."


async def _secret(stage: TourStage) -> str:
    done = await stage.call(_STRANGER, "connect_cloud", None, [Line("cancel", repeat=True)])
    _require(bool(done.refused) and not done.asked, "nobody is shown a form that asks for a key")
    return "The stranger got a cancel. The person was never asked to type a key into a form."


async def _page(stage: TourStage) -> str:
    wishes = {"folder": "Inbox", "week_starts": "monday", "sync": True}
    page = "Key of your sync service"
    script = [Line("accept", wishes), Line("accept", message=page), Line("leave", message=page, repeat=True)]
    done = await stage.call(_NOTES, "notes_setup", None, script, entry=KEY)
    _require(KEY not in done.text, "the model does not see the key")
    _require(not any(KEY in path.read_text() for path in stage.notes.rglob("*.*")), "no file has the key")
    if stage.scripted:
        _require("Sync is on." in done.text, "the page is finished")
    return "The key went from the browser to the server. Client, model and transcript never had it."


async def _link(stage: TourStage) -> str:
    done = await stage.call(_STRANGER, "renew_domain", None, [Line("cancel", repeat=True)])
    _require(bool(done.refused) and not done.asked, "nobody is shown a dangerous link")
    return "The link says bank.example.com and leads to pay-here.example.net. It was not even shown."


async def _proof(stage: TourStage) -> str:
    await stage.ledger.checkpoint()
    report = await stage.ledger.verify()
    stage.telling.note("ledger", f"{report.records} events, signed and verified")
    _require(report.verdict is LedgerVerdict.SOUND and report.records > 0, "the ledger is sound")
    return "Every question, decision and refusal of this tour is on record, and nobody changed it since."


STEPS: Final = (
    Step(
        "A question in the middle of a tool",
        "A server that is about to delete something stops, asks the person, and goes on where it was.",
        _happy,
    ),
    Step(
        "Which one?",
        "When a name fits several things, a guess destroys the wrong one. The person chooses, in one form.",
        _which,
    ),
    Step(
        "No means no",
        "Decline and cancel are answers, not failures: nothing happens, and the model learns what they mean.",
        _declined,
    ),
    Step(
        "Outside of the roots",
        "The folder Notes-evil only looks like Notes. Many servers compare how paths begin, and write there.",
        _outside,
    ),
    Step(
        "A key in a form",
        "Another server wants an API key in a form, where client and model would read it. The protocol forbids that.",
        _secret,
    ),
    Step(
        "A key on a page",
        "A server that needs a key asks for it in the browser, on a page of its own that only this person can finish.",
        _page,
    ),
    Step(
        "A link that is not what it says",
        "A link is judged as browsers read it, before anyone sees it and long before anyone opens it.",
        _link,
    ),
    Step(
        "Proof",
        "The ledger records each server, question and decision, and every later change to it is found.",
        _proof,
    ),
)


def _count(stage: TourStage) -> int:
    return sum(1 for _ in stage.notes.rglob("*.md"))


def _require(kept: bool, promise: str) -> None:
    if not kept:
        raise NotKept(f"It should be so that {promise}.")


async def tour(
    telling: Transcript,
    *,
    queue: Queue | None = None,
    open_desk: DeskOpener | None = None,
    mode: str = "auto",
    wire: bool = False,
    between: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Go through all steps in a temporary folder; how many promises were not kept. `between` waits for the person."""
    broken = 0
    who = "A scripted person answers" if open_desk is None else "You answer"
    telling.opening(f"{who}. Everything happens in a temporary folder of notes, and nothing is left behind.")
    with tempfile.TemporaryDirectory(prefix="handraise-demo-") as place:
        notes, ledger = make_notes(Path(place)), Ledger.at(Path(place) / "ledger.db")
        try:
            async with TourStage(
                notes, ledger, telling, queue=queue, open_desk=open_desk, mode=mode, wire=wire
            ) as stage:
                for number, step in enumerate(STEPS, 1):
                    telling.heading(number, len(STEPS), step.title, step.why)
                    broken += not await _kept(step, stage)
                    if between is not None and number < len(STEPS):
                        await between()  # desks go on working meanwhile
        finally:
            await ledger.aclose()
    return broken


async def _kept(step: Step, stage: TourStage) -> bool:
    try:
        stage.telling.verdict(True, await step.play(stage))
    except NotKept as problem:
        stage.telling.verdict(False, str(problem))
        return False
    return True
