"""One person's account at one server: its token, and how the person connects it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from handraise.errors import HandraiseError
from handraise.gateway.upstreams import OwnClient, Upstream
from handraise.questions import Accepted, Answer, Person, UrlQuestion

if TYPE_CHECKING:
    from handraise.gateway.accounts.accounts import Accounts
    from handraise.gateway.asking import QuestionHandler
    from handraise.issuers import AllowedAddresses
    from handraise.pages.oauth import Account
    from handraise.pages.oauth.authorization import Grant

logger = logging.getLogger(__name__)

_PARAMETER: Final = re.compile(r'([A-Za-z_]{1,40})=(?:"([^"\\]{0,2000})"|([^\s,"]{1,2000}))')
_LONGEST: Final = 8192
_MOST_SCOPES: Final = 50


@dataclass(frozen=True, slots=True)
class Challenge:
    """The server's demand for a token."""

    metadata_url: str | None = None
    """The URL of its protected-resource metadata."""
    scopes: tuple[str, ...] = ()
    wants_more: bool = False
    """The token is valid, but lacks a scope."""


def parse_challenge(status: int, headers: Iterable[tuple[bytes, bytes]]) -> Challenge | None:
    """The challenge in a response; None when there is none."""
    if status not in (401, 403):
        return None
    told = [value for name, value in headers if name.lower() == b"www-authenticate"]
    text = next((value for value in told if value[:7].lower() == b"bearer "), b"")[:_LONGEST]
    known = {
        name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(text.decode("latin-1"))
    }
    wants_more = known.get("error") == "insufficient_scope"
    if status == 403 and not wants_more:
        return None
    return Challenge(
        known.get("resource_metadata"), tuple(known.get("scope", "").split()[:_MOST_SCOPES]), wants_more
    )


