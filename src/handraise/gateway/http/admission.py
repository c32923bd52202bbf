"""Check every request to a gateway over HTTP: its `Host`, its `Origin`, and whose it is.

The attacks: DNS rebinding (so there is a list of hosts), requests from web pages (`Origin`), tokens for another
audience, and the confused deputy (so the person's token is removed here).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any, Final

from handraise.access import AccessCheck
from handraise.errors import SetupError
from handraise.gateway.http.exchange import Receive, Scope, Send, reply
from handraise.gateway.http.server import PERSON
from handraise.gateway.people import Tokens
from handraise.questions import Person
from handraise.site.listener import CONNECTION

Application = Callable[[Scope, Receive, Send], Awaitable[None]]
_PATH: Final = "/mcp"
_METADATA: Final = "/.well-known/oauth-protected-resource"
_KEPT_BACK: Final = (b"authorization", b"cookie", b"proxy-authorization")
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


class Admission:
    """Passes a request to the gateway or the desk, or refuses it."""

    def __init__(
        self,
        app: Application,
        *,
        hosts: Collection[str],
        tokens: Tokens | None = None,
        origins: Collection[str] = (),
        issuer: str | None = None,
        resource: str = "",
        desk: Application | None = None,
        recheck: float | None = None,
    ) -> None:
        """Without `tokens` everybody counts as the user of this computer; use that on loopback only.

        With `recheck`, a request also ends as if its client left, at most so many seconds after its token stopped
        working. Clients without a token are told the `issuer`, and the `resource` that the token must be for.
        """
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)
        self._tokens = tokens
        self._issuer = issuer
        self._resource = resource
        self._desk = desk
        self._recheck = recheck

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if _values(scope, b"host") not in [[host] for host in self._hosts]:
            await reply(send, 421, b"The gateway does not answer under that name.\n", b"text/plain")
        elif scope["path"] == _PATH:
            await self._admit(scope, receive, send)
        elif self._issuer is not None and scope["path"] in (_METADATA, _METADATA + _PATH):
            told = {"resource": self._resource, "authorization_servers": [self._issuer]}
            await reply(send, 200, json.dumps(told).encode(), b"application/json")
        elif self._desk is not None:
            await self._desk(scope, receive, send)
        else:
            await reply(send, 404, b"There is nothing here.\n", b"text/plain")

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        origins = _values(scope, b"origin")
        if len(origins) > 1 or not self._origins.issuperset(origins):
            await reply(send, 403, b"Pages of other sites are not served.\n", b"text/plain")
            return
        person = await self._person(scope)
        if self._tokens is not None and person is None:
            await self._refuse(send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in _KEPT_BACK]
        admitted = {**scope, "headers": headers, PERSON: person}
        if self._recheck is None:
            await self._app(admitted, receive, send)
        else:
            await self._serve_while_known(scope, admitted, receive, send)

    async def _serve_while_known(self, scope: Scope, admitted: Scope, receive: Receive, send: Send) -> None:
        """Serve a request until it ends, or its person may no longer use the gateway.

        The attack: somebody who was removed keeps a stream open, and reads on.
        """
        over = started = complete = False

        async def receive_while_known() -> MutableMapping[str, Any]:
            nonlocal over
            receiving = asyncio.ensure_future(receive())
            try:
                while not over:
                    await asyncio.wait({receiving}, timeout=self._recheck)
                    if receiving.done():
                        return receiving.result()
                    over = await self._person(scope) != admitted[PERSON]
            finally:
                receiving.cancel()
            return {"type": "http.disconnect"}

        async def send_on(message: MutableMapping[str, Any]) -> None:
            nonlocal started, complete
            started = True
            complete = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await self._app(admitted, receive_while_known, send_on)
        if over and not started:
            await self._refuse(send)
        elif over and not complete:
            await send({"type": "http.response.body", "body": b""})

    async def _person(self, scope: Scope) -> Person | None:
        given = _values(scope, b"authorization")
        if self._tokens is None or len(given) != 1:
            return None
        kind, _, token = given[0].partition(" ")
        try:
            return await self._tokens.person(token.strip()) if kind.lower() == "bearer" and token else None
        except SetupError:
            return None

    async def _refuse(self, send: Send) -> None:
        told = "Bearer"
        if self._issuer is not None:
            base = self._resource.removesuffix(_PATH)
            told = f'Bearer resource_metadata="{base}{_METADATA}{_PATH}"'
        headers = [(b"www-authenticate", told.encode()), (b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"Come with a token of yours for this gateway.\n"})


class OwnUserOnly:
    """Serves programs of this user only, for a gateway that does not tell people apart.

    The attack: a loopback port is open to every user of the computer. Also, a client's shell must not answer the
    client's questions, so the desk refuses the process family of each client.

    Each connection is checked once, before its first request passes: finding its user takes milliseconds. The user of a
    socket does not change. A program that hands its socket on could as well pass messages on. A connection that was
    refused is checked again for each request.

    The attack: a web page has the person's browser fetch this address, and the browser would count as a client from
    then on and reach the desk no more. A page cannot post here, nor send the header of a session: its `Origin` would
    be refused.
    """

    def __init__(self, app: Application, access: AccessCheck) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        facts = scope.get(CONNECTION, {})
        if scope["method"] != "POST" and not _values(scope, b"mcp-session-id"):
            await reply(send, 405, b"", b"text/plain")
            return
        if facts.get(_OWN) is not True:
            facts[_OWN] = await asyncio.to_thread(self._is_own, scope)
        if facts[_OWN] is True:
            await self._app(scope, receive, send)
        else:
            await reply(send, 403, _NOT_THIS_USER, b"text/plain")

    def _is_own(self, scope: Scope) -> bool:
        client, server = scope.get("client"), scope.get("server")
        if client is None or server is None:
            return False
        return self._access.add_client_at(tuple(client), tuple(server))


_OWN: Final = "own user"
_NOT_THIS_USER: Final = (
    b"This gateway serves programs of the user who started it. "
    b"To serve others, start it with --people or --issuer.\n"
)


def loopback_hosts(port: int) -> frozenset[str]:
    """The loopback names with a port, as in a `Host` header."""
    return frozenset(f"{name}:{port}" for name in LOOPBACK)


def require_loopback(host: str) -> None:
    """SetupError unless the host is loopback: without tokens anybody could answer."""
    if host not in (*LOOPBACK, "::1"):
        raise SetupError(
            f"on {host} anybody could answer as you; tell people apart with --people or --issuer, or serve 127.0.0.1"
        )


def _values(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]
