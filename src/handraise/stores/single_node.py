"""The parts of the contract about other nodes and processes, for stores on one computer."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from handraise.calls.records import DeliveredAnswers
from handraise.calls.store import OnAnswered

_LOOK_AGAIN = 0.1


class SingleNode:
    """The part of the contract about other nodes, for a store with one node."""

    now: Callable[[], float] = staticmethod(time.time)

    async def open(self) -> None:
        """No-op: this computer's clock is used."""

    def on_answered(self, answered: OnAnswered) -> None:
        """No-op: there is only one node."""

    async def take_delivered(self, token: str, *, now: float) -> DeliveredAnswers | None:
        return None

    async def other_nodes(self) -> int | None:
        return None

    async def wait_for_change(self, token: str) -> None:
        await asyncio.sleep(_LOOK_AGAIN)


_PROCESSES: Final = Path("/proc")


class LocalProcesses:
    """The part of the contract of parked calls about live processes."""

    async def enter(self) -> str:
        return process_name()

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {holder for holder in holders if not is_alive(holder)}


def process_name() -> str:
    """A unique name for this process, by which others can check whether it lives."""
    pid = os.getpid()
    return "/".join((_boot(), _namespace(), str(pid), _began(pid), secrets.token_hex(4)))


def is_alive(name: str) -> bool:
    """Whether the process of that name lives. A process in another container counts as alive."""
    boot, namespace, pid, began = (*name.split("/"), "", "", "")[:4]
    if boot != _boot() or not pid.isdigit():
        return False
    return namespace != _namespace() or (began != "" and _began(int(pid)) == began)


def _began(pid: int) -> str:
    """When a process was started, as the system counts; empty when it is gone or unknown."""
    try:  # after the name, which may contain anything
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _boot() -> str:
    try:
        return (_PROCESSES / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    """The namespace in which a process number is unique."""
    try:
        return str(os.stat(_PROCESSES / "self/ns/pid").st_ino)
    except OSError:
        return ""
