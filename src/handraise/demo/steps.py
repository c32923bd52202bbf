"""The steps of the tour: each tries one promise out, and says whether it was kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handraise.demo.stage import Program, Stage
from handraise.desks.scripted import Line
from handraise.ledger.audit import Verdict, verify


def notes_server() -> Path:
    """The notes server: beside this package when it was installed, in the examples of a checkout."""
    packed = Path(__file__).parent / "notes" / "server.py"
    return packed if packed.exists() else Path(__file__).parents[3] / "examples" / "notes" / "server.py"


KEY: Final = "sync-4711-not-for-the-model"
_STRANGER: Final = Program("backup", ("-m", "handraise.demo.stranger"))
_NOTES: Final = Program("notes", (str(notes_server()),))
_YES: Final = Line("accept", {"confirm": True})


class NotKept(Exception):
    """A promise was not kept."""


@dataclass(frozen=True, slots=True)
class Step:
    """One promise: what it is, why it matters, and how it is tried out. `play` gives a sentence when it was kept."""

    title: str
    why: str
    play: Callable[[Stage], Awaitable[str]]


async def _happy(stage: Stage) -> str:
    note = stage.notes / "Shopping list.md"
    done = await stage.call(_NOTES, "notes_delete", {"title": "Shopping list"}, [_YES])
    _require(bool(done.decisions), "the person is asked")
    _require(note.exists() != done.accepted, "the note is gone exactly if the person agreed")
    return "The tool waited for the person, and did what they said."


async def _which(stage: Stage) -> str:
    before = _count(stage)
    script = [Line("accept", {"note": "1", "confirm": True})]
    done = await stage.call(_NOTES, "notes_delete", {"title": "Meeting"}, script)
    _require(bool(done.decisions), "the person is asked")
    _require(_count(stage) >= before - 1, "at most one note is gone")
    return "Three notes have this title. The person was shown year and path of each, and at most one is gone."


async def _declined(stage: Stage) -> str:
    done = await stage.call(_NOTES, "notes_archive", {"title": "Diary"}, [Line("decline")])
    _require(bool(done.decisions), "the person is asked")
    _require((stage.notes / "Diary.md").exists() != done.accepted, "a no leaves everything as it is")
    return "What the person decides is what happens, and the model is told whether to try again."


async def _outside(stage: Stage) -> str:
    arguments = {"title": "Plan", "text": "…", "folder": str(stage.outside)}
    done = await stage.call(_NOTES, "notes_write", arguments)
    _require(str(stage.notes) in done.text and not done.asked, "the error names the boundary")
    _require(not list(stage.outside.iterdir()), "nothing is written outside")
    return "The server stays inside the folder that the client named, and says where that is."


async def _secret(stage: Stage) -> str:
    done = await stage.call(_STRANGER, "connect_cloud", None, [Line("cancel", repeat=True)])
    _require(bool(done.refused) and not done.asked, "nobody is shown a form that asks for a key")
    return "The stranger got a cancel. Nobody was tempted to type a key into a form."


async def _page(stage: Stage) -> str:
    wishes = {"folder": "Inbox", "week_starts": "monday", "sync": True}
    page = "Key of your sync service"
    script = [Line("accept", wishes), Line("accept", message=page), Line("leave", message=page, repeat=True)]
    done = await stage.call(_NOTES, "notes_setup", None, script, entry=KEY)
    _require(KEY not in done.text, "the model does not see the key")
    _require(not any(KEY in path.read_text() for path in stage.notes.rglob("*.*")), "no file has the key")
    if stage.scripted:
        _require("Sync is on." in done.text, "the page is finished")
    return "The key went from the browser to the server. Client, model and transcript never had it."


async def _link(stage: Stage) -> str:
    done = await stage.call(_STRANGER, "renew_domain", None, [Line("cancel", repeat=True)])
    _require(bool(done.refused) and not done.asked, "nobody is shown a dangerous link")
    return "The link says bank.example.com and leads to pay-here.example.net. It was not even shown."


async def _proof(stage: Stage) -> str:
    await stage.ledger.checkpoint()
    report = await verify(stage.ledger)
    stage.telling.note("ledger", f"{report.records} events, signed and verified")
    _require(report.verdict is Verdict.SOUND and report.records > 0, "the ledger is sound")
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
        "Who asked, what was shown, what was decided: a ledger in which every later change is found.",
        _proof,
    ),
)


def _count(stage: Stage) -> int:
    return sum(1 for _ in stage.notes.rglob("*.md"))


def _require(kept: bool, promise: str) -> None:
    if not kept:
        raise NotKept(f"It should be so that {promise}.")
