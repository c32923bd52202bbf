"""The web desk of a shared gateway: people sign in and see only their own questions."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from handraise.desks import Queue
from handraise.desks.endings import Earlier
from handraise.desks.passkeys import PasskeyFile, Passkeys
from handraise.desks.web.passkeys import PasskeyAnswers
from handraise.desks.web.sessions import DeskSessions, PasskeyTask
from handraise.desks.web.site import Site
from handraise.errors import AccountError
from handraise.gateway.people import PeopleFile, person_named
from handraise.pages.identity import new_browser
from handraise.pages.oauth.authorization import Departures, read_code, read_person, redeem
from handraise.pages.oauth.discovery import Metadata, Registration, find_server
from handraise.questions import Person
from handraise.site.middleware import SameSiteMiddleware

LIFE: Final = 600.0


def make_invitation(people: PeopleFile, name: str, now: float, *, passkey: bool = False) -> str:
    """The last part of a person's sign-in link. With `passkey` the link also lets them add a passkey."""
    purpose = "passkey" if passkey else "desk"
    told = f"{name}\n{now:.3f}\n{secrets.token_hex(16)}\n{purpose}".encode()
    return base64.urlsafe_b64encode(_signature(people.key, told) + told).decode().rstrip("=")


class Invitations:
    """Checks sign-in links. Each works once. A link older than this process is refused: it may have been used."""

    def __init__(self, people: PeopleFile, now: Callable[[], float] = time.time) -> None:
        self._people = people
        self._now = now
        self._since = now()
        self._used: dict[str, tuple[str, float]] = {}

    def admit(self, word: str, invite: Callable[[Person, bool], str]) -> str | None:
        """The sign-in ticket for a link, the same one each time; None when the link is invalid.

        `invite` makes a ticket for a person; its second argument says whether they may add a passkey.
        """
        self._used = {each: used for each, used in self._used.items() if used[1] > self._now()}
        if word in self._used:
            return self._used[word][0]
        read = self._read(word)
        if read is None:
            return None
        name, made, passkey = read
        self._used[word] = (invite(person_named(name), passkey), made + LIFE)
        return self._used[word][0]

    def _read(self, word: str) -> tuple[str, float, bool] | None:
        try:
            raw = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
            canonical = base64.urlsafe_b64encode(raw).decode().rstrip("=") == word
        except ValueError:
            return None
        signature, told = raw[:32], raw[32:]
        if not canonical or not hmac.compare_digest(signature, _signature(self._people.key, told)):
            return None
        name, made, _, purpose = told.decode().split("\n")
        fresh = self._since <= float(made) <= self._now() < float(made) + LIFE
        return (name, float(made), purpose == "passkey") if fresh and self._people.has(name) else None


def _signature(key: bytes, told: bytes) -> bytes:
    return hmac.digest(key, b"handraise desk invitation\n" + told, hashlib.sha256)


logger = logging.getLogger(__name__)

_COOKIE: Final = "__Host-handraise-leaving"
_SCOPES: Final = ("openid",)
_PATIENCE: Final = 600.0
ASK_AGAIN: Final = 10.0
"""Seconds after which an issuer that did not answer is asked again."""
_NOT_NOW: Final = "Signing in did not work, and nothing was changed. Open the desk again."