_NOT_YET: Final = OwnClient("not-yet-registered")
"""A placeholder: the gateway registers when the person goes to the authorization server."""
_EARLY: Final = 10.0
"""A token is renewed this many seconds before it expires."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """An open page, and the question that leads to it."""

    question: UrlQuestion
    ended: asyncio.Future[Answer[Any]]


class OwnAccount:
    """The account. All sessions of a person at a server share one."""

    def __init__(self, accounts: Accounts, upstream: Upstream, person: Person) -> None:
        self.upstream = upstream
        self.person = person
        self.accounts = accounts
        self.asker = accounts.asker_for(upstream)
        """The asker of the questions about this account."""
        self._grant: Grant | None = None
        self._asking: asyncio.Future[Answer[Any] | None] | None = None
        self._lock = asyncio.Lock()

    @property
    def service(self) -> str:
        """Its name in the vault: the server's name and a digest of its URL."""
        named = re.sub(r"[^a-z0-9]+", "-", self.upstream.name.lower()).strip("-")[:40]
        return f"{named or 'server'}-{hashlib.sha256(str(self.upstream.url).encode()).hexdigest()[:12]}"

    async def token(self) -> str | None:
        """The token for the next request, renewed if it expires soon; None while there is none."""
        if self._grant is not None and _ends_soon(self._grant):
            await self._renew()
        return None if self._grant is None else self._grant.access_token.reveal()

    async def _renew(self) -> None:
        async with self._lock:
            if self._grant is not None and _ends_soon(self._grant):  # not renewed by another task meanwhile
                self._grant = await self._kept()

    async def recall(self, sent: str | None, challenge: Challenge) -> bool:
        """Replace a refused token: by that of another call, the one in the vault, or a renewed one."""
        async with self._lock:
            now = None if self._grant is None else self._grant.access_token.reveal()
            if now is None or now == sent:
                self._grant = None if challenge.wants_more else await self._kept(refused=sent)
            return self._grant is not None

    @property
    def reach(self) -> AllowedAddresses:
        return self.accounts.reach(self.upstream)

    async def invite(self, challenge: Challenge, because_of: str) -> Invitation:
        """Open a page on which the person connects the account.

        We fetch the metadata of the server and its authorization server, to say where the person will sign in. We post
        nothing before the person continues from the page, not even the gateway's registration.
        """
        from handraise.gateway.accounts.authority import RegisteredAt, find_authority, find_protection
        from handraise.pages.oauth import ConnectPage

        protection = await find_protection(str(self.upstream.url), challenge, self.reach)
        server = await find_authority(protection.issuer, self.reach)
        assert server.issuer is not None
        issuer, resource = server.issuer, protection.resource
        scopes = self.upstream.oauth.scopes if self.upstream.oauth is not None else ()
        wanted = tuple(dict.fromkeys([*await self._asked_before(challenge), *(scopes or protection.scopes)]))
        client = self.upstream.oauth
        if client is not None:
            page = ConnectPage(self._account(issuer, client, wanted, resource))
            return await self.accounts.invite(self, page, server.authorization_endpoint, because_of)
        back = f"{await self.accounts.pages(self.upstream).open()}/back/{self.service}"
        place, vault = RegisteredAt(server, back, wanted), await self.accounts.vault()
        known = await place.find(vault)
        place.require_open(known)

        async def registered() -> Account:
            client = known or await place.register(vault, self.reach)
            return self._account(issuer, client, wanted, resource)

        page = ConnectPage(self._account(issuer, known or _NOT_YET, wanted, resource), register=registered)
        return await self.accounts.invite(self, page, server.authorization_endpoint, because_of)

    def ask_at_desk(self, invitation: Invitation) -> asyncio.Future[Answer[Any] | None]:
        """Ask the person at our desk; once, however many requests wait."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._connect_at_desk(invitation))
        return self._asking

    async def _connect_at_desk(self, invitation: Invitation) -> Answer[Any] | None:
        """The outcome: connected, or the person's no; None when they did not finish, or nobody can be asked."""
        try:
            asking = await self.accounts.state.asking()
        except HandraiseError as error:
            logger.warning("nobody can be asked to connect an account: %s", error)
            return None
        deciding = asyncio.ensure_future(self._decide(invitation, asking))
        both: set[asyncio.Future[Any]] = {invitation.ended, deciding}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            deciding.cancel()
            await asyncio.gather(deciding, return_exceptions=True)
        return invitation.ended.result() if invitation.ended.done() else deciding.result()

    async def _decide(self, invitation: Invitation, asking: QuestionHandler) -> Answer[Any] | None:
        """The person's answer at the desk: no, or None after they were in their browser."""
        from handraise.gateway.asking import Asker
        from handraise.revisions import Revision

        asker = Asker(self.asker, self.person)
        decision = await asking.decide(invitation.question, Revision.NOVEMBER_2025, asker, [])
        if isinstance(decision.answer, Accepted):
            await asking.wait_in_browser(invitation.question, asker, [])
            return None
        self.accounts.withdraw(self, invitation, decision.answer)
        return decision.answer

    async def aclose(self) -> None:
        """Withdraw the question at our desk."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def connected(self, grant: Grant) -> None:
        """Use the token that the person just connected."""
        self._grant = grant

    def dump(self, account: Account, grant: Grant) -> Mapping[str, Any]:
        """The contents for the vault, with the client secret of a registration that we made."""
        from handraise.pages.oauth.account import dump_grant
        from handraise.vault import Secret

        secret = account.client_secret
        mine = secret.reveal() if isinstance(secret, Secret) and self.upstream.oauth is None else None
        networks = [str(network) for network in self.reach.unsafe_networks]
        named_by = {"server": self.reach.own, "networks": networks}
        return {**dump_grant(account, grant), "registered_secret": mine, "named_by": named_by}

    async def _asked_before(self, challenge: Challenge) -> list[str]:
        """The scopes that the person agreed to before, if the server wants more."""
        if not challenge.wants_more:
            return []
        kept = await (await self.accounts.vault()).find(self.person, self.service)
        return [] if kept is None else [str(scope) for scope in kept.get("asked", ())]

    async def _kept(self, refused: str | None = None) -> Grant | None:
        """The person's grant from the vault, renewed if necessary; None when they must connect again.

        Another process may renew it at the same time, and then has the only valid refresh token. So we look twice.
        """
        vault = await self.accounts.vault()
        kept = await vault.find(self.person, self.service)
        grant = await self._renewed(kept, refused)
        if grant is None and kept is not None:
            latest = await vault.find(self.person, self.service)
            grant = await self._renewed(latest, refused) if latest != kept else None
        return grant

    async def _renewed(self, kept: Mapping[str, Any] | None, refused: str | None) -> Grant | None:
        account = self._account_kept(kept)
        if kept is None or account is None:
            return None
        from handraise.pages.oauth.account import parse_stored_grant
        from handraise.pages.oauth.authorization import GrantOver, renew
        from handraise.pages.oauth.discovery import find_server

        grant = parse_stored_grant(kept, account)
        if grant is None or not (_ends_soon(grant) or grant.access_token.reveal() == refused):
            return grant
        if grant.refresh_token is None:
            return None
        try:
            grant = await renew(account.registration, await find_server(account.registration), grant)
        except GrantOver:
            return None
        await (await self.accounts.vault()).keep(self.person, self.service, self.dump(account, grant))
        return grant

    def _account_kept(self, kept: Mapping[str, Any] | None) -> Account | None:
        """The account of what the vault has."""
        if kept is None or kept.get("kind") != "oauth":
            return None
        client = self.upstream.oauth or OwnClient(kept["client_id"], kept.get("registered_secret"))
        return self._account(str(kept["issuer"]), client, tuple(kept["asked"]), str(kept.get("resource")))

    def _account(self, issuer: str, client: OwnClient, scopes: tuple[str, ...], resource: str) -> Account:
        from handraise.pages.oauth import Account

        return Account(
            self.upstream.name,
            client.id,
            issuer,
            scopes,
            client.secret,
            service=self.service,
            resource=resource,
            reach=self.reach,
        )


def _ends_soon(grant: Grant) -> bool:
    return grant.expires_at is not None and time.time() >= grant.expires_at - _EARLY
