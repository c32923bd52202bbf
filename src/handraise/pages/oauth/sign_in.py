"""Signing in to pages through an authorization server, so that the browser's person is the MCP principal.

It opens only pages: a browser that signed in here has no access to the MCP server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from handraise.errors import AccountError, SetupError
from handraise.pages.identity import Browser, BrowserMatch, Browsers, new_browser, same_person
from handraise.pages.oauth.authorization import ConsentDenied, Departures, read_code, read_person, redeem
from handraise.pages.oauth.discovery import FromVariable, Registration, find_server, hidden
from handraise.pages.page import BrowserAtPage
from handraise.questions import Person
from handraise.site.middleware import Posted
from handraise.vault import Secret

logger = logging.getLogger(__name__)

_SCOPES: Final = ("openid",)
_PATIENCE: Final = 600.0
"""Seconds that a sign-in may take."""


@dataclass(frozen=True, slots=True)
class _Session:
    person: Person
    at: str
    until: float


class SignInAt:
    """Sign-in at the authorization server whose tokens the MCP server accepts.

        Pages(sign_in=SignInAt("https://id.example", client_id="notes-pages"))

    Register the redirect address `…/handraise/signed-in` there. The person is the ID token's `iss` and `sub`, and
    must be those of the access token with which the client came.
    """

    another_account: str | None = "another-account"

    def __init__(
        self,
        issuer: str,
        *,
        client_id: str,
        client_secret: Secret | FromVariable | str | None = None,
        lasts: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lasts`: seconds that a browser stays signed in."""
        self._registration = Registration(client_id, hidden(client_secret), issuer)
        self._lasts = lasts
        self._clock = clock
        self._url = ""
        self._browsers = Browsers(lambda: self._url, "signed-in")
        self._departures = Departures(clock, _PATIENCE)
        self._sessions: dict[str, _Session] = {}
        self.routes: Sequence[BaseRoute] = (
            Route("/signed-in", self._back),
            Route(f"/{self.another_account}", self._switch),
        )

    async def see(self, sitting: BrowserAtPage) -> BrowserMatch:
        self._url = sitting.back
        wanted = sitting.visit.person
        if wanted.issuer != self._registration.issuer:
            raise SetupError(
                f"the client's token is from {wanted.issuer!r}, and pages sign in at {self._registration.issuer!r}"
            )
        session = self._session(self._browsers.meet(sitting.request))
        if session is None:
            return "nobody"
        return "them" if same_person(session.person, wanted) else "another"

    async def invite(self, sitting: BrowserAtPage) -> Response:
        return await self._send(self._browsers.meet(sitting.request), sitting.at)

    async def enter(self, sitting: BrowserAtPage, posted: Posted) -> Response | None:
        return None

    async def _send(self, browser: Browser, at: str, **more: str) -> Response:
        """Redirect to the sign-in. The same browser must come back."""
        try:
            server = await find_server(self._registration)
        except AccountError as error:
            logger.warning("nobody can sign in: %s", error)
            raise HTTPException(503, NOT_NOW) from None
        departure = self._departures.leave(browser.name, server, urljoin(self._url, "signed-in"), at)
        url = departure.url(self._registration.client_id, _SCOPES, more)
        response = RedirectResponse(url, 303)
        return self._browsers.give_cookie(response, browser) if browser.is_new else response

    async def _back(self, request: Request) -> Response:
        state = request.query_params.get("state", "")
        if (left := self._departures.find(state)) is None:
            raise HTTPException(404, NOTHING)
        if not left.is_of(self._browsers.meet(request).name):
            raise HTTPException(403, ELSEWHERE)  # login CSRF; and nothing is used up
        self._departures.use(left)
        try:
            server = await find_server(self._registration)
            departure = left.request(server, urljoin(self._url, "signed-in"), state)
            code = read_code(departure, request.url)
            grant = await redeem(self._registration, departure, code, _SCOPES)
            person = await read_person(grant, departure, self._registration.client_id)
        except ConsentDenied:
            raise HTTPException(403, NOBODY) from None
        except AccountError as error:
            logger.warning("signing in did not work: %s", error)
            raise HTTPException(403, NOT_NOW) from None
        own = new_browser()  # session fixation: others may know the old cookie
        now = self._clock()
        self._sessions = {name: one for name, one in self._sessions.items() if now < one.until}
        self._sessions[own.name] = _Session(person, left.at, now + self._lasts)
        return self._browsers.give_cookie(RedirectResponse(left.at, 303), own)

    async def _switch(self, request: Request) -> Response:
        """Sign in with another account."""
        browser = self._browsers.meet(request)
        session = self._session(browser)
        if session is None:
            raise HTTPException(404, NOTHING)
        del self._sessions[browser.name]
        return await self._send(browser, session.at, prompt="select_account")

    def _session(self, browser: Browser) -> _Session | None:
        found = self._sessions.get(browser.name)
        return found if found is not None and self._clock() < found.until else None


NOTHING: Final = "This way back was used before, or took too long. Open the link from your client again."
ELSEWHERE: Final = (
    "Somebody began to sign in with another browser, so that nothing was changed in this one. Open the link from your "
    "client again, in this browser."
)
NOBODY: Final = (
    "You did not sign in, and nothing was changed. Open the link from your client again when you want to."
)
NOT_NOW: Final = "Signing in did not work, and nothing was changed. Open the link from your client again."
