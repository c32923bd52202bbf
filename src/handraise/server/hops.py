"""One request on its way to the node that has its session: carried there as it is, and the response carried back."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Final

import httpx2

from handraise.conversation.sessions import Sessions

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

HOP: Final = b"handraise-hop"
"""The header by which a node knows that another one sent a request on. Such a request goes no further."""

_FRESH = 60.0
"""For how long the proof in that header is good, in seconds."""
_MOST = 4_096
"""How many requests may be on their way to other nodes at once."""
_PATIENCE = {"connect": 2.0, "read": None, "write": 30.0, "pool": 5.0}
_TRIES = 3
_PAUSE = 0.2
_OURS: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
"""Headers that are about one connection, not about what goes over it."""


class NobodyThere(Exception):
    """Nothing listens where the node of a session should be: it is gone, and its sessions with it."""


class OutOfReach(Exception):
    """The node of a session could not be reached in time."""


class Hops:
    """Carries requests to other nodes, each with a proof that a node sends it."""

    def __init__(self, sessions: Sessions, now: Callable[[], float]) -> None:
        self._sessions = sessions
        self._now = now
        limits = httpx2.Limits(max_connections=_MOST, max_keepalive_connections=64)
        self._transport = httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)

    async def is_proven(self, proof: str, scope: Scope, address: str | None) -> bool:
        """Whether another node sent this very request on to this one, just now."""
        when, _, signed = proof.partition(".")
        try:
            signature = base64.urlsafe_b64decode(signed)
            if address is None or abs(self._now() - float(when)) > _FRESH:
                return False
        except (ValueError, binascii.Error):
            return False
        return await self._sessions.is_signed(_claim(when, scope, address), signature)

    async def carry(
        self,
        address: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        lives: Callable[[], Awaitable[bool]],
    ) -> None:
        """Carry one request there and its response back, as it comes, while the client and the node are there.

        `lives` returns now and then, with whether the node does. Raises `NobodyThere` or `OutOfReach` when there is
        no response.
        """
        body, started = _Body(receive, scope), False

        async def answer(event: Message) -> None:
            nonlocal started
            started = True
            await send(event)

        carried = asyncio.create_task(self._carry(address, scope, body, answer))
        left, gone = asyncio.create_task(body.left()), asyncio.create_task(_gone(lives))
        tasks: tuple[asyncio.Task[None], ...] = (carried, left, gone)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not carried.cancelled():
            carried.result()
        elif not gone.cancelled() and not started:
            raise NobodyThere("its lease is over")

    async def _carry(self, address: str, scope: Scope, body: _Body, send: Send) -> None:
        response = await self._reach(await self._request(address, scope, body))
        try:
            await _relay(response, send)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._transport.aclose()

    async def _request(self, address: str, scope: Scope, body: _Body) -> httpx2.Request:
        when = f"{self._now():.0f}"
        proof = base64.urlsafe_b64encode(await self._sessions.sign(_claim(when, scope, address)))
        headers = [(name, value) for name, value in scope["headers"] if name not in _OURS and name != HOP]
        headers.append((HOP, when.encode() + b"." + proof))
        return httpx2.Request(
            scope["method"],
            address + _target(scope),
            headers=headers,
            content=body.parts() if body.is_there else None,
            extensions={"timeout": _PATIENCE},
        )

    async def _reach(self, request: httpx2.Request) -> httpx2.Response:
        """Try again only while nothing was sent: an answer must not arrive twice, nor be given up too soon."""
        for attempt in range(1, _TRIES + 1):
            try:
                return await self._transport.handle_async_request(request)
            except httpx2.ConnectError as error:
                if attempt == _TRIES:
                    raise (NobodyThere if _was_refused(error) else OutOfReach)(str(error)) from error
            except httpx2.TransportError as error:
                raise OutOfReach(str(error) or type(error).__name__) from error
            await asyncio.sleep(_PAUSE)
        raise AssertionError


class _Body:
    """The body of a request as it comes in, and afterwards the client that may leave."""

    def __init__(self, receive: Receive, scope: Scope) -> None:
        self._receive = receive
        self._read = asyncio.Event()
        self.is_there = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        if not self.is_there:
            self._read.set()

    async def parts(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise httpx2.ReadError("the client left")
            yield event.get("body", b"")
            more = event.get("more_body", False)
        self._read.set()

    async def left(self) -> None:
        """Wait until the client is gone."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _relay(response: httpx2.Response, send: Send) -> None:
    headers = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _OURS]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    try:
        async for part in response.aiter_raw():
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except httpx2.TransportError as error:
        logger.warning("the node of a session went away in the middle of a response: %s", error)
        if any(name == b"content-length" for name, _ in headers):
            return  # the connection is cut, so that nobody takes a part for the whole
    await send({"type": "http.response.body", "body": b""})


async def _gone(lives: Callable[[], Awaitable[bool]]) -> None:
    """A machine that lost its power closes no connection: its lease tells."""
    while await lives():
        pass


def _was_refused(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ConnectionRefusedError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _target(scope: Scope) -> str:
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string", b"")
    return str((path + b"?" + query if query else path).decode("ascii"))


def _claim(when: str, scope: Scope, address: str) -> str:
    """What a proof is about: this request, to this node, now."""
    return json.dumps(["hop", when, scope["method"], _target(scope), address])
