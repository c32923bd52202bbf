"""A person who answers at the desk of a gateway that is a process: through its door, from a terminal of their own."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.forking import fork_at_terminal

from handraise.desks import Decision
from handraise.desks.remote import dump_decision
from handraise.questions import Accepted

T = TypeVar("T")


def until(look: Callable[[], T | None], every: float = 0.02) -> T:
    """Wait until there is something to see, bounded."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(every)
    raise AssertionError("it never came")


def door(runtime: Path, pid: int) -> Path:
    """The door of a gateway's desk, once it has one."""
    return until(lambda: next((runtime / "handraise").glob(f"{pid}-*.desk"), None))


def waiting(at: Path) -> bool:
    """Whether something waits behind a door."""
    return bool(knock(at, do="look").get("waiting"))


def answer(at: Path, **content: str) -> None:
    """Answer the one question that waits behind a door, as a terminal desk does."""
    decision = dump_decision(Decision(Accepted(content)), with_content=True)

    def decide() -> dict[str, Any]:
        (question,) = knock(at, do="read", known=[])["waiting"]
        knock(at, do="show", id=question["id"])
        until(lambda: knock(at, do="decide", id=question["id"], decision=decision).get("verdict") == "taken")
        return {}

    at_a_terminal(decide)


def at_a_terminal(do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What somebody gets who does this at a terminal of their own."""
    child, terminal = fork_at_terminal(lambda: os.write(1, json.dumps(do()).encode()))
    shown = b""
    try:
        while chunk := os.read(terminal, 4096):
            shown += chunk
    except OSError:  # the terminal is gone with the child
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    seen: dict[str, Any] = json.loads(shown)
    return seen


def knock(at: Path, **what: Any) -> dict[str, Any]:
    """Send one request to a desk's socket; its reply."""
    with socket.socket(socket.AF_UNIX) as visit:
        visit.connect(str(at))
        visit.sendall(json.dumps(what).encode() + b"\n")
        told: dict[str, Any] = json.loads(visit.makefile().readline())
        return told
