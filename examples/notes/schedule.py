"""notes_schedule: three questions, each after the answer to the one before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo, available_timezones

from endings import accepted, says_when_unanswered
from mcp.server.mcpserver import MCPServer
from preferences import load, save
from shelf import Shelf

from handraise import ask

NOTHING = "Nothing was scheduled."


def add_tools(server: MCPServer, shelf: Shelf) -> None:
    """Give a server the tools of this module."""

    @server.tool()
    @says_when_unanswered(NOTHING)
    async def notes_schedule(title: str) -> str:
        """Give a note a deadline. The person is asked for time zone, day and people."""
        matches = await shelf.find(title)
        if len(matches) != 1:
            return f'{NOTHING} {len(matches)} notes match "{title}"; name one of them exactly.'
        note = matches[0]
        zone = await _timezone(shelf)
        day = accepted(
            await ask.date(f"By when is {note.title} due?", check=_not_before_today(zone)), NOTHING
        )
        people = accepted(
            await ask.text(
                "Who takes part? Separate the names with commas.",
                check=lambda text: bool(_names(text)) or "Give at least one name.",
                because="They are written into the note; nobody is sent anything.",
            ),
            NOTHING,
        )
        await shelf.require_unchanged(note)
        line = f"Due: {day} ({zone.key}), with {', '.join(_names(people))}"
        await shelf.write(note.path, f"{(await shelf.text(note)).rstrip()}\n\n{line}\n", overwrite=True)
        return f"{note.title}: {line}"


async def _timezone(shelf: Shelf) -> ZoneInfo:
    """The person's time zone: asked once, then remembered, and never guessed from the server's own clock."""
    preferences = await load(shelf)
    if preferences.timezone is not None:
        return ZoneInfo(preferences.timezone)
    answer = await ask.text(
        "In which time zone are you? For example Europe/Berlin.",
        check=lambda name: (
            name in available_timezones() or f"{name} is no time zone. Give one like Asia/Tokyo."
        ),
        because="A deadline is a day where you are.",
    )
    name = accepted(answer, NOTHING)
    await save(shelf, replace(preferences, timezone=name))
    return ZoneInfo(name)


def _not_before_today(zone: ZoneInfo) -> Callable[[date], str | None]:
    def check(day: date) -> str | None:
        today = datetime.now(UTC).astimezone(zone).date()
        return None if day >= today else f"Today is {today} in {zone.key}; give a day that is still to come."

    return check


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
