"""Streams of events from a server: taken to their end, and taken up again where a server ends one early."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from handraise.gateway.http.sse import Event, Events
from handraise.gateway.http.wire import Broken, Reply, Wires
from handraise.gateway.messages import Message, Unreadable, parse_message

_RETRY: Final = 1.0
_RETRIES: Final = 30


class Streams:
    """The streams of one link.

    `deliver` takes what comes, and the request that it belongs to; `refuse` takes what cannot be read.
    """

    def __init__(
        self,
        wires: Wires,
        headers: Callable[[Message | None], Awaitable[list[tuple[bytes, bytes]]]],
        deliver: Callable[[Message, Message | None], None],
        refuse: Callable[[Unreadable], None],
    ) -> None:
        self._wires = wires
        self._headers = headers
        self._deliver = deliver
        self._refuse = refuse

    async def take(self, reply: Reply, message: Message) -> bool:
        """Hand on the events of a stream, and go on where it ended; whether the request was answered."""
        last, answered = await self._read(reply, Event(b""), message)
        for _ in range(_RETRIES):
            if answered or last.id is None or not message.is_request:
                break
            await asyncio.sleep(last.retry or _RETRY)
            last, answered = await self._go_on(last, message)
        return answered

    async def follow(self) -> None:
        """Hear what the server says by itself, where it offers that."""
        last = Event(b"")
        for _ in range(_RETRIES):
            try:
                last, _ = await self._go_on(last, None)
            except Broken:
                last = Event(b"again", last.id)
            if not last.data:
                return
            await asyncio.sleep(last.retry or _RETRY)

    async def _go_on(self, last: Event, message: Message | None) -> tuple[Event, bool]:
        """Take a stream up again behind its last event."""
        headers = [*await self._headers(None), (b"accept", b"text/event-stream")]
        if last.id is not None:
            headers.append((b"last-event-id", last.id.encode()))
        async with self._wires.exchange("GET", headers) as reply:
            if reply.status != 200:
                return Event(b""), False
            last, answered = await self._read(reply, last, message)
        return Event(b"again", last.id, last.retry), answered

    async def _read(self, reply: Reply, last: Event, message: Message | None) -> tuple[Event, bool]:
        """Hand on every event of a response; the last of them, and whether one answers the request."""
        events, answered = Events(), False
        async for chunk in reply.parts():
            for event in events.feed(chunk):
                last = Event(b"", event.id or last.id, event.retry or last.retry)
                answered = self._take(event, message) or answered
        return last, answered

    def _take(self, event: Event, message: Message | None) -> bool:
        """Hand on what an event holds; whether it answers the request, readably or not."""
        if not event.data.strip():
            return False
        try:
            taken = parse_message(event.data)
        except Unreadable as error:
            self._refuse(error)
            return error.is_response and message is not None and error.id == message.id
        self._deliver(taken, message)
        return message is not None and taken.method is None and taken.id == message.id
