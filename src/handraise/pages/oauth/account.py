"""An account that people can connect, its form in the vault, and the page that leads to its service.

The page names the purpose and the asking server first.
"""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from handraise.errors import AccountError, SetupError
from handraise.issuers import ANYWHERE, AllowedAddresses, host_of, parse_networks
from handraise.pages.oauth.authorization import (
    AuthorizationRequest,
    ConsentDenied,
    Grant,
    GrantOver,
    Token,
    read_code,
    redeem,
    renew,
    revoke,
)
from handraise.pages.oauth.discovery import (
    OWN_PARAMETERS,
    Endpoints,
    FromVariable,
    Registration,
    find_server,
    hidden,
)
from handraise.pages.page import Brand, BrowserAtPage
from handraise.questions import Accepted, Declined
from handraise.site.middleware import Posted
from handraise.vault import Secret

_SERVICE: Final = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class Account:
    """A service at which people have accounts, for `ask.connect`.

        github = Account("GitHub", "Iv1.8a61f9b3a7aba766", issuer="https://github.com/login/oauth",
                         client_secret=FromVariable("GITHUB_SECRET"), scopes={"repo": "Read and write your code"})

    Ask for the fewest scopes. A mapping says in plain words what each one allows.
    """

    name: str
    """The service's name for people."""
    client_id: str
    issuer: str | None = None
    """The issuer, which publishes its metadata (RFC 8414, OpenID Connect Discovery)."""
    scopes: Sequence[str] | Mapping[str, str] = ()
    client_secret: Secret | FromVariable | str | None = field(default=None, repr=False)
    endpoints: Endpoints | None = None
    """For a server without metadata."""
    service: str = ""
    """Its name in the vault and in the redirect address: the `name` in small letters, when absent."""
    logo: bytes | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Further parameters of the authorization request, like `access_type=offline`."""
    resource: str | None = None
    """The resource of the tokens (RFC 8707), if the service needs it."""
    reach: AllowedAddresses = field(default=ANYWHERE, repr=False)

    def __post_init__(self) -> None:
        if not self.service:
            object.__setattr__(self, "service", re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-"))
        if not _SERVICE.fullmatch(self.service):
            raise SetupError(
                f"an account's service is small letters, digits and hyphens, not {self.service!r}"
            )
        for scope in self.scopes:
            if not _SCOPE.fullmatch(scope):
                raise SetupError(f"{scope!r} is no scope; give each one by itself")
        if taken := OWN_PARAMETERS & set(self.parameters):
            raise SetupError(f"parameters cannot set {', '.join(sorted(taken))}")
        Brand(logo=self.logo)
        _ = self.registration

    @property
    def registration(self) -> Registration:
        """This server as a client of the service."""
        return Registration(
            self.client_id,
            hidden(self.client_secret),
            self.issuer,
            self.endpoints,
            self.resource,
            self.reach,
        )

    @property
    def wishes(self) -> tuple[tuple[str, str], ...]:
        """The scopes, each with its meaning in plain words, if any."""
        if isinstance(self.scopes, Mapping):
            return tuple(self.scopes.items())
        return tuple((scope, "") for scope in self.scopes)


_KIND = "oauth"


def dump_grant(account: Account, grant: Grant) -> dict[str, Any]:
    """A grant for the vault, with its registration but without the client secret."""
    secret = account.client_secret
    return {
        "kind": _KIND,
        **_grant_context(account),
        "asked": sorted(account.scopes),
        "client_secret": None if secret is None else getattr(secret, "name", ""),
        "access_token": grant.access_token.reveal(),
        "refresh_token": None if grant.refresh_token is None else grant.refresh_token.reveal(),
        "expires_at": grant.expires_at,
        "scopes": sorted(grant.scopes),
    }


def parse_stored_grant(contents: Mapping[str, Any], account: Account | None = None) -> Grant | None:
    """The stored grant; None if it is not a grant for this account and all its scopes."""
    if contents.get("kind") != _KIND:
        return None
    if account is not None:
        context = _grant_context(account)
        if {name: contents.get(name) for name in context} != context:
            return None
        if not set(account.scopes) <= set(contents["asked"]):
            return None
    refresh = contents["refresh_token"]
    return Grant(
        Secret(contents["access_token"]),
        None if refresh is None else Secret(refresh),
        contents["expires_at"],
        frozenset(contents["scopes"]),
    )


async def revoke_stored_grant(contents: Mapping[str, Any]) -> bool:
    """Revoke a stored grant at the service; False if it is not a grant, or the service cannot revoke."""
    if (grant := parse_stored_grant(contents)) is None:
        return False
    secret, endpoints = contents["client_secret"], contents["endpoints"]
    if secret == "":
        raise AccountError(
            "the client secret is in the server's own program: give it FromVariable(…), or revoke it at the service"
        )
    registration = Registration(
        contents["client_id"],
        None if secret is None else FromVariable(secret),
        contents["issuer"],
        None if endpoints is None else Endpoints(**endpoints),
        contents.get("resource"),
        _reach(contents.get("named_by")),
    )
    return await revoke(registration, await find_server(registration), grant)


def _reach(named_by: Mapping[str, Any] | None) -> AllowedAddresses:
    """Allowed addresses: any for an author's own service, else those allowed for the server that named it."""
    if named_by is None:
        return ANYWHERE
    return AllowedAddresses(True, parse_networks(named_by["networks"]), named_by["server"])


