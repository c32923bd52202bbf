"""Serve several people over HTTP: the gateway at /mcp, their desk beside it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from handraise.desks import Queue
from handraise.desks.gate import PolicyGate
from handraise.errors import SetupError
from handraise.gateway.asking import Asking
from handraise.gateway.home import Home
from handraise.gateway.http_server import HttpGateway
from handraise.gateway.links import Link
from handraise.gateway.options import Options
from handraise.gateway.shared.admission import Admission
from handraise.gateway.shared.desk import SharedDesk
from handraise.gateway.shared.issued import IssuedTokens
from handraise.gateway.shared.people_file import PeopleFile
from handraise.gateway.shared.tokens import Tokens
from handraise.gateway.taking_over import Keeper
from handraise.ledger.home import own_ledger, policy_version
from handraise.policy import load_policy
from handraise.stores.named import own_or_named_store

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

SECRET: Final = "HANDRAISE_DESK_SECRET"
"""The variable that holds the secret of the desk's own registration at the issuer, where it has one."""
PATH: Final = "/mcp"


@dataclass(frozen=True, slots=True)
class Sharing:
    """How people are told apart: by a file of people, or by an issuer."""

    public_url: str
    """Where people and their clients find the gateway, without a path."""
    people: PeopleFile | None = None
    issuer: str | None = None
    desk_client: str | None = None
    """The desk's own client id at the issuer."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        local = parts.scheme == "http" and (parts.hostname or "") in ("127.0.0.1", "localhost", "::1")
        if (parts.scheme != "https" and not local) or not parts.netloc or parts.path or parts.query:
            raise SetupError("a public URL is https, with a host and without a path")
        if (self.people is None) == (self.issuer is None):
            raise SetupError("people are told apart by a file of them or by an issuer; give one of the two")

    @property
    def resource(self) -> str:
        """What tokens have to be for."""
        return self.public_url + PATH

    @property
    def tokens(self) -> Tokens:
        """What tells people by their tokens."""
        if self.people is not None:
            return self.people
        assert self.issuer is not None
        return IssuedTokens(self.issuer, self.resource)


def shared_app(
    gateway: HttpGateway, queue: Queue, sharing: Sharing, tokens: Tokens | None = None
) -> Admission:
    """The application: the gateway behind its admission, and the desk."""
    desk = SharedDesk(queue, sharing.public_url, people=sharing.people)
    return Admission(
        gateway,
        hosts={urlsplit(sharing.public_url).netloc},
        tokens=tokens or sharing.tokens,
        origins={sharing.public_url},
        issuer=sharing.issuer,
        resource=sharing.resource,
        desk=desk.app(_ways_in(desk, sharing)),
    )


def _ways_in(desk: SharedDesk, sharing: Sharing) -> list[BaseRoute]:
    if sharing.issuer is None or sharing.desk_client is None:
        return []
    from handraise.gateway.shared.sign_in import DeskSignIn
    from handraise.pages.oauth.registration import FromVariable, Registration, hidden

    secret = hidden(FromVariable(SECRET)) if os.environ.get(SECRET) else None
    registration = Registration(sharing.desk_client, secret, sharing.issuer)
    return DeskSignIn(registration, desk.sessions, sharing.public_url).routes


async def serve_shared(
    open_link: Callable[[], Awaitable[Link]], options: Options, host: str, port: int, sharing: Sharing
) -> int:
    """Serve people over streamable HTTP until we are told to end."""
    import uvicorn

    where = f"they open it at {sharing.public_url}/ in their browser"
    asking = await open_shared_asking(options)

    async def opened() -> Asking:
        return asking

    home = Home(replace(options, where=where), opened)
    gateway = HttpGateway(home, open_link, PATH)
    config = uvicorn.Config(
        shared_app(gateway, asking.queue, sharing),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,  # sign-in links are addresses
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    try:
        await uvicorn.Server(config).serve()
    finally:
        await gateway.aclose()
        await home.aclose()
        await asking.aclose()
    return 0


async def open_shared_asking(options: Options) -> Asking:
    """What decides about everybody's questions: the operator's policy and ledger, and no way in from a terminal."""
    policy = load_policy()
    opened = AsyncExitStack()
    ledger = own_ledger(policy.settings)
    if ledger is not None:
        await ledger.start()
        opened.push_async_callback(ledger.aclose)
    store = own_or_named_store(options.store)
    opened.push_async_callback(store.aclose)
    return Asking(
        Queue(),
        PolicyGate(policy),
        timeout=options.wait,
        ledger=ledger,
        policy_version=policy_version(policy.settings),
        keeper=Keeper(store.tickets),
        opened=opened,
    )
