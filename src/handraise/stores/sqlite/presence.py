"""Which processes use a file right now, so that what the others left in flight can be told.

Each holds a lock on a small file of its own beside the database. The operating system lets go of it when the process
ends, however it ends; a lock that can be taken belongs to a process that is gone. Locks are the same for every
container that shares the folder, unlike the numbers of processes.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from handraise.disk import make_directory


class Presence:
    """The presence of one process in a role, a `writer` for instance, from its first act on."""

    def __init__(self, database: Path, role: str) -> None:
        self._stem = f"{database.name}.{role}-"
        self._folder = database.parent
        self._name = ""
        self._handle: int | None = None
        self._lock = threading.Lock()

    def enter(self) -> str:
        """Be present; the name by which others know us."""
        with self._lock:
            if self._handle is None:
                make_directory(self._folder)
                self._name = secrets.token_hex(6)
                made = self._folder / f".{self._stem}{self._name}"
                self._handle = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                _try_lock(self._handle)
                made.rename(self._file(self._name))  # it is never seen without its lock
            return self._name

    def leave(self, *, unfinished: bool = False) -> None:
        """Be present no more. What is `unfinished` others are told of, as if the process had been killed."""
        with self._lock:
            if self._handle is not None:
                if not unfinished:
                    self._file(self._name).unlink(missing_ok=True)
                os.close(self._handle)
                self._handle = None

    def is_there(self, name: str) -> bool:
        """Whether the process of this name is still present."""
        if (handle := _taken(self._file(name))) is None:
            return self._file(name).exists()
        os.close(handle)
        return False

    @contextlib.contextmanager
    def gone(self) -> Iterator[list[str]]:
        """Those who are gone. Nobody else is told of them meanwhile, and nobody ever if it ends well.

        One that is taken off the list is told of again.
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
    """The lock of a process that is gone; None while it is present, and when somebody else was faster."""
    try:
        handle = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return None
    if _try_lock(handle) and file.exists():
        return handle
    os.close(handle)
    return None


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
