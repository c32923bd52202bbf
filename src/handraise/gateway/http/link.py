"""A server that is reached over streamable HTTP, on any revision."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from handraise.gateway.accounts.challenge import Challenge, parse_challenge
from handraise.gateway.accounts.entry import Entry
from handraise.gateway.accounts.own import OwnAccount
from handraise.gateway.errands import Errands
from handraise.gateway.http.headers import headers_for, mirrored_headers
from handraise.gateway.http.streams import Streams
from handraise.gateway.http.wire import Broken, Reply, Wires
from handraise.gateway.json_text import LONGEST
from handraise.gateway.links import DirectLink
from handraise.gateway.messages import Id, Message, Unreadable, fault, known, parse_message
from handraise.gateway.methods import CANCELLED
from handraise.gateway.upstreams import Source

logger = logging.getLogger(__name__)

UNREACHABLE: Final = -32000
_WAYS_IN: Final = 3
"""How often a request that was refused is tried again: with a token of the vault's, a renewed one, a new one."""
_ABOUT_US: Final = (401, 403, 407)
"""What a server says of the gateway's own right to call it. A client must not take it for the gateway's word."""


class HttpLink(DirectLink):
    """The link to a URL. Every message is a request of its own; what comes back says what it belongs to."""

    def __init__(self, source: Source, own: OwnAccount | None = None) -> None:
        """`own` is the account of the client's person, for a server that wants one."""
        super().__init__(source)
        self._wires = Wires(source.upstream.url or "")
        self._streams = Streams(self._wires, self._headers, self._deliver, self._refuse)
        self._entry = None if own is None else Entry(own, lambda message: self.on_message(message), self.send)
        self._session: str | None = None
        self._version: str | None = None
        self._hello: Id | None = None
        self._mirrored: dict[str, Any] = {}
        self._posting: dict[Id, asyncio.Task[None]] = {}
        self._outside: set[Id] = set()
        self._errands = Errands()
        self._closed = False

    def send(self, message: Message) -> None:
        if self._closed:
            return  # a client may still leave, and nobody would close the connection that tells of it
        if message.method == CANCELLED and not self._cancel(message):
            return
        if self._entry is not None and self._entry.takes(message):
            return
        if message.method == "initialize":
            self._hello = message.id
        going_on = self._entry is not None and self._entry.is_round(message)
        task = self._errands.run(self._answered(message, self._go_in if going_on else self._exchange))
        if message.is_request and message.id is not None:
            self._posting[message.id] = task
        if message.method == "notifications/initialized":
            self._errands.run(self._streams.follow())

    def _cancel(self, message: Message) -> bool:
        """End a request; whether the server has to be told."""
        id = message.params.get("requestId", "")
        outside = id in self._outside
        if (task := self._posting.get(id)) is not None and (outside or self._version is None):
            task.cancel()  # on 2026-07-28 closing the stream is how a request is cancelled
        return self._version is not None and not outside

    async def aclose(self) -> None:
        self._closed = True
        await self._errands.aclose()
        if self._session is not None:
            try:
                async with asyncio.timeout(2):
                    async with self._wires.exchange("DELETE", await self._headers(None)):
                        pass
            except (TimeoutError, Broken):
                logger.debug("the session could not be ended")
        await self._wires.aclose()

    async def _headers(self, message: Message | None) -> list[tuple[bytes, bytes]]:
        headers = headers_for(
            message, self.source.upstream.headers, self._session, self._version, self._mirrored
        )
        if self._entry is not None and (token := await self._entry.token()) is not None:
            headers.append((b"authorization", b"Bearer " + token.encode("latin-1", "replace")))
        return headers

    async def _answered(self, message: Message, way: Callable[[Message], Awaitable[bool]]) -> None:
        """Have a message go its way; a request is answered, whatever happens on it."""
        answered = not message.is_request
        try:
            answered = await way(message) or answered
        except Broken as error:
            logger.warning("%s cannot be reached: %r", self.source.upstream.name, error)
        except Exception:
            logger.exception("a request to %s failed", self.source.upstream.name)
        finally:
            if self._posting.get(known(message.id)) is asyncio.current_task():
                del self._posting[known(message.id)]
        if not answered:
            self._deliver(
                fault(message.id, UNREACHABLE, "The server could not be reached, or did not answer."), None
            )

    async def _exchange(self, message: Message) -> bool:
        """Post a message until it is let in; whether the request was answered."""
        for again in range(_WAYS_IN, -1, -1):
            headers = await self._headers(message)
            async with self._wires.exchange("POST", headers, message.raw) as reply:
                challenge = parse_challenge(reply.status, reply.headers) if self._entry and again else None
                if challenge is None:
                    return await self._take(reply, message)
            if not await self._meet(message, challenge, headers):
                return True
        return False

    async def _meet(self, message: Message, challenge: Challenge, headers: list[tuple[bytes, bytes]]) -> bool:
        """Have the person get in; whether the message may be posted again."""
        assert self._entry is not None
        sent = dict(headers).get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ") or None
        with self._waiting_outside(message):
            return await self._entry.meet(message, challenge, sent)

    async def _go_in(self, message: Message) -> bool:
        """The client answers a question of the gateway's own: then its call may be made."""
        assert self._entry is not None
        with self._waiting_outside(message):
            await self._entry.go_on(message)
        return True

    @contextmanager
    def _waiting_outside(self, message: Message) -> Iterator[None]:
        """While a person is on their way in: the server knows nothing of the request, and hears of no cancelling."""
        id = known(message.id)
        self._outside.add(id)
        try:
            yield
        finally:
            self._outside.discard(id)

    async def _take(self, reply: Reply, message: Message) -> bool:
        """Hand on what a response holds; whether the request was answered."""
        headers = {name.lower(): value.decode("latin-1") for name, value in reply.headers}
        if message.id is not None and message.id == self._hello and b"mcp-session-id" in headers:
            self._session = headers[b"mcp-session-id"]
        kind = headers.get(b"content-type", "")
        if kind.startswith("text/event-stream"):
            return await self._streams.take(reply, message)
        answer = self._answer(await _whole(reply), message, reply.status)
        if answer is not None:
            answer.status = _status(reply)
            self._deliver(answer, message)
        return True

    def _answer(self, body: bytes, message: Message, status: int) -> Message | None:
        """What a response without a stream holds for the client. A request gets its own answer, and nothing else."""
        told = f"The server answered with HTTP status {status}."
        try:
            answer = parse_message(body) if body.strip() else None
        except Unreadable as error:
            logger.warning("%s: %s", self.source.upstream.name, error)
            answer, told = None, f"{told} Its answer could not be read and was not passed on: {error}."
        if not message.is_request:
            return None
        if answer is not None and answer.method is None and answer.id == message.id:
            return answer
        return fault(message.id, UNREACHABLE, told)

    def _refuse(self, error: Unreadable) -> None:
        """What a stream holds and nobody can read ends its request, or is refused to the server."""
        logger.warning("%s: %s", self.source.upstream.name, error)
        if error.is_response:
            self.take_unread(error)
        elif error.is_request:
            self.send(error.refusal())

    def _deliver(self, message: Message, about: Message | None) -> None:
        message.source = self.source
        if about is not None and about.is_request:
            message.about = about.id
            self._learn(message, about)
        self.on_message(message)

    def _learn(self, message: Message, about: Message) -> None:
        if about.method == "initialize" and message.id == about.id and message.result is not None:
            self._version = str(message.result.get("protocolVersion", ""))
        elif about.method == "tools/list" and b"x-mcp-header" in message.raw:
            self._mirrored.update(mirrored_headers(message.result or {}))


def _status(reply: Reply) -> int | None:
    return None if reply.status in _ABOUT_US else reply.status


async def _whole(reply: Reply) -> bytes:
    """The body of a response. One that is too long counts as a server that does not keep to the protocol."""
    parts, size = [], 0
    async for chunk in reply.parts():
        parts.append(chunk)
        size += len(chunk)
        if size > LONGEST:
            raise Broken(f"the response is longer than {LONGEST // 2**20} MiB")
    return b"".join(parts)
