"""The ASGI application for clients over streamable HTTP, on any revision, and their sessions."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from handraise.errors import SetupError
from handraise.gateway.http.exchange import (
    Exchange,
    Receive,
    Scope,
    Send,
    answer,
    read_body,
    reply,
    send_error,
)
from handraise.gateway.http.headers import mismatch
from handraise.gateway.legacy import LegacyRelay
from handraise.gateway.links import Link
from handraise.gateway.messages import CANCELLED, SERVER_FAULT, Message, error_response
from handraise.gateway.modern import ModernRelay
from handraise.gateway.peers import MODERN, is_modern
from handraise.gateway.reading import Unreadable, parse_off_loop
from handraise.gateway.relay import Relay
from handraise.gateway.state import GatewayState
from handraise.questions import Person

logger = logging.getLogger(__name__)

IDLE: Final = 3600.0
"""Seconds after which an unused session ends. Few clients end their sessions themselves."""
SWEEP: Final = 60.0
"""Seconds between two searches for such sessions."""


class Session:
    """A relay with its own servers: for a client's session, or for a person's requests of 2026-07-28, without an id."""

    def __init__(
        self, relay: Relay, person: Person | None, id: str | None = None, stream: Exchange | None = None
    ) -> None:
        self.relay = relay
        self.person = person
        self.id = id
        self.stream = stream
        """For messages that belong to no request."""
        self.following = False
        self.used = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Whether its client follows the stream, or somebody waits for something."""
        return self.following or self.relay.is_busy


