"""Files that only their owner can read, and what a deletion leaves on the disk.

Every file with personal or secret contents is written by a function of this module. So the rules are the same
everywhere: mode 0600 from the moment it is made, under any umask; no symbolic link is followed; a file that others
could read before is narrowed.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TextIO

_PRIVATE: Final = 0o600
_POSIX: Final = os.name == "posix"
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)


class Leftover(NamedTuple):
    """Contents that were deleted and can still be found on the disk."""

    where: str
    """The file or log in which they are."""
    why: str
    """The reason, as a sentence without a full stop."""
    again: bool
    """Whether erasing once more removes them, as soon as the reason is gone."""


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Write a private text file. It replaces the old one only when it is complete.

    It is made under a random name and renamed. So nobody in a shared directory can read it meanwhile, redirect it with
    a symbolic link, or keep an open handle to it.
    """
    handle, made = tempfile.mkstemp(
        prefix=f".{path.name}.", dir=path.parent
    )  # 0600, and never a file that is there
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def replace_file(path: Path, text: str) -> None:
    """Write a private text file in one step."""
    with replacing(path) as file:
        file.write(text)


def create_file(path: Path, content: bytes) -> bool:
    """Write a private file in one step, unless there is one; False when there is."""
    handle, made = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(made, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(made)
    return True


def open_to_append(path: Path) -> TextIO:
    """Open or create a private text file to append. OSError for a link and for another user's file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK, _PRIVATE)
    try:
        _require_own(handle)
        _narrow(handle)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "a", encoding="utf-8")


def open_stream(path: Path) -> TextIO:
    """Open a device or a pipe to write to. OSError for another user's pipe: its reader would get the contents."""
    handle = os.open(path, os.O_WRONLY)
    try:
        _require_own(handle)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "w", encoding="utf-8", newline="\n")


def make_private(path: Path) -> None:
    """Create a file if there is none, and make it readable by its owner only."""
    handle = os.open(
        path, os.O_RDONLY | os.O_CREAT, _PRIVATE
    )  # a private file on a read-only disk stays as it is
    try:
        _narrow(handle)
    finally:
        os.close(handle)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents, for this user only."""
    if not path.is_dir():
        make_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def lock(handle: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file against other processes until it is closed; False when another has it and we do not wait."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if wait:
            raise
        return False
    return True


def _require_own(handle: int) -> None:
    found = os.fstat(handle)
    if _POSIX and not stat.S_ISCHR(found.st_mode) and found.st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user")


def _narrow(handle: int) -> None:
    mode = os.fstat(handle).st_mode
    if _POSIX and stat.S_ISREG(mode) and stat.S_IMODE(mode) & 0o077:
        os.fchmod(handle, _PRIVATE)
