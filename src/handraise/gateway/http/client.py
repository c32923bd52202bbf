"""The link to a server over streamable HTTP, on any revision.

`httpx2` makes the connections and honours the usual variables: HTTPS_PROXY and NO_PROXY for a forward proxy,
SSL_CERT_FILE and SSL_CERT_DIR for a private certificate authority.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import httpx2

from handraise.gateway.accounts.connecting import AccountConnector
from handraise.gateway.accounts.own_account import Challenge, OwnAccount, parse_challenge
from handraise.gateway.http.events import Event, Events
from handraise.gateway.http.headers import headers_for, mirrored_headers
from handraise.gateway.http.remote_session import RemoteSession
from handraise.gateway.json_text import LONGEST
from handraise.gateway.links import DirectLink, TaskSet
from handraise.gateway.messages import (
    CANCELLED,
    SERVER_FAULT,
    Id,
    Message,
    error_response,
    id_key,
    notice,
    request,
)
from handraise.gateway.peers import server_info_in
from handraise.gateway.reading import Unreadable, parse_off_loop
from handraise.gateway.upstreams import Source

logger = logging.getLogger(__name__)

TIMEOUT: Final = httpx2.Timeout(30.0, read=None, pool=None)
"""30 seconds to connect. A response may take as long as the call."""
LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=50, keepalive_expiry=60.0)
MOST_OPEN: Final = 1000
"""Messages that one server gets at once. Each has a connection of its own."""
_MOST_TOOLS: Final = 10_000
_WAYS_IN: Final = 3
"""Retries of a refused request: with a token from the vault, a renewed token, a new token."""
_ABOUT_US: Final = (401, 403, 407)
"""Statuses about the gateway's own access to the server. A client would think that the gateway refused it."""
_RETRY: Final = 1.0
_RETRIES: Final = 30
"""How often in a row the server's own stream may break off."""
LONGER: Final = 0.1
"""Seconds by which each pause before a stream is resumed is longer than the last one, while no event comes."""
_LONGEST_PAUSE: Final = 10.0
_FAILURES: Final = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
_PATIENCE: Final = 60.0
"""Seconds that a server has to begin a new session."""
_HELLO: Final = "handraise-hello"
_IN_HELLO: Final = ("protocolVersion", "capabilities", "clientInfo")
"""What we keep of a client's `initialize`. Its `_meta` may hold anything."""
_NOT_FOUND: Final = 404
_NO_METHOD: Final = -32601
_UNREACHED: Final = "The server could not be reached, or did not answer."
_NO_SESSION: Final = "The server does not know its session any more, and a new one could not be begun."


class TooLong(httpx2.HTTPError):
    """A response is over the size limit."""


class _Forgotten(Exception):
    """The server does not know the session any more, so it did nothing with the message."""

    def __init__(self, refusal: Message | None) -> None:
        super().__init__("the server forgot the session")
        self.refusal = refusal
        """The answer that the client gets if no new session begins."""


@dataclass(slots=True)
class _Stream:
    """Where to resume an event stream, and whether it answered its request."""

    last_id: str | None = None
    retry: float | None = None
    answered: bool = False
    vain: int = 0
    """How often it was resumed since its last event."""

    @property
    def pause(self) -> float:
        """Seconds until it is resumed. The attack: a server that ends each stream has us ask without end."""
        return max(self.retry or _RETRY, min(self.vain * LONGER, _LONGEST_PAUSE))


