"""Signing in to the desk at the authorization server whose tokens the gateway takes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from handraise.desks.web.sessions import Sessions
from handraise.errors import AccountError
from handraise.pages.browsers import new_browser
from handraise.pages.oauth.departure import Departure, read_code
from handraise.pages.oauth.discovery import find_server
from handraise.pages.oauth.grants import redeem
from handraise.pages.oauth.id_token import read_person
from handraise.pages.oauth.registration import Registration

logger = logging.getLogger(__name__)

_COOKIE: Final = "__Host-handraise-leaving"
_SCOPES: Final = ("openid",)
_PATIENCE: Final = 600.0
_MOST: Final = 1000
_NOT_NOW: Final = "Signing in did not work, and nothing was changed. Open the desk again."


class DeskSignIn:
    """The way out to the issuer and back. Register `…/entered` there as the redirect address."""

    def __init__(
        self,
        registration: Registration,
        sessions: Sessions,
        public_url: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registration = registration
        self._sessions = sessions
        self._public_url = public_url
        self._clock = clock
        self._leaving: dict[str, tuple[Departure, float]] = {}
        self.routes: list[BaseRoute] = [Route("/", self._leave), Route("/entered", self._back)]

    async def _leave(self, request: Request) -> Response:
        browser = new_browser()
        try:
            server = await find_server(self._registration)
        except AccountError as error:
            logger.warning("nobody can sign in: %s", error)
            raise HTTPException(503, _NOT_NOW) from None
        departure = Departure(browser.name, server, f"{self._public_url}/entered")
        now = self._clock()
        self._leaving = {state: one for state, one in self._leaving.items() if one[1] > now}
        while len(self._leaving) >= _MOST:
            self._leaving.pop(next(iter(self._leaving)))
        self._leaving[departure.state] = departure, now + _PATIENCE
        response = RedirectResponse(departure.url(self._registration.client_id, _SCOPES), 303)
        response.set_cookie(_COOKIE, browser.name, path="/", secure=True, httponly=True, samesite="lax")
        return response

    async def _back(self, request: Request) -> Response:
        departure, until = self._leaving.get(request.query_params.get("state", ""), (None, 0.0))
        if (
            departure is None
            or self._clock() >= until
            or not departure.is_of(request.cookies.get(_COOKIE, ""))
        ):
            raise HTTPException(403, _NOT_NOW)  # login CSRF: only the browser that left may come back
        del self._leaving[departure.state]
        try:
            code = read_code(departure, request.url)
            grant = await redeem(self._registration, departure, code, _SCOPES)
            person = await read_person(
                grant, departure, self._registration.client_id, self._registration.reach
            )
        except AccountError as error:
            logger.warning("signing in did not work: %s", error)
            raise HTTPException(403, _NOT_NOW) from None
        return RedirectResponse(f"/sign-in/{self._sessions.invite(person)}", 303)
