"""The client of the control socket: lists what waits, or sends an answer. Plain and blocking."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from handraise.desks.control.code import prove
from handraise.desks.control.directory import SOCKET, entries, runtime_directories

_PATIENCE: Final = 15.0
_LONGEST_REPLY: Final = 32 * 1024 * 1024

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pending:
    """A question that waits in one of the processes."""

    socket: Path
    described: dict[str, Any]

    @property
    def id(self) -> str:
        """The question's id."""
        return str(self.described["id"])


def pending(directory: Path | None = None) -> tuple[Pending, ...]:
    """Everything that waits in any process of this user."""
    found = []
    for place in runtime_directories(os.environ) if directory is None else (directory,):
        for entry in entries(place):
            if (reply := _ask(entry, lambda _: {"do": "pending"})) is not None:
                found += [Pending(entry, each) for each in reply.get("pending", ())]
    return tuple(found)


def send_answer(question: Pending, code: str, answer: Message, *, anyway: bool = False) -> Message | None:
    """Send an answer. Returns the reply, None when the process ended meanwhile."""

    def request(nonce: str) -> Message:
        proof = prove(code, nonce, question.id, answer, anyway)
        return {"do": "answer", "id": question.id, "proof": proof, "answer": answer, "anyway": anyway}

    return _ask(question.socket, request)


def _ask(entry: Path, request: Callable[[str], Message]) -> Message | None:
    """One connection: the listener sends a nonce, takes one request, and replies."""
    try:
        with _connected(entry) as (line, token):
            greeting = json.loads(_read_line(line))
            line.sendall(json.dumps({**request(greeting["nonce"]), **token}).encode() + b"\n")
            reply = json.loads(_read_line(line))
    except ConnectionRefusedError:
        with suppress(OSError):
            entry.unlink()  # its process ended without tidying up
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return reply if isinstance(reply, dict) else None


@contextmanager
def _connected(entry: Path) -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """A connection to a listener, and the token that it wants where it is a port."""
    if entry.suffix == SOCKET:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_PATIENCE)
            line.connect(str(entry))
            yield line, {}
    else:
        told = json.loads(entry.read_text())
        with socket.create_connection(("127.0.0.1", told["port"]), _PATIENCE) as line:
            yield line, {"token": told["token"]}


def _read_line(line: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        chunk = line.recv(64 * 1024)
        if not chunk or len(received) > _LONGEST_REPLY:
            break
        received += chunk
    return bytes(received)