class HttpLink(DirectLink):
    """The link to a URL. Every message is one POST.

    When the server forgot its session, as after a restart, the next request begins a new one. The client does not
    notice, except that its calls in the old session end: what the server asked there is void.
    """

    def __init__(self, source: Source, own: OwnAccount | None = None) -> None:
        """`own`: the person's account, if the server wants one."""
        super().__init__(source)
        self._url = source.upstream.url or ""
        self._http = httpx2.AsyncClient(
            timeout=TIMEOUT, limits=LIMITS, headers={"accept-encoding": "identity"}
        )
        self._entry = None if own is None else AccountConnector(own, self)
        self._session = RemoteSession()
        self._version: str | None = None
        self._hello: Message | None = None
        """The request that begins a new session; None before the client's `initialize`."""
        self._greeted: Message | None = None
        """The server's response to it."""
        self._greeting: asyncio.Task[None] | None = None
        self._mirrored: dict[str, Any] = {}
        self._posting: dict[Id, asyncio.Task[None]] = {}
        self._outside: set[Id] = set()
        self._tasks = TaskSet()
        self._closed = False

    def send(self, message: Message) -> None:
        if self._closed:
            return  # a cancel may still come, and nobody would close its connection
        if len(self._tasks) >= MOST_OPEN:
            self._tell_busy(message)
            return
        if message.method == CANCELLED and not self._cancel(message):
            return
        if self._entry is not None and self._entry.takes(message):
            return
        if message.method is None:
            answer = self._session.own_answer(message)
            if answer is None:
                logger.info("an answer to a question of an earlier session was not passed on")
                return
            message = answer
        if message.method == "initialize":
            self._hello = _hello_like(message)
            if self._session.over:
                self._session = self._session.next()
        self._post_soon(message)
        if message.method == "notifications/initialized":
            self._session.following = self._tasks.run(self._follow(self._session))

    def _post_soon(self, message: Message) -> None:
        way: Callable[[Message], Awaitable[bool]] = self._post
        if not message.is_request:
            way = partial(self._tell, self._session)
        elif self._entry is not None and self._entry.is_round(message):
            way = self._go_in
        task = self._tasks.run(self._answered(message, way))
        if message.is_request:
            self._posting[id_key(message.id)] = task
            task.add_done_callback(partial(self._posted, id_key(message.id)))

    def _posted(self, id: Id, task: asyncio.Task[None]) -> None:
        if self._posting.get(id) is task:
            del self._posting[id]

    def _tell_busy(self, message: Message) -> None:
        """Drop a message. A request gets an error. The attack: a server asks without end and takes no answer."""
        name = self.source.upstream.name
        logger.warning("%s has %d messages under way; %s was dropped", name, MOST_OPEN, message.method)
        if message.is_request:
            text = "Too many messages to the server are under way."
            asyncio.get_running_loop().call_soon(self.deliver, error_response(message.id, SERVER_FAULT, text))

    def _cancel(self, message: Message) -> bool:
        """Cancel a request; whether the server must get the notice."""
        id = message.params.get("requestId", "")
        outside = id in self._outside
        if (task := self._posting.get(id)) is not None and (outside or self._version is None):
            task.cancel()  # on 2026-07-28 closing the stream is how a request is cancelled
        return self._version is not None and not outside

    async def aclose(self) -> None:
        self._closed = True
        await self._tasks.aclose()
        if not self._session.over:
            self._session.over = True
            await self._leave(self._session)
        await self._http.aclose()

    async def _leave(self, session: RemoteSession) -> None:
        """Tell the server that a session is over."""
        if session.id is None:
            return
        headers = await self._headers(None, session)
        try:
            await self._http.request("DELETE", self._url, headers=headers, timeout=2)
        except _FAILURES:
            logger.debug("the session could not be ended")

    async def _headers(self, message: Message | None, session: RemoteSession) -> list[tuple[bytes, bytes]]:
        begins = message is not None and message.method == "initialize"
        id, version = (None, None) if begins else (session.id, self._version)
        headers = headers_for(message, self.source.upstream.headers, id, version, self._mirrored)
        if self._entry is not None and (token := await self._entry.token()) is not None:
            headers.append((b"authorization", b"Bearer " + token.encode("latin-1", "replace")))
        return headers

    async def _answered(self, message: Message, way: Callable[[Message], Awaitable[bool]]) -> None:
        """Send a message by `way`. If that fails, a request still gets an answer."""
        answered = not message.is_request
        try:
            answered = await way(message) or answered
        except _FAILURES as error:
            logger.warning("%s cannot be reached: %r", self.source.upstream.name, error)
        except Exception:
            logger.exception("a request to %s failed", self.source.upstream.name)
        if not answered:
            self._deliver(error_response(message.id, SERVER_FAULT, _UNREACHED), None)

    async def _tell(self, session: RemoteSession, message: Message) -> bool:
        """Post a notice or an answer. It is for no other session than its own."""
        try:
            return session.over or await self._post_in(session, message)
        except _Forgotten:
            self._forget(session)
            return True

    async def _post(self, message: Message) -> bool:
        """Post a request; whether it was answered. If the server forgot the session, post it once more in a new one."""
        if message.method == "initialize":
            return await self._post_in(self._session, message)
        refusal = error_response(message.id, SERVER_FAULT, _NO_SESSION)
        refusal.status = _NOT_FOUND  # a client over HTTP may begin a session of its own then
        for _ in range(2):
            if not await self._has_session(message):
                break
            session = self._session
            try:
                return await self._post_in(session, message)
            except _Forgotten as forgotten:
                refusal = forgotten.refusal or refusal
                self._forget(session)
        self._deliver(refusal, message)
        return True

    async def _has_session(self, message: Message) -> bool:
        """Whether there is a session for a request. If necessary a new one begins: one for all requests that wait."""
        if self._session.over and self._greeting is None and self._hello is not None:
            self._greeting = self._tasks.run(self._greet(self._hello))
        if self._greeting is not None:
            with self._waiting_outside(message):
                await asyncio.wait({self._greeting})
        return not self._session.over

    async def _greet(self, hello: Message) -> None:
        """Begin a new session as the client began the first one. If that fails, the old one stays over."""
        session, self._greeted = self._session.next(), None
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._post_in(session, hello)
                greeted: Message | None = self._greeted
                result = (greeted.result if greeted is not None else None) or {}
                if result.get("protocolVersion") != self._version:
                    logger.warning("%s began no session of %s", self.source.upstream.name, self._version)
                    await self._leave(session)
                    return
                await self._post_in(session, notice("notifications/initialized", {}))
        except (*_FAILURES, _Forgotten, TimeoutError) as error:
            logger.warning("%s began no new session: %r", self.source.upstream.name, error)
            return
        finally:
            self._greeting = None
        logger.info("%s forgot its session; a new one began", self.source.upstream.name)
        self.source.claimed = server_info_in(result)
        self._session = session
        session.following = self._tasks.run(self._follow(session))

    def _forget(self, session: RemoteSession) -> None:
        """End what the server forgot: its streams, the calls that it worked on, and what it asked."""
        if session.over:
            return
        session.over = True
        if session.following is not None:
            session.following.cancel()
        for id in list(session.working):
            if (task := self._posting.get(id)) is not None:
                task.cancel()
            self._deliver_lost(id)
        for id in session.forget_open():
            cancel = notice(CANCELLED, {"requestId": id})
            cancel.lost = True
            self.deliver(cancel)

    def _deliver_lost(self, id: Id | None) -> None:
        """Answer a request that the server took, and will not answer any more."""
        message = error_response(id, SERVER_FAULT, _UNREACHED)
        message.lost = True
        self._deliver(message, None)

    async def _post_in(self, session: RemoteSession, message: Message) -> bool:
        """Post a message until the server lets it in; whether the request was answered."""
        ways = _WAYS_IN
        while True:
            headers = await self._headers(message, session)
            async with self._http.stream("POST", self._url, headers=headers, content=message.raw) as reply:
                wants = parse_challenge(reply.status_code, reply.headers.raw)
                if wants is None or self._entry is None or not ways:
                    return await self._take(reply, message, session)
            if not await self._meet(message, wants, headers):
                return True
            ways -= 1

    async def _meet(self, message: Message, challenge: Challenge, headers: list[tuple[bytes, bytes]]) -> bool:
        """Get the person's access; whether the message may be posted again."""
        assert self._entry is not None
        sent = dict(headers).get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ") or None
        with self._waiting_outside(message):
            return await self._entry.meet(message, challenge, sent)

    async def _go_in(self, message: Message) -> bool:
        """Handle the client's answer to the gateway's own question, then make the call."""
        assert self._entry is not None
        with self._waiting_outside(message):
            await self._entry.go_on(message)
        return True

    @contextmanager
    def _waiting_outside(self, message: Message) -> Iterator[None]:
        """Mark a request as unknown to the server while its person connects. The server gets no cancel for it."""
        id = id_key(message.id)
        self._outside.add(id)
        try:
            yield
        finally:
            self._outside.discard(id)

    async def _take(self, reply: httpx2.Response, message: Message, session: RemoteSession) -> bool:
        """Pass on the messages of a response; whether the request was answered."""
        begins = message.method == "initialize"
        if begins and "mcp-session-id" in reply.headers:
            session.id = reply.headers["mcp-session-id"]
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            return await self._take_events(reply, message, session)
        answer = await self._answer(await _whole(reply), message, reply.status_code)
        if answer is not None:
            answer.status = None if reply.status_code in _ABOUT_US else reply.status_code
        knows = answer is not None and answer.error.get("code") == _NO_METHOD
        if reply.status_code == _NOT_FOUND and session.id is not None and not begins and not knows:
            raise _Forgotten(answer)
        if answer is not None:
            self._deliver(answer, message)
        return True

    async def _answer(self, body: bytes, message: Message, status: int) -> Message | None:
        """The message in a response without a stream. A request gets its own response and nothing else."""
        told = f"The server answered with HTTP status {status}."
        try:
            answer = await parse_off_loop(body) if body.strip() else None
        except Unreadable as error:
            logger.warning("%s: %s", self.source.upstream.name, error)
            answer, told = None, f"{told} Its answer could not be read and was not passed on: {error}."
        if not message.is_request:
            return None
        if answer is not None and answer.method is None and answer.id == message.id:
            return answer
        return error_response(message.id, SERVER_FAULT, told)

    async def _take_events(self, reply: httpx2.Response, message: Message, session: RemoteSession) -> bool:
        """Pass on the events of a stream, resume it if it breaks; whether the request was answered."""
        stream = _Stream()
        with session.works_on(message):
            try:
                await self._read(reply, stream, message, session)
                while message.is_request and stream.last_id is not None and not stream.answered:
                    await asyncio.sleep(stream.pause)
                    if not await self._take_up(stream, message, session):
                        break
            except _FAILURES as error:
                logger.warning("a stream of %s broke off: %r", self.source.upstream.name, error)
        if message.is_request and not stream.answered:
            self._deliver_lost(message.id)
        return True

    async def _follow(self, session: RemoteSession) -> None:
        """Follow the server's own stream, if it offers one."""
        stream, failures = _Stream(), 0
        while failures < _RETRIES:
            try:
                if not await self._take_up(stream, None, session):
                    return
                failures = 0
            except _FAILURES:
                failures += 1
                logger.debug("the stream of %s broke off", self.source.upstream.name)
            await asyncio.sleep(stream.pause)

    async def _take_up(self, stream: _Stream, message: Message | None, session: RemoteSession) -> bool:
        """Resume a stream after its last event; False when the server offers none."""
        stream.vain += 1
        headers = [*await self._headers(None, session), (b"accept", b"text/event-stream")]
        if stream.last_id is not None:
            headers.append((b"last-event-id", stream.last_id.encode()))
        async with self._http.stream("GET", self._url, headers=headers) as reply:
            if reply.status_code != 200:
                return False
            await self._read(reply, stream, message, session)
        return True

    async def _read(
        self, reply: httpx2.Response, stream: _Stream, message: Message | None, session: RemoteSession
    ) -> None:
        """Pass on every event of a response. If it breaks off and can be resumed, that is its end."""
        events = Events()
        chunks = reply.aiter_raw()
        while (chunk := await self._chunk(chunks, stream)) is not None:
            for event in events.feed(chunk):
                stream.vain = 0
                stream.last_id, stream.retry = event.id or stream.last_id, event.retry or stream.retry
                stream.answered = await self._take_event(event, message, session) or stream.answered
            if events.size > LONGEST:
                raise TooLong(f"an event is longer than {LONGEST // 2**20} MiB")

    async def _chunk(self, chunks: AsyncIterator[bytes], stream: _Stream) -> bytes | None:
        """The next chunk of a stream; None at its end."""
        try:
            return await anext(chunks, None)
        except _FAILURES as error:
            if stream.last_id is None:
                raise
            logger.warning("a stream of %s broke off: %r", self.source.upstream.name, error)
            return None

    async def _take_event(self, event: Event, message: Message | None, session: RemoteSession) -> bool:
        """Pass on an event; whether it answers the request, readable or not."""
        if session.over or not event.data.strip():
            return False
        try:
            taken = await parse_off_loop(event.data)
        except Unreadable as error:
            self._refuse(error)
            return error.is_response and message is not None and error.id == message.id
        self._deliver(session.as_known(taken), message)
        return message is not None and taken.method is None and taken.id == message.id

    def _refuse(self, error: Unreadable) -> None:
        """Answer an unreadable message: the client gets an error for a response, the server for a request."""
        logger.warning("%s: %s", self.source.upstream.name, error)
        if error.is_response:
            self.deliver(error.replacement())
        elif error.is_request:
            self._post_soon(error.refusal())

    def _deliver(self, message: Message, about: Message | None) -> None:
        if about is not None and about is self._hello and message.method is None:
            self._greeted = message
            return
        if about is not None and about.is_request:
            message.about = about.id
            self._learn(message, about)
        self.deliver(message)

    def _learn(self, message: Message, about: Message) -> None:
        if about.method == "initialize" and message.id == about.id and message.result is not None:
            self._version = str(message.result.get("protocolVersion", ""))
        elif about.method == "tools/list" and b"x-mcp-header" in message.raw:
            self._mirrored.update(mirrored_headers(message.result or {}))
            for name in list(self._mirrored)[:-_MOST_TOOLS]:
                del self._mirrored[name]


def _hello_like(message: Message) -> Message:
    """An `initialize` with what the client's own says of it, for a new session."""
    known: dict[str, Any] = {name: message.params[name] for name in _IN_HELLO if name in message.params}
    return request(_HELLO, "initialize", known)


async def _whole(reply: httpx2.Response) -> bytes:
    """The body of a response. `TooLong` over the size limit."""
    parts, size = [], 0
    async for chunk in reply.aiter_raw():
        parts.append(chunk)
        size += len(chunk)
        if size > LONGEST:
            raise TooLong(f"the response is longer than {LONGEST // 2**20} MiB")
    return b"".join(parts)
