"""Where a process comes from, as far as the system tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_PROCESSES: Final = Path("/proc")
_MOST: Final = 256


def has_terminal(pid: int) -> bool:
    """Whether a process belongs to a terminal."""
    status = _status(pid)
    return status is not None and status[4] != "0"


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether a process was started by another one, directly or not. True also when that cannot be found out."""
    for _ in range(_MOST):
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
        status = _status(pid)
        if status is None:
            return True
        pid = int(status[1])
    return True


def holders_of(inode: int) -> set[int]:
    """The processes that hold a socket, as far as this user may look."""
    wanted = f"socket:[{inode}]"
    found = set()
    for process in _PROCESSES.glob("[0-9]*"):
        try:
            if any(os.readlink(each) == wanted for each in (process / "fd").iterdir()):
                found.add(int(process.name))
        except OSError:  # gone, or not ours to look at
            continue
    return found


def _status(pid: int) -> list[str] | None:
    """State, parent, group, session, terminal and so on, from behind the name, which may hold anything."""
    try:
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
