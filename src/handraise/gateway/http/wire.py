"""Connections to one server, as plain as the event loop has them, each kept for the next request.

Head and body of a request go out in one write: each write wakes the server, and half a request is of no use to it.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

import h11

_PATIENCE: Final = 30.0
"""Seconds for which a connection may take to be there."""
_MOST_KEPT: Final = 50
_PIECE: Final = 64 * 1024

Headers = list[tuple[bytes, bytes]]


class Broken(Exception):
    """A connection, or what came over it, is of no use."""


class Wires:
    """The connections to where a URL is. As many as there are requests at once."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._tls = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._name = parts.netloc.rpartition("@")[2].encode("idna" if not parts.netloc.isascii() else "ascii")
        self._trusted: ssl.SSLContext | None = None
        self._kept: list[_Wire] = []

    def exchange(self, method: str, headers: Headers, body: bytes = b"") -> Exchange:
        """A request and its reply, to be entered. What is not read of the reply ends the connection."""
        length = [(b"content-length", b"%d" % len(body))] if method == "POST" else []
        try:
            request = h11.Request(
                method=method, target=self._target, headers=[(b"host", self._name), *headers, *length]
            )
        except h11.LocalProtocolError as error:
            raise Broken("a header cannot be sent as it is") from error
        return Exchange(self, request, body)

    async def aclose(self) -> None:
        """Let the connections go that nobody uses."""
        kept, self._kept = self._kept, []
        for wire in kept:
            wire.close()

    async def take(self) -> _Wire:
        """A connection that is still open, or a new one."""
        while self._kept:
            wire = self._kept.pop()
            if wire.is_open:
                return wire
            wire.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                return _Wire(*await asyncio.open_connection(self._host, self._port, ssl=self._context()))
        except (OSError, UnicodeError) as error:
            raise Broken(f"no connection: {error}") from error

    def give_back(self, wire: _Wire) -> None:
        """Keep a connection, if another request may use it."""
        if len(self._kept) < _MOST_KEPT and wire.begin_again():
            self._kept.append(wire)
        else:
            wire.close()

    def _context(self) -> ssl.SSLContext | None:
        if self._tls and self._trusted is None:
            from httpcore2 import default_ssl_context

            self._trusted = default_ssl_context()
        return self._trusted


class Exchange:
    """One request; inside it, its reply."""

    def __init__(self, wires: Wires, request: h11.Request, body: bytes) -> None:
        self._wires = wires
        self._request = request
        self._body = body
        self._wire: _Wire | None = None

    async def __aenter__(self) -> Reply:
        self._wire = await self._wires.take()
        try:
            return await self._wire.ask(self._request, self._body)
        except BaseException:
            self._wire.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wire is not None:
            self._wires.give_back(self._wire)


class Reply:
    """What came back."""

    def __init__(self, wire: _Wire, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.status = status
        self.headers = headers
        """Their names are in small letters."""
        self._wire = wire

    async def parts(self) -> AsyncIterator[bytes]:
        """The body, piece by piece."""
        while isinstance(event := await self._wire.next(), h11.Data):
            yield bytes(event.data)


class _Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT)

    @property
    def is_open(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def ask(self, request: h11.Request, body: bytes) -> Reply:
        try:
            whole = self._http.send(request) or b""
            if body:
                whole += self._http.send(h11.Data(body)) or b""
            whole += self._http.send(h11.EndOfMessage()) or b""
            self._writer.write(whole)
            await self._writer.drain()
        except (OSError, h11.LocalProtocolError) as error:
            raise Broken(f"nothing could be sent: {error}") from error
        while isinstance(event := await self.next(), h11.InformationalResponse):
            pass
        if not isinstance(event, h11.Response):
            raise Broken("the server answered with nothing")
        return Reply(self, event.status_code, event.headers)

    async def next(self) -> object:
        """What comes next."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_PIECE))
        except (OSError, h11.RemoteProtocolError) as error:
            raise Broken(str(error)) from error
        return event

    def begin_again(self) -> bool:
        """Be ready for another request; False when the last one is not over, or the server ends here."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE or not self.is_open:
            return False
        self._http.start_next_cycle()
        return True

    def close(self) -> None:
        self._writer.close()