class Sessions:
    """All sessions. Each has its own connections to servers, or processes."""

    def __init__(self) -> None:
        self._all: dict[tuple[str | None, Person | None], Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def add(self, session: Session) -> None:
        self._all[session.id, session.person] = session

    def find(self, id: str | None, person: Person | None) -> Session | None:
        """This person's session with this id: the id alone is not enough."""
        session = self._all.get((id, person))
        if session is not None:
            session.used = time.monotonic()
        return session

    def remove(self, session: Session) -> None:
        self._all.pop((session.id, session.person), None)

    def over(self) -> list[Session]:
        """The sessions that were idle for too long."""
        return [each for each in self._resting() if time.monotonic() - each.used >= IDLE]

    def longest_resting(self, person: Person | None) -> Session | None:
        """The person's session that is idle for longest; None when all are busy."""
        return next((each for each in self._resting() if each.person == person), None)

    def _resting(self) -> list[Session]:
        return sorted((each for each in self if not each.is_busy), key=lambda each: each.used)


MOST_REQUESTS: Final = 256
"""How many open requests one person may have."""
MOST_ROOM: Final = 32 * 1024 * 1024
"""Bytes of all messages of one person that are being read, or whose call is open."""
LEAST_ROOM: Final = 16 * 1024
"""Bytes that the smallest message counts."""
NOT_STARTED: Final = (
    "The servers behind the gateway could not be started. The reason is in the gateway's log."
)
HEADER_MISMATCH: Final = -32020
TOO_MANY: Final = -32000
PERSON: Final = "handraise.person"
"""The key in the ASGI scope for the person that `Admission` verified."""


class TooMuch(Exception):
    """A person has too many bytes of messages under way."""


class _Room:
    """The room that one message takes, until it is answered or nothing refers to it any more.

    The attack: many calls with 16 MiB each fill the memory. Parked calls stay open, and on older revisions those whose
    client hung up. So the number of requests bounds nothing.
    """

    def __init__(self, taken: Counter[Person | None], person: Person | None) -> None:
        self._taken = taken
        self._person = person
        self._size = 0

    def take(self, size: int) -> None:
        self._size += size
        self._taken[self._person] += size
        if self._taken[self._person] > MOST_ROOM:
            raise TooMuch(f"Your open requests have more than {MOST_ROOM // 2**20} MiB already.")

    def free(self) -> None:
        self._taken[self._person] -= self._size
        self._size = 0
        self._taken += Counter()  # removes zero counts

    __del__ = free


class TooManySessions(Exception):
    """A person has the maximum of sessions, and all are busy."""


class HttpGateway:
    """The application. `connect` connects a person to the servers; every session gets its own processes."""

    def __init__(
        self, state: GatewayState, connect: Callable[[Person | None], Awaitable[Link]], path: str = "/mcp"
    ) -> None:
        self._state = state
        self._connect = connect
        self._path = path
        self._sessions = Sessions()
        self._sweep: asyncio.TimerHandle | None = None
        self._opening_modern: dict[Person | None, asyncio.Future[None]] = {}
        self._retiring: dict[asyncio.Future[None], Session] = {}
        self._opening: Counter[Person | None] = Counter()
        self._requests: Counter[Person | None] = Counter()
        """The number of open requests of each person."""
        self._room: Counter[Person | None] = Counter()
        """The bytes of each person's messages that are being read, or whose call is open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] != self._path:
            await reply(send, 404, b"There is nothing here.\n", b"text/plain")
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        person: Person | None = scope.get(PERSON)
        if self._requests[person] >= MOST_REQUESTS:  # one token must not block the gateway for others
            text = f"You have {MOST_REQUESTS} requests under way already."
            await send_error(send, 429, error_response(None, TOO_MANY, text))
            return
        self._requests[person] += 1
        try:
            await self._take(scope["method"], headers, receive, send, person)
        finally:
            self._requests[person] -= 1
            self._requests += Counter()  # removes zero counts

    async def _take(
        self, method: str, headers: dict[bytes, str], receive: Receive, send: Send, person: Person | None
    ) -> None:
        match method:
            case "POST":
                await self._post(headers, receive, send, person)
            case "GET":
                await self._follow(headers, receive, send, person)
            case "DELETE":
                await self._delete(headers, send, person)
            case _:
                await reply(send, 405, b"", b"text/plain")

    async def aclose(self) -> None:
        """Disconnect all servers."""
        if self._sweep is not None:
            self._sweep.cancel()
        retiring = list(self._retiring.values())
        for each in list(self._retiring):
            each.cancel()
        await asyncio.gather(*self._opening_modern.values(), return_exceptions=True)
        for session in (*self._sessions, *retiring):
            self._sessions.remove(session)
            await session.relay.aclose()

    async def _post(
        self, headers: dict[bytes, str], receive: Receive, send: Send, person: Person | None
    ) -> None:
        status, room = 413, _Room(self._room, person)
        try:
            room.take(LEAST_ROOM)
            body = await read_body(receive, room.take)
            status = 400
            message = await parse_off_loop(body)
        except TooMuch as error:
            await send_error(send, 429, error_response(None, TOO_MANY, str(error)))
            return
        except Unreadable as error:
            logger.warning("a message of a client was not passed on: %s", error)
            if error.is_response and (session := self._session(headers, person)) is not None:
                session.relay.from_client(error.replacement())  # the server gets an error instead
            await send_error(send, status, error.refusal())
            return
        modern = _is_modern(message, headers)
        message.room = room
        if modern and message.is_request and (name := mismatch(message, headers)) is not None:
            text = f"The header {name} does not match the body."
            await send_error(send, 400, error_response(message.id, HEADER_MISMATCH, text))
        elif modern and message.method == CANCELLED:
            # Leaving is cancelling. The id in the notice may be that of a call of another client of this person.
            await reply(send, 202, b"", None)
        elif modern or message.method == "initialize":
            await self._serve(message, receive, send, person, modern=modern)
        elif (session := self._session(headers, person)) is None:
            status = 404 if b"mcp-session-id" in headers else 400
            await send_error(
                send, status, error_response(message.id, -32600, "There is no such session; begin a new one.")
            )
        else:
            await self._exchange(session, message, receive, send)

    def _session(self, headers: dict[bytes, str], person: Person | None) -> Session | None:
        return self._sessions.find(headers.get(b"mcp-session-id", ""), person)

    async def _serve(
        self, message: Message, receive: Receive, send: Send, person: Person | None, *, modern: bool
    ) -> None:
        """Serve a message for which servers may have to be started."""
        try:
            session = await (self._modern(person) if modern else self._begin(message, person))
        except TooManySessions as error:
            await send_error(send, 429, error_response(message.id, TOO_MANY, str(error)))
        except SetupError as error:
            logger.error("the servers cannot be started: %s", error)
            await send_error(send, 500, error_response(message.id, SERVER_FAULT, NOT_STARTED))
        else:
            await self._exchange(session, message, receive, send, modern=modern)

    async def _begin(self, message: Message, person: Person | None) -> Session:
        link, stream = await self._connected(person), Exchange(message)
        relay = LegacyRelay(link, self._state, stream, person)
        return self._keep(Session(relay, person, secrets.token_urlsafe(24), stream))

    def _keep(self, session: Session) -> Session:
        session.relay.on_lost = self._lost
        self._sessions.add(session)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP, self._end_idle)
        return session

    def _end_idle(self) -> None:
        """End the sessions that were idle for too long, now and again while there are any."""
        for session in self._sessions.over():
            self._end(session)
        again = asyncio.get_running_loop().call_later
        self._sweep = again(SWEEP, self._end_idle) if self._sessions else None

    def _end(self, session: Session) -> asyncio.Future[None]:
        self._sessions.remove(session)
        retiring = asyncio.ensure_future(session.relay.retire())
        self._retiring[retiring] = session
        retiring.add_done_callback(self._retiring.pop)
        return retiring

    async def _connected(self, person: Person | None) -> Link:
        """Connect a person to the servers. At the limit an idle session ends; TooManySessions when none is idle.

        A session counts until its servers are gone. Otherwise one token could start any number of processes.
        """
        most = self._state.options.sessions
        while self._number(person) >= most:
            if (resting := self._sessions.longest_resting(person)) is None:
                raise TooManySessions(
                    f"You have {most} sessions already, and all are in use. End one of your clients or answer what "
                    "waits for you; `gateway.sessions` in handraise.toml allows more."
                )
            await asyncio.shield(self._end(resting))
        self._opening[person] += 1
        try:
            return await self._connect(person)
        finally:
            self._opening[person] -= 1

    def _number(self, person: Person | None) -> int:
        """The number of the person's sessions, with those that begin or end just now."""
        known = [each.person for each in (*self._sessions, *self._retiring.values())]
        return self._opening[person] + known.count(person)

    async def _modern(self, person: Person | None) -> Session:
        """The one session for all of a person's requests of 2026-07-28."""
        while (
            session := self._sessions.find(None, person)
        ) is None:  # a new one may end before our turn comes
            if (opening := self._opening_modern.get(person)) is None:
                opening = self._opening_modern[person] = asyncio.ensure_future(self._open_modern(person))
                opening.add_done_callback(lambda _: self._opening_modern.pop(person))
            await asyncio.shield(opening)
        return session

    async def _open_modern(self, person: Person | None) -> None:
        self._keep(
            Session(ModernRelay(await self._connected(person), self._state, _NullPort(), person), person)
        )

    async def _exchange(
        self,
        session: Session,
        message: Message,
        receive: Receive,
        send: Send,
        *,
        modern: bool = False,
    ) -> None:
        exchange = Exchange(message)
        try:
            call = session.relay.from_client(message, exchange if message.is_request else None)
        except Exception:
            logger.exception("a message of a client could not be handled")
            text = "The gateway could not handle this message."
            await send_error(send, 500, error_response(message.id, SERVER_FAULT, text))
            return
        if call is None:
            await reply(send, 202, b"", None)
            return
        begun = session.id if message.method == "initialize" else None
        if await answer(exchange, receive, send, modern=modern, session=begun):
            if call.parked is None and isinstance(message.room, _Room):
                message.room.free()
        else:
            exchange.left = call.left = True
            if modern:
                session.relay.withdraw(call)  # on 2026-07-28 leaving is cancelling
        session.used = time.monotonic()

    async def _follow(
        self, headers: dict[bytes, str], receive: Receive, send: Send, person: Person | None
    ) -> None:
        """Serve the stream for messages that belong to no request."""
        session = self._session(headers, person)
        if session is None or session.stream is None or session.following:
            unknown = 404 if b"mcp-session-id" in headers else 405
            await reply(send, unknown if session is None else 409, b"", b"text/plain")
            return
        session.following = True
        try:
            await answer(session.stream, receive, send, stream=True)
        finally:
            session.following = False
            session.used = time.monotonic()

    async def _delete(self, headers: dict[bytes, str], send: Send, person: Person | None) -> None:
        session = self._session(headers, person)
        await reply(send, 404 if session is None else 200, b"", None)
        if session is not None:
            self._end(session)

    def _lost(self, relay: Relay) -> None:
        """Forget a relay whose server is gone, so that the next request starts a new one."""
        for session in self._sessions:
            if session.relay is relay:
                self._end(session)


def _is_modern(message: Message, headers: dict[bytes, str]) -> bool:
    """Whether a message is of 2026-07-28. For a notice the header may say so."""
    if message.is_notice:
        return is_modern(message) or headers.get(b"mcp-protocol-version") == MODERN
    return is_modern(message) and message.method != "initialize"


class _NullPort:
    """Drops messages that belong to no request: a client without a session has no stream for them."""

    def send(self, message: Message) -> None:
        pass
