"""Serve several people over HTTP: the gateway at /mcp, and their desk on the same address."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Network, IPv6Network
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from handraise.desks.gate import PolicyGate
from handraise.errors import SetupError
from handraise.gateway.accounts.accounts import Accounts
from handraise.gateway.accounts.hosting import SharedPages
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.http.admission import Admission
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.http.serving import Ready, listen, serve_until_told
from handraise.gateway.local_desk import open_question_handler
from handraise.gateway.options import Options
from handraise.gateway.people import IssuedTokens, PeopleFile, Tokens
from handraise.gateway.servers import ServerSet
from handraise.gateway.shared_desk import DeskSignIn, SharedDesk
from handraise.gateway.state import GatewayState, habits_file
from handraise.issuers import AllowedAddresses
from handraise.pages.oauth.discovery import FromVariable, Registration
from handraise.policy import load_policy

SECRET: Final = "HANDRAISE_DESK_SECRET"  # noqa: S105 - the name of a variable
"""The variable with the client secret of the desk at the issuer, if it has one."""
PATH: Final = "/mcp"
_RECHECK: Final = 5.0
"""Seconds after which the open requests of a removed person end."""
ACCOUNTS: Final = "/accounts"
"""The path of the pages where people connect accounts."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How people are identified: by a file of people, or by an issuer."""

    public_url: str
    """The URL of the gateway for people and clients, without a path."""
    people: PeopleFile | None = None
    issuer: str | None = None
    desk_client: str | None = None
    """The desk's client id at the issuer."""
    unsafe_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """Private networks where authorization servers may be."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        local = parts.scheme == "http" and (parts.hostname or "") in ("127.0.0.1", "localhost", "::1")
        if (parts.scheme != "https" and not local) or not parts.netloc or parts.path or parts.query:
            raise SetupError("a public URL is https, with a host and without a path")
        if (self.people is None) == (self.issuer is None):
            raise SetupError("people are told apart by a file of them or by an issuer; give one of the two")

    @property
    def resource(self) -> str:
        """The audience of tokens."""
        return self.public_url + PATH

    @property
    def tokens(self) -> Tokens:
        if self.people is not None:
            return self.people
        assert self.issuer is not None
        return IssuedTokens(self.issuer, self.resource, self.reach)

    @property
    def reach(self) -> AllowedAddresses:
        """Addresses that authorization servers may have: a server must not make us call a private address."""
        return AllowedAddresses(public_only=True, unsafe_networks=self.unsafe_networks)


class SharedGateway:
    """The whole application: admission, gateway, desk, and the pages for accounts."""

    def __init__(
        self,
        state: GatewayState,
        asking: QuestionHandler,
        servers: ServerSet,
        sharing: Sharing,
        tokens: Tokens | None = None,
    ) -> None:
        url = sharing.public_url
        desk = SharedDesk(asking.queue, url, people=sharing.people, earlier=asking.earlier)
        self._accounts = Accounts(state, public_url=url, reach=sharing.reach)
        pages = SharedPages(self._accounts.settle, url + ACCOUNTS, desk.sessions)
        self._accounts.share(pages)
        self._gateway = HttpGateway(state, partial(servers.connect, self._accounts), PATH)
        beside = [Mount(ACCOUNTS, pages.app), Mount("/", desk.app(_ways_in(desk, sharing)))]
        self.app = Admission(
            self._gateway,
            hosts={urlsplit(url).netloc},
            tokens=tokens or sharing.tokens,
            origins={url},
            issuer=sharing.issuer,
            resource=sharing.resource,
            desk=Starlette(routes=beside),
            recheck=None if sharing.people is None else _RECHECK,
        )

    async def aclose(self) -> None:
        """Disconnect all servers."""
        await self._gateway.aclose()
        await self._accounts.aclose()


def _ways_in(desk: SharedDesk, sharing: Sharing) -> list[BaseRoute]:
    if sharing.issuer is None or sharing.desk_client is None:
        return []
    secret = FromVariable(SECRET) if os.environ.get(SECRET) else None
    registration = Registration(sharing.desk_client, secret, sharing.issuer, reach=sharing.reach)
    return DeskSignIn(registration, desk.sessions, sharing.public_url).routes


async def serve_shared(
    servers: ServerSet, options: Options, host: str, port: int, sharing: Sharing, ready: Ready
) -> int:
    """Serve people over streamable HTTP until a signal."""
    listening = listen(host, port)
    where = f"they open it at {sharing.public_url}/ in their browser"
    gate = PolicyGate(load_policy(), shared=True)
    asking = await open_question_handler(gate, options)  # without the desk for this computer's user

    async def opened() -> QuestionHandler:
        return asking

    options = replace(options, where=where, inbox=f"open {sharing.public_url}/")
    state = GatewayState(options, opened, habits=ClientHabits(habits_file(os.environ)))
    shared = SharedGateway(state, asking, servers, sharing)
    try:
        await serve_until_told(shared.app, listening, state, ready)
    finally:
        await shared.aclose()
        await state.aclose()
        await asking.aclose()
    return 0
