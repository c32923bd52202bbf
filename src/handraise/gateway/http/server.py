"""Clients over streamable HTTP, on any revision: an ASGI application of one path."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from handraise.gateway.home import Home
from handraise.gateway.http.exchange import (
    Exchange,
    Receive,
    Scope,
    Send,
    answer,
    disconnected,
    read_body,
    reply,
    send_error,
    start_stream,
    stream,
)
from handraise.gateway.http.headers import mismatch
from handraise.gateway.http.sessions import Session, Sessions
from handraise.gateway.legacy import LegacyRelay
from handraise.gateway.links import Link
from handraise.gateway.messages import Message, Unreadable, fault, parse_message
from handraise.gateway.modern import ModernRelay
from handraise.gateway.peers import MODERN
from handraise.gateway.relay import Relay
from handraise.gateway.requests import is_modern
from handraise.questions import Person

HEADER_MISMATCH: Final = -32020
TOO_MANY: Final = -32000
PERSON: Final = "handraise.person"
"""Where in the scope the person stands whom somebody in front of us verified."""


class TooManySessions(Exception):
    """A person has as many sessions as one may have, and all are in use."""


class HttpGateway:
    """The application. `open_link` connects a person to the servers: every session has processes of its own."""

    def __init__(
        self, home: Home, open_link: Callable[[Person | None], Awaitable[Link]], path: str = "/mcp"
    ) -> None:
        self._home = home
        self._open_link = open_link
        self._path = path
        self._sessions = Sessions()
        self._modern: dict[Person | None, asyncio.Future[Relay]] = {}
        self._retiring: dict[asyncio.Future[None], Relay] = {}
        self._opening: Counter[Person | None] = Counter()
        self._owners: dict[Relay, Person | None] = {}
        """Whose each relay is, as long as it has its servers."""
        home.on_lost = self._lost

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] != self._path:
            await reply(send, 404, b"There is nothing here.\n", b"text/plain")
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        person: Person | None = scope.get(PERSON)
        match scope["method"]:
            case "POST":
                await self._post(headers, receive, send, person)
            case "GET":
                await self._follow(headers, receive, send, person)
            case "DELETE":
                await self._delete(headers, send, person)
            case _:
                await reply(send, 405, b"", b"text/plain")

    async def aclose(self) -> None:
        """Let every client's server go."""
        relays = [*(session.relay for session in self._sessions), *self._retiring.values()]
        for retiring in list(self._retiring):
            retiring.cancel()
        opened = await asyncio.gather(*self._modern.values(), return_exceptions=True)
        relays += [relay for relay in opened if isinstance(relay, Relay)]
        for session in self._sessions:
            self._sessions.remove(session)
        for relay in relays:
            await relay.aclose()

    async def _post(
        self, headers: dict[bytes, str], receive: Receive, send: Send, person: Person | None
    ) -> None:
        body = await read_body(receive)
        if body is None:
            await reply(send, 413, b"This is too long.\n", b"text/plain")
            return
        try:
            message = parse_message(body)
        except Unreadable as error:
            await send_error(send, 400, error.refusal())
            return
        modern = _is_modern(message, headers)
        if modern and message.is_request and (name := mismatch(message, headers)) is not None:
            text = f"The header {name} does not say what the body says."
            await send_error(send, 400, fault(message.id, HEADER_MISMATCH, text))
        elif modern or message.method == "initialize":
            await self._serve(message, receive, send, person, modern=modern)
        elif (session := self._session(headers, person)) is None:
            status = 404 if b"mcp-session-id" in headers else 400
            await send_error(
                send, status, fault(message.id, -32600, "There is no such session; begin a new one.")
            )
        else:
            await self._exchange(session.relay, message, receive, send)

    def _session(self, headers: dict[bytes, str], person: Person | None) -> Session | None:
        return self._sessions.find(headers.get(b"mcp-session-id", ""), person)

    async def _serve(
        self, message: Message, receive: Receive, send: Send, person: Person | None, *, modern: bool
    ) -> None:
        """Serve a message that may need servers of its own."""
        try:
            if modern:
                relay = await self._modern_relay(person)
            else:
                relay = (session := await self._begin(message, person)).relay
        except TooManySessions as error:
            await send_error(send, 429, fault(message.id, TOO_MANY, str(error)))
            return
        await self._exchange(
            relay, message, receive, send, modern=modern, session=None if modern else session.id
        )

    async def _begin(self, message: Message, person: Person | None) -> Session:
        for session in self._sessions.over():
            self._sessions.remove(session)
            self._retire(session.relay)
        link = await self._connected(person)
        session = Session(lambda port: LegacyRelay(link, self._home, port, person), message, person)
        self._owners[session.relay] = person
        self._sessions.add(session)
        return session

    async def _connected(self, person: Person | None) -> Link:
        """Connect a person to the servers. A session that rests makes room; TooManySessions when none does.

        A session counts until its servers are gone. Otherwise one token could start processes without bound.
        """
        most = self._home.options.sessions
        while self._opening[person] + sum(each == person for each in self._owners.values()) >= most:
            if (resting := self._sessions.longest_resting(person)) is None:
                raise TooManySessions(
                    f"You have {most} sessions already, and all are in use. End one of your clients or answer what "
                    "waits for you; `gateway.sessions` in handraise.toml allows more."
                )
            self._sessions.remove(resting)
            await asyncio.shield(self._retire(resting.relay))
        self._opening[person] += 1
        try:
            return await self._open_link(person)
        finally:
            self._opening[person] -= 1

    async def _modern_relay(self, person: Person | None) -> Relay:
        """One relay for all of a person's requests without a session; they are told apart by their ids."""
        opening = self._modern.get(person)
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._modern[person] = asyncio.ensure_future(self._open_modern(person))
        return opening.result() if opening.done() else await asyncio.shield(opening)

    async def _open_modern(self, person: Person | None) -> Relay:
        relay = ModernRelay(await self._connected(person), self._home, _Nowhere(), person)
        self._owners[relay] = person
        return relay

    async def _exchange(
        self,
        relay: Relay,
        message: Message,
        receive: Receive,
        send: Send,
        *,
        modern: bool = False,
        session: str | None = None,
    ) -> None:
        if not message.is_request:
            relay.from_client(message)
            await reply(send, 202, b"", None)
            return
        exchange = Exchange(message)
        call = relay.from_client(message, exchange)
        assert call is not None
        if not await answer(exchange, receive, send, modern=modern, session=session) and modern:
            relay.withdraw(call)  # on 2026-07-28 leaving is cancelling

    async def _follow(
        self, headers: dict[bytes, str], receive: Receive, send: Send, person: Person | None
    ) -> None:
        """The stream on which a session hears what belongs to no request."""
        session = self._session(headers, person)
        if session is None or session.following:
            unknown = 404 if b"mcp-session-id" in headers else 405
            await reply(send, unknown if session is None else 409, b"", b"text/plain")
            return
        session.following = True
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await start_stream(send, None)
            await stream(session.stream, send, gone, None)
        finally:
            gone.cancel()
            session.following = False

    async def _delete(self, headers: dict[bytes, str], send: Send, person: Person | None) -> None:
        session = self._session(headers, person)
        await reply(send, 404 if session is None else 200, b"", None)
        if session is not None:
            self._sessions.remove(session)
            self._retire(session.relay)

    def _lost(self, relay: Relay) -> None:
        """A client's server is gone: whoever comes next gets a new one, and is not sent to the dead."""
        for session in self._sessions:
            if session.relay is relay:
                self._sessions.remove(session)
        for person, opening in list(self._modern.items()):
            if opening.done() and opening.exception() is None and opening.result() is relay:
                del self._modern[person]
        self._retire(relay)

    def _retire(self, relay: Relay) -> asyncio.Future[None]:
        retiring = asyncio.ensure_future(relay.retire())
        self._retiring[retiring] = relay
        retiring.add_done_callback(self._retired)
        return retiring

    def _retired(self, retiring: asyncio.Future[None]) -> None:
        relay = self._retiring.pop(retiring)
        self._owners.pop(relay, None)


def _is_modern(message: Message, headers: dict[bytes, str]) -> bool:
    """Whether a message is of 2026-07-28. A notice need not say so itself; its header does."""
    if message.is_notice:
        return is_modern(message) or headers.get(b"mcp-protocol-version") == MODERN
    return is_modern(message) and message.method != "initialize"


class _Nowhere:
    """Where messages go that belong to no request, when there is nowhere to send them."""

    def send(self, message: Message) -> None:
        pass
