"""The page for connecting an account. It names the purpose and the asking server, then leads to the service."""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from handraise.errors import AccountError
from handraise.issuers import host_of
from handraise.pages.brand import Brand
from handraise.pages.oauth.account import Account, dump_grant, parse_stored_grant
from handraise.pages.oauth.authorization import AuthorizationRequest, ConsentDenied, read_code
from handraise.pages.oauth.discovery import find_server
from handraise.pages.oauth.grants import Grant, GrantOver, Token, redeem, renew
from handraise.pages.page import BrowserAtPage
from handraise.questions import Accepted, Declined
from handraise.site.middleware import Posted

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
