"""Private files beside the database: the ledger's anchor, and a lock for each process that uses the database."""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from handraise.calls.ledger_tables import Anchor
from handraise.disk import create_file, lock, make_directory

_RECORD: Final = struct.Struct(">4sQQ32s32s32s")
_MAGIC: Final = b"hrh1"


class AnchorFile:
    """Reads and writes the anchor of the database at a path."""

    def __init__(self, database: Path) -> None:
        self.path: Path = database.with_name(f"{database.name}.head")

    def read(self) -> Anchor | None:
        """The anchor; None when there is none. A damaged anchor is returned with an invalid MAC."""
        try:
            with _locked(self.path, os.O_RDONLY) as handle:
                return _parse(os.read(handle, _RECORD.size + 1))
        except FileNotFoundError:
            return None

    def create(self, anchor: Anchor) -> None:
        """Create the file completely, or leave none behind."""
        create_file(self.path, _dump(anchor))
        with contextlib.suppress(OSError):  # not every system can sync a folder
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def advance(self, anchor: Anchor) -> None:
        """Write a newer anchor, unless another process wrote a still newer one."""
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
    """The locked file. A half-written record would be a false alarm."""
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    try:
        lock(handle, shared=not flags & os.O_RDWR)
        yield handle
    finally:
        os.close(handle)


class Presence:
    """Registers one process in a role, for example `writer`."""

    def __init__(self, database: Path, role: str) -> None:
        self._stem = f"{database.name}.{role}-"
        self._folder = database.parent
        self._name = ""
        self._handle: int | None = None
        self._lock = threading.Lock()

    def enter(self) -> str:
        """Register; returns the name by which others know this process."""
        with self._lock:
            if self._handle is None:
                make_directory(self._folder)
                self._name = secrets.token_hex(6)
                made = self._folder / f".{self._stem}{self._name}"
                self._handle = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                lock(self._handle, wait=False)
                made.rename(self._file(self._name))  # it is locked before others can see it
            return self._name

    def leave(self, *, unfinished: bool = False) -> None:
        """Unregister. With `unfinished`, others treat this process as if it had been killed."""
        with self._lock:
            if self._handle is not None:
                if not unfinished:
                    self._file(self._name).unlink(missing_ok=True)
                os.close(self._handle)
                self._handle = None

    def is_there(self, name: str) -> bool:
        """Whether the process of this name lives."""
        if (handle := _taken(self._file(name))) is None:
            return self._file(name).exists()
        os.close(handle)
        return False

    @contextlib.contextmanager
    def gone(self) -> Iterator[list[str]]:
        """The processes that are gone. Only one caller gets a name at a time, and no other ever gets it if the block
        succeeds.

        A name that the block removes from the list is reported again later.
        """
        taken: dict[str, int] = {}
        try:
            for file in self._folder.glob(f"{self._stem}*"):
                if (handle := _taken(file)) is not None:
                    taken[file.name.removeprefix(self._stem)] = handle
            names = list(taken)
            yield names
            for name in names:
                self._file(name).unlink(missing_ok=True)
        finally:
            for handle in taken.values():
                os.close(handle)

    def _file(self, name: str) -> Path:
        return self._folder / f"{self._stem}{name}"


def _taken(file: Path) -> int | None:
    """The lock of a process that is gone; None while it lives, or if another caller was faster."""
    try:
        handle = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return None
    if lock(handle, wait=False) and file.exists():
        return handle
    os.close(handle)
    return None
