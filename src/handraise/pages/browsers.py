"""Telling one browser from another: a cookie that no script and no other host can touch, and a token for its pages."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser that came. One that had no cookie has a fresh one, which a response has to give it."""

    cookie: str = field(repr=False)
    is_new: bool

    @property
    def name(self) -> str:
        """What it is called inside: not the cookie itself, which is worth something."""
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
        """What a page at a place posts in this browser, and no other page can."""
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
