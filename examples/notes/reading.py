"""notes_list, notes_search, notes_read and notes_write: they ask only before a note is replaced."""

from __future__ import annotations

from endings import accepted, says_when_unanswered
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from preferences import load
from shelf import Note, Shelf, file_name

from handraise import ask

READS = ToolAnnotations(read_only_hint=True)


def add_tools(server: MCPServer, shelf: Shelf) -> None:
    """Give a server the tools of this module."""

    @server.tool(annotations=READS)
    async def notes_list() -> str:
        """List all notes with title, year and path."""
        return _listed(await shelf.notes()) or "There are no notes yet."

    @server.tool(annotations=READS)
    async def notes_search(words: str) -> str:
        """List the notes that have these words somewhere in them."""
        wanted = words.casefold()
        found = [note for note in await shelf.notes() if wanted in (await shelf.text(note)).casefold()]
        return _listed(found) or f'No note says "{words}".'

    @server.tool(annotations=READS)
    async def notes_read(title: str) -> str:
        """Read one note. When several match, all of them are named."""
        match await shelf.find(title):
            case []:
                return f'No note is called "{title}".'
            case [note]:
                return await shelf.text(note)
            case several:
                # Reading harms nobody: the model can ask in its own words which one is meant.
                return f"{len(several)} notes match:\n{_listed(several)}"

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    @says_when_unanswered("Nothing was written.")
    async def notes_write(title: str, text: str, folder: str | None = None) -> str:
        """Write a note, in a folder of the notes. The person is asked before another one is replaced."""
        chosen = folder if folder is not None else (await load(shelf)).folder
        path = await shelf.home() / chosen / file_name(title)
        content = f"# {title}\n\n{text}\n"
        try:
            await shelf.write(path, content, overwrite=False)
        except FileExistsError:
            before = await shelf.boundary.stat(path)
            question = (
                f'Replace "{title}"? It has {before.size:,} bytes, the new text {len(content.encode()):,}.'
            )
            accepted(await ask.confirm(question, if_declined="The note stays."), "Nothing was written.")
            await shelf.write(path, content, overwrite=True)
        return f"Written to {path}."


def _listed(notes: list[Note]) -> str:
    return "\n".join(f"- {note}" for note in notes)