class DeskSignIn:
    """Sign-in through the issuer. Register `…/entered` there as the redirect address."""

    def __init__(
        self,
        registration: Registration,
        sessions: DeskSessions,
        public_url: str,
    ) -> None:
        self._registration = registration
        self._sessions = sessions
        self._public_url = public_url
        self._departures = Departures(time.monotonic, _PATIENCE)
        self._looking = asyncio.Lock()
        self._silent_until = float("-inf")
        self.routes: list[BaseRoute] = [Route("/", self._leave), Route("/entered", self._back)]

    async def _server(self) -> Metadata:
        """The issuer's metadata. One that does not answer is not asked again for a while.

        The attack: nobody has to be known to open the desk, and each request to it would be one to the issuer.
        """
        async with self._looking:
            if time.monotonic() < self._silent_until:
                raise AccountError(f"{self._registration.issuer} did not answer a moment ago")
            try:
                return await find_server(self._registration)
            except AccountError:
                self._silent_until = time.monotonic() + ASK_AGAIN
                raise

    async def _leave(self, request: Request) -> Response:
        browser = new_browser()
        try:
            server = await self._server()
        except AccountError as error:
            logger.warning("nobody can sign in: %s", error)
            raise HTTPException(503, _NOT_NOW) from None
        departure = self._departures.leave(browser.name, server, f"{self._public_url}/entered")
        response = RedirectResponse(departure.url(self._registration.client_id, _SCOPES), 303)
        response.set_cookie(_COOKIE, browser.name, path="/", secure=True, httponly=True, samesite="lax")
        return response

    async def _back(self, request: Request) -> Response:
        state = request.query_params.get("state", "")
        left = self._departures.find(state)
        if left is None or not left.is_of(request.cookies.get(_COOKIE, "")):
            raise HTTPException(403, _NOT_NOW)  # login CSRF: only the browser that started may finish
        self._departures.use(left)
        try:
            server = await self._server()
            departure = left.request(server, f"{self._public_url}/entered", state)
            code = read_code(departure, request.url)
            grant = await redeem(self._registration, departure, code, _SCOPES)
            person = await read_person(
                grant, departure, self._registration.client_id, self._registration.reach
            )
        except AccountError as error:
            logger.warning("signing in did not work: %s", error)
            raise HTTPException(403, _NOT_NOW) from None
        return RedirectResponse(f"/sign-in/{self._sessions.invite(person)}", 303)


ADD_FIRST: Final = "You have no passkey here yet, so this question waits. Add one, then come back."
ASK_FOR_LINK: Final = (
    "You have no passkey here yet, so this question waits. Ask the operator of this gateway for a link that adds one: "
    "`handraise gateway people link` makes it with `--passkey`."
)


class SharedDesk:
    """The site and its sign-in. It has no page for rules: the operator sets them."""

    def __init__(
        self,
        queue: Queue,
        public_url: str,
        *,
        people: PeopleFile | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        """`earlier`: decisions before this run. People see only their own.

        Passkeys are in the operator's data directory. People add their first one with a link from the operator, or at
        the desk if an issuer signs them in.
        """
        self.sessions = DeskSessions(
            time.monotonic, (lambda person: True) if people is None else people.has_person
        )
        self._public = urlsplit(public_url)
        host = self._public.hostname or ""
        self._passkeys = Passkeys(PasskeyFile(), rp_id=host, origin=lambda: public_url)
        passkey_answers = PasskeyAnswers(
            self._passkeys, advice=ADD_FIRST if people is None else ASK_FOR_LINK, enrols=people is None
        )
        self._site = Site(queue, self.sessions, earlier=earlier, passkeys=passkey_answers)
        self._invitations = None if people is None else Invitations(people)
        self.routes: list[BaseRoute] = [Route("/enter/{word}", self._enter)]

    def app(self, more: Sequence[BaseRoute] = ()) -> SameSiteMiddleware:
        """The ASGI application; `more` are routes of other sign-ins."""
        self._site.open()
        inside = Starlette(routes=[*more, *self.routes, Mount("/", self._site.app)])
        return SameSiteMiddleware(inside, lambda: {self._public.netloc}, self._public.scheme)

    def _invite(self, person: Person, passkey: bool) -> str:
        """A sign-in ticket. The operator who made the link vouches for a person who adds a passkey with it."""
        passkey_task = PasskeyTask("add", self._passkeys.free_name(person), trusted=True) if passkey else None
        return self.sessions.invite(person, passkey_task)

    async def _enter(self, request: Request) -> Response:
        ticket = None
        if self._invitations is not None:
            ticket = self._invitations.admit(request.path_params["word"], self._invite)
        if ticket is None:
            raise HTTPException(403, "This link does not work any more. Each works once, for ten minutes.")
        return RedirectResponse(f"/sign-in/{ticket}", 303)
