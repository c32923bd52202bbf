"""The other side of a desk's socket: find the gateways of this user, and ask something of one. Plain and blocking."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from handraise.desks.counter.place import counter_directories, require_private
from handraise.desks.desk_code import prove_desk_code
from handraise.errors import SetupError
from handraise.gateway.desk.door import DOOR

_PATIENCE: Final = 10.0
_LONGEST_REPLY: Final = 32 * 1024 * 1024


def doors() -> Iterator[Path]:
    """The sockets of desks that are there, or were."""
    for directory in counter_directories(os.environ):
        with suppress(OSError, SetupError):
            require_private(directory)
            yield from sorted(path for path in directory.iterdir() if path.suffix == DOOR)


def knock(door: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reply to a request; None when nobody is there any more."""
    try:
        with socket.socket(socket.AF_UNIX) as visit, visit.makefile("rwb") as stream:
            visit.settimeout(_PATIENCE)
            visit.connect(str(door))
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            reply = json.loads(stream.readline(_LONGEST_REPLY))
    except ConnectionRefusedError:
        with suppress(OSError):
            door.unlink()  # its process ended without tidying up
        return None
    except (OSError, ValueError):
        return None
    return reply if isinstance(reply, dict) else None


class Visitor:
    """Makes requests of desks, and proves the desk code to a desk that wants it. The code is asked for once."""

    def __init__(self, ask_code: Callable[[], str]) -> None:
        self._ask_code = ask_code
        self._typed: str | None = None
        self._passes: dict[Path, str] = {}

    def knock(self, door: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The reply to a request; None when nobody is there any more."""
        reply = self._with_pass(door, request)
        match reply:
            case {"prove": str(challenge), "salt": str(salt)}:
                refused = self._prove(door, challenge, salt)
                return refused or self._with_pass(door, request)
            case _:
                return reply

    def _with_pass(self, door: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
        known = self._passes.get(door)
        return knock(door, request if known is None else {**request, "pass": known})

    def _prove(self, door: Path, challenge: str, salt: str) -> dict[str, Any] | None:
        """Get a pass; the desk's refusal when it gives none."""
        if self._typed is None:
            self._typed = self._ask_code()
        signature = prove_desk_code(self._typed, salt, challenge, door.name).hex()
        reply = knock(door, {"do": "prove", "challenge": challenge, "signature": signature}) or {}
        if not isinstance(reply.get("pass"), str):
            self._typed = None
            return reply
        self._passes[door] = reply["pass"]
        return None