def _grant_context(account: Account) -> dict[str, Any]:
    """The registration of a grant. A grant is valid for no other."""
    endpoints = None if account.endpoints is None else asdict(account.endpoints)
    context = {"issuer": account.issuer, "endpoints": endpoints, "client_id": account.client_id}
    return context if account.resource is None else {**context, "resource": account.resource}


logger = logging.getLogger(__name__)

_EARLY: Final = 60.0
"""A token is renewed this many seconds before it expires."""
_MOST_BROWSERS: Final = 100


@dataclass(eq=False, slots=True)
class ConnectPage:
    """Asks a person to connect their account at a service, for one question."""

    account: Account
    keep_for: float | None = None
    clock: Callable[[], float] = time.time
    register: Callable[[], Awaitable[Account]] | None = field(default=None, repr=False)
    """Returns the account with a client id when the person goes to the service. Nothing is posted there before."""
    _tickets: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False)
    """The browsers that saw the page, with the host it named. Only they are sent on, and only to that host."""
    _departure: AuthorizationRequest | None = field(default=None, repr=False)
    """The last request to the service. Returns from earlier ones are refused."""

    @property
    def title(self) -> str:
        return f"Connect your {self.account.name} account"

    @property
    def service(self) -> str:
        return self.account.service

    @property
    def message(self) -> str:
        return (
            f"{self.title}: this server's own page shows what for and leads you on to {self.account.name}, "
            "where you sign in. Nothing of it passes through this client."
        )

    async def show(self, sitting: BrowserAtPage) -> Response:
        return await self._page(sitting)

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response:
        return await self._page(sitting)

    async def step(self, sitting: BrowserAtPage, name: str) -> Response | Accepted[Token] | Declined | None:
        match name:
            case "logo" if self.account.logo is not None:
                return Response(self.account.logo, media_type=Brand(logo=self.account.logo).logo_type)
            case "go":
                return await self._go(sitting)
            case "back":
                return await self._back(sitting)
        return None

    async def _go(self, sitting: BrowserAtPage) -> Response:
        """Send the browser to the service after it saw the page. A foreign link leads to the page first."""
        ticket, shown = self._tickets.get(sitting.browser, ("", ""))
        given = sitting.request.query_params.get("ticket", "")
        if not ticket or not hmac.compare_digest(ticket.encode(), given.encode()):
            return RedirectResponse(sitting.at, 303)
        try:
            server = await find_server(self.account.registration)
            if host_of(server.authorization_endpoint) != shown:
                return RedirectResponse(sitting.at, 303)
            if self.register is not None:
                self.account, self.register = await self.register(), None
        except AccountError as error:
            return await self._failed(sitting, error)
        self._departure = AuthorizationRequest(sitting.browser, server, f"{sitting.back}/{self.service}")
        sitting.visit.expects = self._departure.state
        more = {**self.account.parameters, **self.account.registration.indicator}
        url = self._departure.url(self.account.client_id, tuple(self.account.scopes), more)
        return RedirectResponse(url, 303)

    async def _back(self, sitting: BrowserAtPage) -> Response | Accepted[Token] | Declined:
        departure = self._departure
        if departure is None or not departure.is_of(sitting.browser):
            raise HTTPException(403, ELSEWHERE)  # and nothing is used up
        self._departure = sitting.visit.expects = None
        try:
            code = read_code(departure, sitting.request.url)
            grant = await redeem(self.account.registration, departure, code, self.account.scopes)
        except ConsentDenied:
            return Declined()
        except AccountError as error:
            return await self._failed(sitting, error)
        return Accepted(Token(grant))

    async def _failed(self, sitting: BrowserAtPage, error: AccountError) -> Response:
        logger.warning("connecting %s did not work: %s", self.service, error)
        return await self._page(sitting, 502, sitting.language("connect_failed", name=self.account.name))

    async def _page(self, sitting: BrowserAtPage, status: int = 200, problem: str | None = None) -> Response:
        """The page. It names the host of the authorization endpoint, where the password will be typed.

        It may differ from the issuer's host. While it is unknown, the issuer's host is named, and nobody is sent to
        another one.
        """
        while len(self._tickets) >= _MOST_BROWSERS:
            self._tickets.pop(next(iter(self._tickets)))
        registration = self.account.registration
        try:
            host = host_of((await find_server(registration)).authorization_endpoint)
        except AccountError:
            host = registration.host
        known = self._tickets.get(sitting.browser)
        ticket = secrets.token_urlsafe(24) if known is None else known[0]
        self._tickets[sitting.browser] = ticket, host
        return sitting.render(
            "connect.html",
            status,
            account=self.account,
            host=host,
            issuer=registration.host,
            href=f"{sitting.at}/go?ticket={ticket}",
            problem=problem,
        )

    def dump(self, result: Token) -> Mapping[str, Any]:
        return dump_grant(self.account, result.grant)

    async def recall(self, contents: Mapping[str, Any]) -> Token | None:
        """The token, renewed if it expires soon; None when the person must connect again."""
        grant = parse_stored_grant(contents, self.account)
        if grant is not None and grant.expires_at is not None and self.clock() >= grant.expires_at - _EARLY:
            grant = await self._renewed(grant)
        return None if grant is None else Token(grant)

    async def _renewed(self, grant: Grant) -> Grant | None:
        if grant.refresh_token is None:
            return None
        registration = self.account.registration
        try:
            return await renew(registration, await find_server(registration), grant)
        except GrantOver:
            return None


ELSEWHERE: Final = (
    "This way back belongs to another browser, or was used before, so that nothing was changed. Open the link from "
    "your client again, in this browser."
)
