"""notes_delete, notes_archive and notes_clean: what cannot be undone waits for the person, every time."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from functools import partial

from choosing import ask_which_one
from endings import accepted, says_when_unanswered
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from shelf import Note, Shelf

from handraise import Stale, ask

DESTROYS = ToolAnnotations(destructive_hint=True)
TYPED_ABOVE = 20
"""From how many notes on a click is not enough."""


def add_tools(server: MCPServer, shelf: Shelf) -> None:
    """Give a server the tools of this module."""

    @server.tool(annotations=DESTROYS)
    @says_when_unanswered("Nothing was deleted.")
    async def notes_delete(title: str) -> str:
        """Delete one note for good. The person chooses among several and confirms."""
        match await ask_which_one(shelf, title, "Delete", "Nothing was deleted."):
            case Note() as note:
                await shelf.remove(note)
                return f"Deleted {note}."
            case sentence:
                return sentence

    @server.tool(annotations=DESTROYS)
    @says_when_unanswered("Nothing was archived.")
    async def notes_archive(title: str) -> str:
        """Move one note to the archive. The person confirms, every time."""
        match await ask_which_one(shelf, title, "Archive", "Nothing was archived."):
            case Note() as note:
                return f"Archived {note}. It is {await shelf.archive(note)} now."
            case sentence:
                return sentence

    @server.tool(annotations=DESTROYS)
    @says_when_unanswered("Nothing was deleted.")
    async def notes_clean(older_than: date) -> str:
        """Delete all notes that were last changed before a day. The person sees how many and which."""
        old = await _older(shelf, older_than)
        if not old:
            return f"No note is older than {older_than}."
        still = partial(_require_same, shelf, older_than, old)
        question = f"Delete {_counted(old)} last changed before {older_than}?\n\n{_some(old)}"
        if len(old) <= TYPED_ABOVE:
            answer = await ask.confirm(question, if_declined="All notes stay.", still=still)
            accepted(answer, "Nothing was deleted.")
        else:
            phrase = f"delete {len(old)} notes"
            typed = await ask.text(
                f'{question}\n\nType "{phrase}" to go on.',
                check=lambda text: text.strip().lower() == phrase or f'Type "{phrase}", or decline.',
                if_declined="All notes stay.",
                still=still,
            )
            accepted(typed, "Nothing was deleted.")
        for note in old:
            await shelf.remove(note)
        return f"Deleted {_counted(old)}."


async def _older(shelf: Shelf, day: date) -> list[Note]:
    limit = datetime.combine(day, time(), UTC)
    return [note for note in await shelf.notes() if note.modified < limit]


async def _require_same(shelf: Shelf, day: date, shown: list[Note]) -> None:
    """The person agreed to these notes. A note more or less is another question."""
    await shelf.require_unchanged(*shown)
    if await _older(shelf, day) != shown:
        raise Stale("There are other old notes now.")


def _counted(notes: list[Note]) -> str:
    return "1 note" if len(notes) == 1 else f"{len(notes):,} notes"


def _some(notes: list[Note], most: int = 10) -> str:
    lines = [f"- {note}" for note in notes[:most]]
    if len(notes) > most:
        lines.append(f"- and {len(notes) - most:,} more")
    return "\n".join(lines)
