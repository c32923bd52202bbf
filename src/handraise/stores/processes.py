"""Which processes of this computer are there, for stores that are not shared with others."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Final

_PROCESSES: Final = Path("/proc")


class OnThisComputer:
    """The part of the contract of parked calls that is about who is there."""

    async def enter(self) -> str:
        return own_name()

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {holder for holder in holders if not is_there(holder)}


def own_name() -> str:
    """A name for this process that no other one has, and by which it is found out whether it is still there."""
    pid = os.getpid()
    return "/".join((_boot(), _namespace(), str(pid), _began(pid), secrets.token_hex(4)))


def is_there(name: str) -> bool:
    """Whether the process of that name is still there. Of a container that we cannot look into, that is assumed."""
    boot, namespace, pid, began = (*name.split("/"), "", "", "")[:4]
    if boot != _boot() or not pid.isdigit():
        return False
    return namespace != _namespace() or (began != "" and _began(int(pid)) == began)


def _began(pid: int) -> str:
    """When a process was started, by the system's own count; empty when it is not there, or cannot be told."""
    try:  # behind the name, which may hold anything
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _boot() -> str:
    try:
        return (_PROCESSES / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    """Where a number means this process and no other."""
    try:
        return str(os.stat(_PROCESSES / "self/ns/pid").st_ino)
    except OSError:
        return ""
