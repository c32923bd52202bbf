"""The directory of this user's control sockets: nobody else can enter it, and each process has one entry."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from handraise.errors import SetupError
from handraise.policy.places import data_directory

SOCKET: Final = ".sock"
PORT: Final = ".port"
"""A file with a port and a token, where there are no Unix sockets, or the directory's name is too long for one."""
_LONGEST: Final = 100
"""Bytes in the path of a Unix socket; the systems allow 104 and more."""


def runtime_directory(environment: Mapping[str, str]) -> Path:
    """Where they are: in the session's own directory, or else beside the user's rules."""
    named = environment.get("XDG_RUNTIME_DIR", "")
    if Path(named).is_absolute() and Path(named).is_dir():
        return Path(named) / "handraise"
    return data_directory(environment) / "run"


def runtime_directories(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where to look for them: a client starts its servers with few variables, so they may have chosen otherwise."""
    found = [data_directory(environment) / "run"]
    if sys.platform != "win32":
        found.append(Path(f"/run/user/{os.getuid()}/handraise"))
    others = [each for each in found if each.is_dir()]
    return tuple(dict.fromkeys([runtime_directory(environment), *others]))


def require_private(directory: Path) -> None:
    """Make the directory, and refuse one that somebody else could enter or has put there."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise SetupError(f"{directory}: no place to answer by id ({error.strerror})") from None
    if sys.platform == "win32":
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SetupError(
            f"{directory} must be a directory that is yours alone (chmod 700), so nothing is put there"
        )


def new_entry(directory: Path) -> Path:
    """A name for a new listener, with the ending that says how it is reached."""
    name = f"{os.getpid()}-{secrets.token_hex(4)}"
    path = directory / f"{name}{SOCKET}"
    has_sockets = sys.platform != "win32" and len(os.fsencode(path)) <= _LONGEST
    return path if has_sockets else directory / f"{name}{PORT}"


def entries(directory: Path) -> Iterator[Path]:
    """The listeners that are there, or were."""
    try:
        require_private(directory)
        found = sorted(directory.iterdir())
    except OSError:
        return
    yield from (path for path in found if path.suffix in (SOCKET, PORT))
