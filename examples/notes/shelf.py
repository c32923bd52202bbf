"""The notes: Markdown files, wherever they lie inside the boundary. Nothing here asks anyone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import PurePosixPath

from handraise import Stale
from handraise.server import Boundary
from handraise.server.boundary import FolderEntry

ARCHIVE = "Archive"


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it was when it was looked at."""

    path: PurePosixPath
    title: str
    modified: datetime
    size: int

    def __str__(self) -> str:
        return f'"{self.title}" ({self.modified.year}, {self.path})'


class Shelf:
    """All the notes that the client's roots, or the configured folders, let this server see."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary

    async def notes(self) -> list[Note]:
        """Every note that is not archived, by title."""
        found = [await self._note(entry) async for entry in self._files()]
        return sorted(found, key=lambda note: (note.title.casefold(), note.path))

    async def find(self, title: str) -> list[Note]:
        """The notes with this title; when there is none, those whose title has it somewhere in it."""
        wanted, notes = title.strip().casefold(), await self.notes()
        same = [n for n in notes if wanted in (n.title.casefold(), n.path.stem.casefold())]
        return same or [n for n in notes if wanted and wanted in n.title.casefold()]

    async def text(self, note: Note) -> str:
        """What a note says."""
        return await self.boundary.read_text(note.path)

    async def write(self, path: PurePosixPath, text: str, *, overwrite: bool) -> None:
        """Write a note, in a folder that is made when it is missing."""
        await self._make_folder(path.parent)
        await self.boundary.write(path, text, overwrite=overwrite)

    async def remove(self, note: Note) -> None:
        """Delete a note for good."""
        await self.boundary.remove(note.path)

    async def archive(self, note: Note) -> PurePosixPath:
        """Move a note to its root's archive; where it is now."""
        folder = await self._root_of(note.path) / ARCHIVE
        await self._make_folder(folder)
        for number in count(1):
            target = folder / (note.path.name if number == 1 else f"{note.path.stem} {number}.md")
            try:
                await self.boundary.rename(note.path, target)
                return target
            except FileExistsError:
                continue
        raise AssertionError("count() ended")

    async def require_unchanged(self, *notes: Note) -> None:
        """Raise `Stale` unless the notes are what they were: people take their time to answer.

        The roots are read again too, so a note that is no longer inside the boundary is refused there.
        """
        await self.boundary.refresh()
        for note in notes:
            try:
                now = await self.boundary.stat(note.path)
            except FileNotFoundError:
                raise Stale(f"{note} is gone.") from None
            if now.kind != "file" or (now.size, _moment(now)) != (note.size, note.modified):
                raise Stale(f"{note} has changed.")

    async def home(self) -> PurePosixPath:
        """The first root: where preferences and new notes go."""
        return (await self._roots())[0]

    async def _files(self) -> AsyncIterator[FolderEntry]:
        await self._roots()
        async for entry in self.boundary.walk():
            names = entry.path.relative_to(await self._root_of(entry.path)).parts
            hidden = names[0] == ARCHIVE or any(name.startswith(".") for name in names)
            if entry.kind == "file" and entry.path.suffix == ".md" and not hidden:
                yield entry

    async def _note(self, entry: FolderEntry) -> Note:
        async with await self.boundary.open(entry.path) as file:
            start = (await file.read(400)).decode("utf-8", "replace")
        heading = re.match(r"#\s+(.+)", start)
        title = heading[1].strip() if heading else entry.path.stem
        return Note(entry.path, title, _moment(entry), entry.size)

    async def _roots(self) -> tuple[PurePosixPath, ...]:
        roots = await self.boundary.roots()
        if not roots:
            await self.boundary.stat(".")  # which says, in words, that there is no root and what to do
        return roots

    async def _root_of(self, path: PurePosixPath) -> PurePosixPath:
        holding = [root for root in await self.boundary.roots() if path.is_relative_to(root)]
        return max(holding, key=lambda root: len(root.parts))

    async def _make_folder(self, folder: PurePosixPath) -> None:
        try:
            await self.boundary.mkdir(folder)
        except (FileExistsError, PermissionError):
            return  # it is there, or it is a root
        except FileNotFoundError:
            await self._make_folder(folder.parent)
            await self.boundary.mkdir(folder)


def file_name(title: str) -> str:
    """A plain file name for a title; the boundary would refuse anything else anyway."""
    kept = re.sub(r"[^\w\- ]+", " ", title)
    return " ".join(kept.split())[:80] + ".md"


def _moment(entry: FolderEntry) -> datetime:
    return datetime.fromtimestamp(entry.modified, UTC)
