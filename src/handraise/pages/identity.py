"""Find out whose browser this is. Asked before anything is shown, and before anything is consumed."""

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

from handraise.pages.page import BrowserAtPage
from handraise.pages.visits import Visit
from handraise.processes import SocketAddress, tcp_peer
from handraise.questions import Person
from handraise.site.middleware import Posted, first

BrowserMatch = Literal["them", "another", "nobody"]
"""The person who was asked, somebody else, or nobody that is known yet."""

PeerUser = Callable[[SocketAddress, SocketAddress], int | None]
SessionHook = Callable[[Request], Person | Awaitable[Person | None] | None]


def user_of_peer(client: SocketAddress, server: SocketAddress) -> int | None:
    """The user id behind a connection from `client` to `server`; None when the system does not tell."""
    owner = tcp_peer(client, server)
    return None if owner is None else owner.user


class BrowserSignIn(Protocol):
    """How a browser is known to belong to a person."""

    routes: Sequence[BaseRoute]
    """Addresses of its own, below the pages'."""
    another_account: str | None
    """The address for a person who is signed in as somebody else."""

    async def see(self, sitting: BrowserAtPage) -> BrowserMatch:
        """The person at this browser."""
        ...

    async def invite(self, sitting: BrowserAtPage) -> Response:
        """A way for nobody to become somebody, and to come back to the page."""
        ...

    async def enter(self, sitting: BrowserAtPage, posted: Posted) -> Response | None:
        """The result of a button of the invitation; None for any other post."""
        ...


class OwnSessions:
    """The author's own sessions: a function tells who is signed in to the author's site.

        OwnSessions(lambda request: …, sign_in_url="/login")

    The person it gives must be the one of the access token: the same issuer and subject. `sign_in_url` gets the
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
    """Whether two verified accounts are one: the same subject of the same issuer. An anonymous visitor is never the
    person."""
    if "anonymous" in (one.how, other.how):
        return False
    return (one.issuer, one.subject) == (other.issuer, other.subject)


class ThisComputer:
    """For a server on the person's own computer: the browser runs under the user that the server runs under.

    Where the system does not tell, the person types a code that the question showed them in their client. It is
    nowhere in the link, which other users of the computer may see among a browser's arguments.
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
    """Whether somebody typed the visit's code. How they write it does not matter."""
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
    """A browser that came. One that had no cookie has a fresh one, which a response has to give it."""

    cookie: str = field(repr=False)
    is_new: bool

    @property
    def name(self) -> str:
        """The session's internal name: a hash, because the cookie itself is a secret."""
        return hashlib.sha256(self.cookie.encode("utf-8", "surrogateescape")).hexdigest()


class Browsers:
    """The browsers of one site."""

    def __init__(self, url: Callable[[], str], called: str = "page") -> None:
        """`called` tells this cookie from the site's others."""
        self._url = url
        self._called = called
        self._key = secrets.token_bytes(32)

    def meet(self, request: Request) -> Browser:
        """The browser behind a request."""
        cookie = request.cookies.get(self._cookie)
        return Browser(cookie, is_new=False) if cookie else new_browser()

    def give_cookie(self, response: Response, browser: Browser) -> Response:
        """The response, by which the browser is known from now on."""
        response.set_cookie(
            self._cookie, browser.cookie, path="/", secure=self._is_secure, httponly=True, samesite="lax"
        )
        return response

    def csrf(self, browser: str, place: str) -> str:
        """A token that only this page in this browser can post."""
        return hmac.new(self._key, f"{browser} {place}".encode(), "sha256").hexdigest()

    @property
    def _cookie(self) -> str:
        """Servers on one computer share its cookies, so that the port is part of the name.

        On plain http, which is this computer only, not every browser takes secure cookies, and the prefix needs them.
        """
        parts = urlsplit(self._url())
        return f"{'__Host-' if self._is_secure else ''}handraise-{self._called}-{parts.port or 443}"

    @property
    def _is_secure(self) -> bool:
        return self._url().startswith("https:")


def new_browser() -> Browser:
    """A browser that nobody has seen before."""
    return Browser(secrets.token_urlsafe(32), is_new=True)
