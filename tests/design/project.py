"""A server of somebody's project, for the designer to look at."""

from __future__ import annotations

from typing import Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from handraise import ask

server = MCPServer("project")
NOTES: dict[str, str] = {}


@server.tool()
async def delete_note(title: str, ctx: Context) -> str:
    """Delete a note.

    For good.
    """
    NOTES.pop(title)  # handraise: ignore[HR501]
    return "Deleted."


@server.tool(name="tidy-up", annotations=ToolAnnotations(destructive_hint=True))
async def tidy(scope: Literal["old", "all"], dry: bool = False) -> str:
    """Tidy up."""
    return f"{scope} {dry}"


@server.tool()
async def notes_drop(title: str) -> str:
    """Drop a note, after asking."""
    (await ask.confirm(f"Drop {title}?")).or_stop()
    return "Dropped."


async def remove_one(title: str) -> None:
    """Remove one note."""
    NOTES.pop(title)


async def remove_several(titles: list[str]) -> None:
    """Remove several notes."""
    for title in titles:
        await remove_one(title)
