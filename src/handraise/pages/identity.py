"""Whose browser is this? Asked before anything is shown, and before anything is consumed."""

from __future__ import annotations

import hmac
import inspect
import os
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, Protocol
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from handraise.pages.page import Sitting
from handraise.pages.visits import Visit
from handraise.processes import Address, tcp_peer
from handraise.questions import Person
from handraise.site.posted import Posted, first

Seen = Literal["them", "another", "nobody"]
"""The person who was asked, somebody else, or nobody that is known yet."""

PeerUser = Callable[[Address, Address], int | None]
SessionHook = Callable[[Request], Person | Awaitable[Person | None] | None]


def user_of_peer(client: Address, server: Address) -> int | None:
    """The user id behind a connection from `client` to `server`; None when the system does not tell."""
    owner = tcp_peer(client, server)
    return None if owner is None else owner.user


class SignIn(Protocol):
    """How a browser is known to belong to a person."""

    routes: Sequence[BaseRoute]
    """Addresses of its own, below the pages'."""
    another_account: str | None
    """Which of them is for somebody who is signed in as the wrong person."""

    async def see(self, sitting: Sitting) -> Seen:
        """Whose browser it is."""
        ...

    async def invite(self, sitting: Sitting) -> Response:
        """A way for nobody to become somebody, and to come back to the page."""
        ...

    async def enter(self, sitting: Sitting, posted: Posted) -> Response | None:
        """What comes of a button of the invitation; None when it was not one."""
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

    async def see(self, sitting: Sitting) -> Seen:
        found = self._hook(sitting.request)
        person = await found if inspect.isawaitable(found) else found
        if person is None:
            return "nobody"
        return "them" if same_person(person, sitting.visit.person) else "another"

    async def invite(self, sitting: Sitting) -> Response:
        if self._sign_in_url is None:
            return sitting.render("sign_in.html", 401)
        mark = "&" if "?" in self._sign_in_url else "?"
        return RedirectResponse(f"{self._sign_in_url}{mark}{urlencode({'next': sitting.at})}", 303)

    async def enter(self, sitting: Sitting, posted: Posted) -> Response | None:
        return None


def same_person(one: Person, other: Person) -> bool:
    """Whether two verified accounts are one: the same subject of the same issuer. Nobody anonymous is anyone."""
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

    async def see(self, sitting: Sitting) -> Seen:
        user = self._user_of(sitting.request)
        if user is not None:
            return "them" if user == self._user else "another"
        return "them" if sitting.browser in sitting.visit.browsers else "nobody"

    async def invite(self, sitting: Sitting) -> Response:
        return _ask_for_code(sitting, 401)

    async def enter(self, sitting: Sitting, posted: Posted) -> Response | None:
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


def _ask_for_code(sitting: Sitting, status: int, wrong: bool = False) -> Response:
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
