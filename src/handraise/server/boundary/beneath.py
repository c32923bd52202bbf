"""Open and rename files beneath a folder, even if other processes move things meanwhile.

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
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Final, Protocol

from handraise.errors import SetupError

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
    """Rename what is called `name` in a folder to `new` in another. FileExistsError when that name is taken."""
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
