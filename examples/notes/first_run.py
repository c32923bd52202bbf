"""notes_setup: ordinary preferences by form, the sync service's key on a page and never in a form."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from endings import accepted, says_when_unanswered
from mcp.server.mcpserver import MCPServer
from preferences import load, save
from pydantic import BaseModel, Field
from shelf import Shelf
from sync import ask_for_sync_key

from handraise import Accepted, NotSupported, ask


class Wishes(BaseModel):
    """What the form asks for."""

    folder: Annotated[str, Field(title="Folder for new notes", max_length=80)] = "Inbox"
    week_starts: Annotated[Literal["monday", "sunday"], Field(title="The week starts on")] = "monday"
    sync: Annotated[bool, Field(title="Sync with your other computers?")]


def add_tools(server: MCPServer, shelf: Shelf) -> None:
    """Give a server the tools of this module."""

    @server.tool()
    @says_when_unanswered("Nothing was set up.")
    async def notes_setup() -> str:
        """Set the notes up: where new ones go, and whether they are synchronised."""
        home = await shelf.home()
        answer = await ask(f"How shall the notes in {home} be kept?", Wishes, check=_plain_folder)
        wishes = accepted(answer, "Nothing was set up.")
        known = await load(shelf)
        await save(shelf, replace(known, folder=wishes.folder, week_starts=wishes.week_starts))
        done = f"New notes go to {home / wishes.folder}."
        return f"{done} {await _synchronised()}" if wishes.sync else done


async def _synchronised() -> str:
    try:
        answer = await ask_for_sync_key()
    except NotSupported:
        return "Sync is off: this client cannot open the page on which the key is entered."
    if isinstance(answer, Accepted):
        return "Sync is on."
    return "Sync is off: the person did not enter the key. They can run notes_setup again."


def _plain_folder(wishes: Wishes) -> str | None:
    """The boundary refuses `..` anyway; saying so here gives the person another try."""
    plain = not any(part in ("", ".", "..") for part in wishes.folder.split("/"))
    return None if plain else "Give a folder inside your notes, for example Inbox."
