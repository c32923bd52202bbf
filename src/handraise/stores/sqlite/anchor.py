"""The anchor of a ledger: a copy of its head in a private file beside the database.

A database that somebody restored from a backup is older than its anchor; that is how the change is found. The file has
one record of fixed size that is overwritten in place, so that it is whole after `kill -9` at any moment. It is only
synced when it is made: after a power failure it may be behind the database, which does no harm, but never ahead of it.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handraise.conversation.recorded import Anchor

_RECORD: Final = struct.Struct(">4sQQ32s32s32s")
_MAGIC: Final = b"hrh1"


class AnchorFile:
    """Reads and writes the anchor of the database at a path."""

    def __init__(self, database: Path) -> None:
        self.path: Path = database.with_name(f"{database.name}.head")

    def read(self) -> Anchor | None:
        """The anchor, or None when there is none. A damaged one is read as one that nobody could have written."""
        try:
            with _locked(self.path, os.O_RDONLY) as handle:
                return _parse(os.read(handle, _RECORD.size + 1))
        except FileNotFoundError:
            return None

    def create(self, anchor: Anchor) -> None:
        """Make the file, whole and on disk, or leave none behind."""
        made = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, _dump(anchor))
            os.fsync(handle)
        finally:
            os.close(handle)
        made.replace(self.path)
        with contextlib.suppress(OSError):  # not every system can sync a folder
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def advance(self, anchor: Anchor) -> None:
        """Write a newer anchor. Another process may have written a still newer one: that one stays."""
        with _locked(self.path, os.O_RDWR) as handle:
            before = _parse(os.read(handle, _RECORD.size + 1))
            if before.age < anchor.age:
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, _dump(anchor))


def _dump(anchor: Anchor) -> bytes:
    return _RECORD.pack(_MAGIC, *anchor)


def _parse(record: bytes) -> Anchor:
    if len(record) != _RECORD.size or not record.startswith(_MAGIC):
        return Anchor(0, 0, b"", b"", b"")
    _, *parts = _RECORD.unpack(record)
    return Anchor(*parts)


@contextlib.contextmanager
def _locked(path: Path, flags: int) -> Iterator[int]:
    """The file, while no other process writes to it. A record that is half old and half new would be a false alarm."""
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX if flags & os.O_RDWR else fcntl.LOCK_SH)
        yield handle
    finally:
        os.close(handle)
