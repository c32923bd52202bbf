"""File operations inside a root. Each starts from an open folder, never from a path."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from handraise.server.boundary.beneath import FOLDER, Opener, rename_new
from handraise.server.boundary.rootset import RootPath

Kind = Literal["file", "folder", "link", "other"]
OpenMode = Literal["r", "w", "a", "x", "r+"]

_FLAGS: Final[dict[OpenMode, int]] = {
    "r": os.O_RDONLY,
    "w": os.O_WRONLY | os.O_CREAT,  # truncated after the checks, not before
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
    "r+": os.O_RDWR,
}
_NEW: Final = 0o666
"""The mode of a new file, before the umask."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder. Links are not followed."""

    path: PurePosixPath
    kind: Kind
    size: int
    modified: float
    links: int

    @property
    def name(self) -> str:
        """Its name in its folder."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Files:
    """The operations, with an opener and a rule about hard links."""

    opener: Opener
    refuse_hard_links: bool = False

    def open(self, place: RootPath, mode: OpenMode) -> int:
        """A descriptor of a regular file."""
        with self._root(place) as root:
            # Not blocking: opening a pipe that nobody writes to would wait for ever.
            opened = self.opener(root, place.names, _FLAGS[mode] | os.O_NONBLOCK, _NEW)
        try:
            self._require_file(os.fstat(opened))
            if mode == "w":
                os.ftruncate(opened, 0)
        except BaseException:
            os.close(opened)
            raise
        return opened

    def read(self, place: RootPath) -> bytes:
        """Everything in a file."""
        with os.fdopen(self.open(place, "r"), "rb") as file:
            return file.read()

    def write(self, place: RootPath, data: bytes, *, overwrite: bool) -> None:
        """Write a file atomically."""
        with self._parent(place) as (folder, name):
            before = _looked_at(folder, name)
            if before is not None:
                self._require_file(before)
            draft = f".{name[:64]}.{secrets.token_hex(6)}.part"
            try:
                self._draft(folder, draft, data, None if before is None else stat.S_IMODE(before.st_mode))
                if overwrite:
                    os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=folder)

    def list(self, place: RootPath) -> tuple[FolderEntry, ...]:
        """The entries of a folder, by name."""
        with self._root(place) as root:
            folder = self.opener(root, place.names, os.O_RDONLY | os.O_DIRECTORY)
        try:
            found = []
            for name in sorted(os.listdir(folder)):
                if (seen := _looked_at(folder, name)) is not None:  # it may be gone again
                    found.append(_entry(place.child(name), seen))
            return tuple(found)
        finally:
            os.close(folder)

    def stat(self, place: RootPath) -> FolderEntry:
        """The kind of an entry."""
        if not place.names:
            with self._root(place) as root:
                return _entry(place, os.fstat(root))
        with self._parent(place) as (folder, name):
            return _entry(place, os.stat(name, dir_fd=folder, follow_symlinks=False))

    def rename(self, place: RootPath, to: RootPath, *, overwrite: bool) -> None:
        """Move a file or a folder inside the boundary; FileExistsError when that would replace something."""
        with self._parent(place) as (folder, name), self._parent(to) as (other, new):
            if overwrite:
                os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)
            else:
                rename_new(folder, name, other, new)

    def remove(self, place: RootPath) -> None:
        """Remove a file, a link itself, or an empty folder."""
        with self._parent(place) as (folder, name):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.rmdir(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)

    def mkdir(self, place: RootPath) -> None:
        """Make a folder, in one that exists."""
        with self._parent(place) as (folder, name):
            os.mkdir(name, dir_fd=folder)

    @contextmanager
    def _root(self, place: RootPath) -> Iterator[int]:
        """Open the root's folder without following links: it must still be the folder that was named."""
        top = os.open("/", FOLDER | os.O_CLOEXEC)
        try:
            root = self.opener(top, place.root.real, FOLDER)
        finally:
            os.close(top)
        try:
            yield root
        finally:
            os.close(root)

    @contextmanager
    def _parent(self, place: RootPath) -> Iterator[tuple[int, str]]:
        """Open the folder of an entry; returns it with the entry's name. A root itself is refused."""
        if not place.names:
            raise PermissionError(errno.EPERM, "a root itself cannot be changed", str(place.path))
        with self._root(place) as root:
            folder = self.opener(root, place.names[:-1], FOLDER)
        try:
            yield folder, place.names[-1]
        finally:
            os.close(folder)

    def _require_file(self, seen: os.stat_result) -> None:
        if stat.S_ISLNK(seen.st_mode):
            raise OSError(errno.ELOOP, "a symbolic link")
        if stat.S_ISDIR(seen.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if self.refuse_hard_links and seen.st_nlink > 1:
            raise OSError(errno.EMLINK, "a hard link")

    def _draft(self, folder: int, name: str, data: bytes, mode: int | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, _NEW, dir_fd=folder), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def _looked_at(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _entry(place: RootPath, seen: os.stat_result) -> FolderEntry:
    return FolderEntry(place.path, _kind(seen.st_mode), seen.st_size, seen.st_mtime, seen.st_nlink)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"
