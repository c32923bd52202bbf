"""The door to a gateway's desk: a private socket at which `handraise inbox` gets a sign-in link, or answers.

The attack: a model with a shell runs as the same user, and calls `handraise inbox` as well as the person can. So the
door looks at who knocks, where the system tells. It opens to a program at a terminal; and, where a client started the
gateway, to none that the client started, too, as it does the model's shell.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from handraise.desks import Queue
from handraise.desks.counter.place import counter_directory, require_private
from handraise.desks.counter.serving import is_same_user
from handraise.desks.distant import reply_to
from handraise.gateway.desk.ancestry import has_terminal
from handraise.gateway.desk.shield import Shield

logger = logging.getLogger(__name__)

DOOR: Final = ".desk"
_PATIENCE: Final = 10.0
_LONGEST_LINE: Final = 1024 * 1024
UNKNOWN: Final = {"refused": "The desk does not know this request."}
NO_TERMINAL: Final = "This desk opens to a person at a terminal only."
OWN_CHILD: Final = (
    "This desk does not open to what the client started. Run `handraise inbox` in a terminal of your own."
)


class Door:
    """Serves one gateway's sign-in links."""

    def __init__(
        self,
        queue: Queue,
        sign_in_url: Callable[[], Awaitable[str]],
        *,
        shield: Shield,
        directory: Path | None = None,
    ) -> None:
        self._queue = queue
        self._sign_in_url = sign_in_url
        self._shield = shield
        self._directory = directory or counter_directory(os.environ)
        self._entry = self._directory / f"{os.getpid()}-{secrets.token_hex(4)}{DOOR}"
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Door:
        require_private(self._directory)
        if sys.platform != "win32":
            self._server = await asyncio.start_unix_server(self._visit, self._entry, limit=_LONGEST_LINE)
            self._entry.chmod(0o600)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entry.unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                asked = json.loads(await reader.readline())
                reply = await self._reply(asked, writer.get_extra_info("socket"))
                writer.write(json.dumps(reply).encode() + b"\n")
                await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # gone, too slow, or no JSON
        except Exception:
            logger.exception("the door failed")
        finally:
            writer.close()

    async def _reply(self, asked: object, visitor: socket.socket) -> dict[str, Any]:
        waiting = self._queue.waiting()
        servers = sorted({each.origin.name for each in waiting})
        match asked:
            case {"do": "look"} if is_same_user(visitor):
                return {"waiting": len(waiting), "servers": servers}
            case {"do": "sign in"} if is_same_user(visitor):
                refusal = self._refusal(visitor)
                return {"refused": refusal} if refusal else {"link": await self._sign_in_url()}
            case {"do": str()} if is_same_user(visitor):
                refusal = self._refusal(visitor)
                return {"refused": refusal} if refusal else _known(reply_to(self._queue, asked))
            case _:
                return _known(None)

    def _refusal(self, visitor: socket.socket) -> str | None:
        pid = _pid(visitor)
        if pid is None:
            return None  # the system does not tell; the directory keeps other users out
        if not has_terminal(pid):
            return NO_TERMINAL
        return OWN_CHILD if self._shield.keeps_out(pid) else None


def _known(reply: dict[str, Any] | None) -> dict[str, Any]:
    return dict(UNKNOWN) if reply is None else reply


def _pid(visitor: socket.socket) -> int | None:
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = visitor.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", raw)[0]
    return pid
