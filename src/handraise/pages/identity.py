"""Find out whose browser this is, before anything is shown or consumed."""

from __future__ import annotations

import hashlib
import hmac
import inspect
import os
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from handraise.pages.page import BrowserAtPage, Visit
from handraise.processes import SocketAddress, tcp_peer
from handraise.questions import Person
from handraise.site.middleware import Posted, first

BrowserMatch = Literal["them", "another", "nobody"]
"""The person who was asked, somebody else, or an unknown browser."""

PeerUser = Callable[[SocketAddress, SocketAddress], int | None]
SessionHook = Callable[[Request], Person | Awaitable[Person | None] | None]


def user_of_peer(client: SocketAddress, server: SocketAddress) -> int | None:
    """The user id behind a connection from `client` to `server`; None if the system hides it."""
    owner = tcp_peer(client, server)
    return None if owner is None else owner.user


class BrowserSignIn(Protocol):
    """Recognises the person at a browser."""

    routes: Sequence[BaseRoute]
    """Its own routes, below those of the pages."""
    another_account: str | None
    """The path for a person who is signed in with another account."""

    async def see(self, sitting: BrowserAtPage) -> BrowserMatch:
        """The person at this browser."""
        ...

    async def invite(self, sitting: BrowserAtPage) -> Response:
        """The response that lets an unknown person sign in and come back."""
        ...

    async def enter(self, sitting: BrowserAtPage, posted: Posted) -> Response | None:
        """Handle a post from the sign-in page; None for any other post."""
        ...


class OwnSessions:
    """The author's own sessions: a function tells who is signed in to the author's site.

        OwnSessions(lambda request: …, sign_in_url="/login")

    The person must be the one of the access token: the same issuer and subject. `sign_in_url` gets the
    page to come back to as `next`.
    """

    routes: Sequence[BaseRoute] = ()
    another_account: str | None = None

    def __init__(self, hook: SessionHook, *, sign_in_url: str | None = None) -> None:
        self._hook = hook
        self._sign_in_url = sign_in_url

    async def see(self, sitting: BrowserAtPage) -> BrowserMatch:
        found = self._hook(sitting.request)
        person = await found if inspect.isawaitable(found) else found
        if person is None:
            return "nobody"
        return "them" if same_person(person, sitting.visit.person) else "another"

    async def invite(self, sitting: BrowserAtPage) -> Response:
        if self._sign_in_url is None:
            return sitting.render("sign_in.html", 401)
        mark = "&" if "?" in self._sign_in_url else "?"
        return RedirectResponse(f"{self._sign_in_url}{mark}{urlencode({'next': sitting.at})}", 303)

    async def enter(self, sitting: BrowserAtPage, posted: Posted) -> Response | None:
        return None


def same_person(one: Person, other: Person) -> bool:
    """Whether two verified accounts have the same issuer and subject. An anonymous visitor never matches."""
    if "anonymous" in (one.how, other.how):
        return False
    return (one.issuer, one.subject) == (other.issuer, other.subject)


class ThisComputer:
    """For a server on the person's own computer: the browser runs under the user that the server runs under.

    If the system hides the user, the person types a code from the question in their client. The code is not in the
    link, which other users of the computer may see among a browser's arguments.
    """

    routes: Sequence[BaseRoute] = ()
    another_account: str | None = None

    def __init__(self, user: int | None = None, peer_user: PeerUser = user_of_peer) -> None:
        self._user = user if user is not None or not hasattr(os, "getuid") else os.getuid()
        self._peer_user = peer_user

    async def see(self, sitting: BrowserAtPage) -> BrowserMatch:
        user = self._user_of(sitting.request)
        if user is not None:
            return "them" if user == self._user else "another"
        return "them" if sitting.browser in sitting.visit.browsers else "nobody"

    async def invite(self, sitting: BrowserAtPage) -> Response:
        return _ask_for_code(sitting, 401)

    async def enter(self, sitting: BrowserAtPage, posted: Posted) -> Response | None:
        if first(posted, "do") != "code":
            return None
        if not sitting.visit.takes_codes:
            return _ask_for_code(sitting, 403)
        if not is_code(first(posted, "code"), sitting.visit):
            sitting.visit.wrong_codes += 1
            return _ask_for_code(sitting, 403, wrong=True)
        return sitting.admit(RedirectResponse(sitting.at, 303))

    def _user_of(self, request: Request) -> int | None:
        client, server = request.scope.get("client"), request.scope.get("server")
        if client is None or server is None or _came_through_a_proxy(request):
            return None
        return self._peer_user(tuple(client), tuple(server))


def _ask_for_code(sitting: BrowserAtPage, status: int, wrong: bool = False) -> Response:
    takes = sitting.visit.takes_codes
    has_code = sitting.visit.code is not None
    return sitting.render("code.html", status, has_code=has_code, takes_codes=takes, wrong=wrong and takes)


def new_code() -> str:
    """A code that is easy to type and hard to guess: fifty bits, no letter that looks like a digit."""
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(10))
    return f"{letters[:5]}-{letters[5:]}"


def is_code(typed: str, visit: Visit) -> bool:
    """Whether the text is the visit's code, in any spelling."""
    if visit.code is None:
        return False
    plain = "".join(character for character in typed.upper() if character in _ALPHABET)
    return hmac.compare_digest(plain, visit.code.replace("-", ""))


_ALPHABET: Final = "ABCDEFGHJKMNPQRSTVWXYZ23456789"


def _came_through_a_proxy(request: Request) -> bool:
    """Whether a header claims another address: anybody can write one."""
    return "x-forwarded-for" in request.headers or "forwarded" in request.headers


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser. If it had no cookie, it has a new one that the response must set."""

    cookie: str = field(repr=False)
    is_new: bool

    @property
    def name(self) -> str:
        """The session's internal name: a hash, because the cookie itself is a secret."""
        return hashlib.sha256(self.cookie.encode("utf-8", "surrogateescape")).hexdigest()


class Browsers:
    """The browsers of one site."""

    def __init__(self, url: Callable[[], str], called: str = "page") -> None:
        """`called` is part of the cookie's name."""
        self._url = url
        self._called = called
        self._key = secrets.token_bytes(32)

    def meet(self, request: Request) -> Browser:
        """The browser behind a request."""
        cookie = request.cookies.get(self._cookie)
        return Browser(cookie, is_new=False) if cookie else new_browser()

    def give_cookie(self, response: Response, browser: Browser) -> Response:
        """The response with the browser's cookie."""
        response.set_cookie(
            self._cookie, browser.cookie, path="/", secure=self._is_secure, httponly=True, samesite="lax"
        )
        return response

    def csrf(self, browser: str, place: str) -> str:
        """A token that only this page in this browser can post."""
        return hmac.new(self._key, f"{browser} {place}".encode(), "sha256").hexdigest()

    @property
    def _cookie(self) -> str:
        """The cookie's name. It contains the port, because servers on one computer share cookies.

        On plain http, used on this computer only, some browsers refuse the secure cookies that the prefix requires.
        """
        parts = urlsplit(self._url())
        return f"{'__Host-' if self._is_secure else ''}handraise-{self._called}-{parts.port or 443}"

    @property
    def _is_secure(self) -> bool:
        return self._url().startswith("https:")


def new_browser() -> Browser:
    """A new browser."""
    return Browser(secrets.token_urlsafe(32), is_new=True)
