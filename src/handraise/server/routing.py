"""Legacy sessions behind a load balancer: every request of a session reaches the node that has it.

On 2025-06-18 and 2025-11-25 a session lives in one process. A request for it that arrives at another node is carried
to its own, once; where nodes cannot reach each other, answers and notifications go by the store. A session
whose node is gone is answered with 404, at which its client starts anew (streamable HTTP, session management).
"""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio

from handraise.conversation.sessions import Residence
from handraise.errors import SetupError, StoreError
from handraise.server.hops import HOP, Hops, NobodyThere, OutOfReach
from handraise.server.letters import deliver, write_letter
from handraise.server.residents import Residents, SharedStore

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

_SESSION: Final = b"mcp-session-id"
_LONGEST_ID = 256
_LOOK_AGAIN = 10.0
"""How often it is looked up, while a response is on its way, whether the session's node still lives."""


def require_node_url(url: str) -> str:
    """The address of one node for the others, without a slash at its end. SetupError when it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SetupError("node_url is where the other nodes reach this one, like http://10.0.0.5:8000")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise SetupError("node_url is an address without a path: the path of each request is kept")
    return f"{parts.scheme}://{parts.netloc.lower()}"


class RoutedApp:
    """An application that is one node of several: what comes for a session of another one is brought there."""

    def __init__(self, app: ASGIApp, store: SharedStore, address: str | None) -> None:
        self._app = app
        self._store = store
        self._residents = Residents(store, address, partial(deliver, app))
        self._hops = Hops(store.sessions, store.now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
            return
        await self._app(scope, partial(self._leave_first, receive), send)

    async def _leave_first(self, receive: Receive) -> Message:
        """Have the other nodes know that this one stops before it does."""
        event = await receive()
        if event["type"] == "lifespan.shutdown":
            await self._residents.close()
            await self._hops.aclose()
        return event

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        session, proof = _header(scope, _SESSION), _header(scope, HOP)
        if proof is not None and not await self._hops.is_proven(proof, scope, self._residents.address):
            await _refuse(send, 403, "This request claims to come from a node of this server, and does not")
        elif session is None:
            await self._app(scope, receive, self._admitting(send))
        elif proof is not None or session in self._residents or len(session) > _LONGEST_ID:
            await self._serve_here(session, scope, receive, send)
        else:
            await self._find(session, scope, receive, send)

    async def _find(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            elsewhere = await self._residents.find(session)
        except StoreError as error:
            logger.error("a session could not be looked up: %s", error)
            await _refuse(send, 503, "The sessions of this server cannot be looked up now; try again")
            return
        if elsewhere is None:
            await self._app(scope, receive, send)  # which knows no such session, and says so
        elif elsewhere.address is None:
            await self._write(elsewhere.node, scope, receive, send)
        else:
            await self._carry(session, elsewhere, elsewhere.address, scope, receive, send)

    async def _serve_here(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        ended = False

        async def watch(event: Message) -> None:
            nonlocal ended
            if event["type"] == "http.response.start":
                ended = scope["method"] == "DELETE" and event["status"] < 400
            await send(event)

        if session in self._residents:
            await self._residents.use(session)
        await self._app(scope, receive, watch)
        if ended:
            await self._residents.dismiss(session)

    def _admitting(self, send: Send) -> Send:
        """Note a session that begins here before its client learns of it."""
        refused = False

        async def admit(event: Message) -> None:
            nonlocal refused
            session = _header(event, _SESSION) if event["type"] == "http.response.start" else None
            if session is not None and event["status"] < 400:
                try:
                    await self._residents.admit(session)
                except StoreError as error:
                    logger.error("a session could not be noted: %s", error)
                    refused = True
                    await _refuse(send, 503, "No session can begin now; try again")
            if not refused:
                await send(event)

        return admit

    async def _carry(
        self, session: str, to: Residence, address: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            await self._hops.carry(address, scope, receive, send, partial(self._lives, session, to))
        except NobodyThere:
            await _refuse(send, 404, "Session not found: its node is gone")
        except OutOfReach as error:
            logger.error("the node of a session cannot be reached at %s: %s", address, error)
            await _refuse(send, 503, "The node of this session cannot be reached now; try again")

    async def _lives(self, session: str, at: Residence) -> bool:
        await anyio.sleep(_LOOK_AGAIN)
        try:
            return await self._residents.find(session) == at
        except StoreError:
            return True  # the store is away, not the node

    async def _write(self, node: str, scope: Scope, receive: Receive, send: Send) -> None:
        letter = await write_letter(scope, receive, node=node, now=self._store.now())
        if letter is None:
            await _refuse(
                send, 503, "This session is on another node, which has no node_url to be reached at"
            )
            return
        try:
            await self._store.sessions.post(letter)
        except StoreError as error:
            logger.error("a message could not be left in the store: %s", error)
            await _refuse(send, 503, "This message could not be kept safely; send it again")
            return
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, status: int, why: str) -> None:
    """A JSON-RPC error without an id, as the transport itself refuses."""
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": why}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _header(message: Scope | Message, name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in message["headers"] if key.lower() == name), None)
