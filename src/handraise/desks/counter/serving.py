"""The counter as a small server: one line of JSON in, one out, and nobody but this user comes near it."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import secrets
import socket
from pathlib import Path
from types import TracebackType
from typing import Final

from handraise.desks.counter.code import Code
from handraise.desks.counter.place import SOCKET, counter_directory, new_entry, require_private
from handraise.desks.counter.requests import Message, Requests
from handraise.desks.queue import Queue
from handraise.disk import replace_file
from handraise.processes import unix_peer
from handraise.questions import Person

logger = logging.getLogger(__name__)

LONGEST_LINE: Final = 1024 * 1024
_PATIENCE: Final = 10.0
"""Seconds within which a request has to arrive, and its reply to be taken."""
_MOST_VISITORS: Final = 16


class Counter:
    """Lets commands of the same user see a queue's questions, and answer them with the code.

        async with Counter(queue, code):
            ...

    Any process that holds a queue can open one: a client, a web desk, a gateway.
    """

    def __init__(
        self, queue: Queue, code: Code, *, person: Person | None = None, directory: Path | None = None
    ) -> None:
        self._requests = Requests(queue, code, person)
        self._directory = directory or counter_directory(os.environ)
        self._entry: Path | None = None
        self._token: str | None = None
        self._server: asyncio.Server | None = None
        self._visitors: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Counter:
        require_private(self._directory)
        self._entry = new_entry(self._directory)
        if self._entry.suffix == SOCKET:
            self._server = await asyncio.start_unix_server(self._visit, self._entry, limit=LONGEST_LINE)
            self._entry.chmod(0o600)
        else:
            self._server = await asyncio.start_server(self._visit, "127.0.0.1", 0, limit=LONGEST_LINE)
            self._token = secrets.token_urlsafe(32)
            port = self._server.sockets[0].getsockname()[1]
            replace_file(self._entry, json.dumps({"port": port, "token": self._token}))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        assert self._entry is not None
        self._entry.unlink(missing_ok=True)
        self._server.close()
        for visitor in self._visitors:
            visitor.cancel()
        await asyncio.gather(*self._visitors, return_exceptions=True)
        await self._server.wait_closed()

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = asyncio.current_task()
        assert visitor is not None
        self._visitors.add(visitor)
        try:
            if len(self._visitors) <= _MOST_VISITORS and self._is_same_user(writer.get_extra_info("socket")):
                await self._serve(reader, writer)
        except (OSError, TimeoutError, ValueError):
            pass  # gone, too slow, or no JSON: nothing was decided
        except Exception:
            logger.exception("the counter failed")
        finally:
            self._visitors.discard(visitor)
            writer.close()

    def _is_same_user(self, visitor: socket.socket) -> bool:
        """Whether the visitor runs as this user. On a port the token shows it; elsewhere the private directory does."""
        peer = unix_peer(visitor)
        return peer is None or peer.user == os.getuid()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonce = secrets.token_hex(16)
        writer.write(_line({"nonce": nonce}))
        async with asyncio.timeout(_PATIENCE):
            request = json.loads(await reader.readline())
        reply = await self._requests.reply(request, nonce) if self._may_ask(request) else _STRANGER
        writer.write(_line(reply))
        async with asyncio.timeout(_PATIENCE):
            await writer.drain()

    def _may_ask(self, request: object) -> bool:
        """On a port anybody on this computer can connect: there the token shows who can read this user's files."""
        if self._token is None:
            return True
        given = request.get("token") if isinstance(request, dict) else None
        return isinstance(given, str) and hmac.compare_digest(given.encode(), self._token.encode())


_STRANGER: Message = {"error": "stranger", "sentence": "This counter is another user's.", "problems": []}


def _line(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"
