"""File operations inside a root. Each starts from an open folder, never from a path.

The attack: between the check of a path and its opening, somebody puts a symbolic link into it. So nothing is checked by
name here: the kernel resolves the path and refuses every link in it, or the
folders are opened one by one, each from the one before it. Both ways give the same answers.

For the same reason a rename that must not replace anything is one system call: a check first would leave time for
somebody to create the new name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Final, Literal, Protocol

from handraise.errors import SetupError
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
            before = _stat_if_there(folder, name)
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
                if (seen := _stat_if_there(folder, name)) is not None:  # it may be gone again
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


def _stat_if_there(folder: int, name: str) -> os.stat_result | None:
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


FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""Flags to open a folder from which others are opened."""

_SYS_OPENAT2: Final = 437
_SHARED_NUMBERS: Final = frozenset({"x86_64", "aarch64", "riscv64", "s390x", "ppc64le", "loongarch64"})
"""Architectures with the number above; elsewhere it may be another system call."""

_RESOLVE_NO_SYMLINKS: Final = 0x04
_RESOLVE_BENEATH: Final = 0x08
_TRIES: Final = 8
_RENAME_NOREPLACE: Final = 1
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EPERM})
"""Errors of renameat2 on an older kernel, a file system without the flag, or in a sandbox."""


class Opener(Protocol):
    """Opens a file beneath a folder by the names on its path. Follows no link."""

    def __call__(self, folder: int, names: Sequence[str], flags: int, mode: int = 0) -> int: ...


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def by_openat2(folder: int, names: Sequence[str], flags: int, mode: int = 0) -> int:
    """Let the kernel resolve the whole path at once: openat2 with RESOLVE_BENEATH (Linux 5.6)."""
    _require_plain(names)
    path = os.fsencode("/".join(names) or ".")
    how = _OpenHow(
        flags | os.O_CLOEXEC,
        mode if flags & os.O_CREAT else 0,
        _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS,
    )
    for _ in range(_TRIES):
        opened: int = _libc().syscall(_SYS_OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))
        if opened >= 0:
            return opened
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):  # something moved on the path: try again
            break
    raise OSError(number, os.strerror(number), "/".join(names))


def by_walking(folder: int, names: Sequence[str], flags: int, mode: int = 0) -> int:
    """Open the folders one by one, none of them through a link."""
    _require_plain(names)
    here = os.dup(folder)
    try:
        for name in names[:-1]:
            below = _step(here, name, FOLDER, 0)
            os.close(here)
            here = below
        return _step(here, names[-1] if names else ".", flags, mode)
    finally:
        os.close(here)


def _step(folder: int, name: str, flags: int, mode: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    except NotADirectoryError:
        # Some systems call a link in the place of a folder "not a folder"; report it as a link.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


def _require_plain(names: Sequence[str]) -> None:
    """Refuse anything but plain names: the caller must have resolved `..`."""
    for name in names:
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise OSError(errno.EINVAL, "not a plain name", name)


def rename_new(folder: int, name: str, other: int, new: str) -> None:
    """Rename `name` in one folder to `new` in another. FileExistsError when that name is taken."""
    try:
        by_renameat2(folder, name, other, new)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        by_linking(folder, name, other, new)


def by_renameat2(folder: int, name: str, other: int, new: str) -> None:
    """Rename in one system call: renameat2 with RENAME_NOREPLACE (Linux 3.15)."""
    _require_plain((name, new))
    rename = getattr(_libc(), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    if rename(folder, os.fsencode(name), other, os.fsencode(new), _RENAME_NOREPLACE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name, None, new)


def by_linking(folder: int, name: str, other: int, new: str) -> None:
    """Link a file to its new name and remove the old one, if the kernel has no such rename.

    A folder cannot have two names, and a plain rename would replace an empty one. So a folder is refused.
    """
    _require_plain((name, new))
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        with suppress(FileNotFoundError):
            os.stat(new, dir_fd=other, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name, None, new)
        raise OSError(
            errno.ENOTSUP, "this folder cannot be moved here without overwrite=True, nor into itself", name
        )
    os.link(name, new, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)
    os.unlink(name, dir_fd=folder)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


@cache
def best_opener() -> Opener:
    """`by_openat2` if the kernel allows it, else `by_walking`."""
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        raise SetupError(
            "a boundary needs a system that opens files beneath a folder: Linux, macOS or another Unix"
        )
    if platform.system() != "Linux" or platform.machine() not in _SHARED_NUMBERS:
        return by_walking
    top = os.open("/", FOLDER | os.O_CLOEXEC)
    try:
        os.close(by_openat2(top, (), FOLDER))
    except OSError:  # an older kernel, or a sandbox that does not know the call
        return by_walking
    finally:
        os.close(top)
    return by_openat2
