"""Middleware for every request: no other site gets in or frames us, and form posts are read with limits."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Mapping
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # no-referrer would make our own forms send `Origin: null`
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
}

HttpRefusal = tuple[int, str]


def check_request(
    method: str, headers: Headers, hosts: Collection[str], scheme: str = "http"
) -> HttpRefusal | None:
    """Why a request is refused, or None. `hosts` are the only names under which the site answers."""
    named = headers.getlist("host")
    if len(named) != 1 or named[0] not in hosts:
        return 421, "This site does not answer under that name."
    site = headers.get("sec-fetch-site", "same-origin")
    if method in ("GET", "HEAD"):
        if site not in ("same-origin", "none") and headers.get("sec-fetch-mode") != "navigate":
            return 403, "Another site may not read this."
        return None
    if method != "POST":
        return 405, "Only GET and POST."
    if headers.getlist("origin") != [f"{scheme}://{named[0]}"] or site not in ("same-origin", "none"):
        return 403, "Another site may not send this."
    return None


class SameSiteMiddleware:
    """Refuses what does not come from the site's own pages, and sends the headers that keep others out."""

    def __init__(self, app: ASGIApp, hosts: Callable[[], Collection[str]], scheme: str = "http") -> None:
        """`hosts` are the names under which the site answers, `scheme` how browsers reach it."""
        self._app = app
        self._hosts = hosts
        self._scheme = scheme

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # a page may allow its form to go to one other site
            await send(message)

        refusal = check_request(scope["method"], Headers(scope=scope), self._hosts(), self._scheme)
        app = self._app if refusal is None else PlainTextResponse(refusal[1] + "\n", refusal[0])
        await app(scope, receive, send_with_headers)


MOST_BYTES = 512 * 1024
_MOST_VALUES = 5000

Posted = dict[str, list[str]]


async def read_posted(request: Request) -> Posted:
    """The values of a form that was posted. Too many bytes or values are refused while they arrive."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        raise HTTPException(415, "This is not a form.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "This is more than can be taken here.")
    try:
        return parse_qs(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_VALUES, errors="strict"
        )
    except ValueError:
        raise HTTPException(400, "This form cannot be read.") from None


def first(posted: Posted, name: str) -> str:
    """The value of a control, empty when there is none."""
    return posted.get(name, [""])[0]


def has_token(posted: Posted, csrf: str) -> bool:
    """Whether the page that posted was one of ours, made for this browser."""
    return hmac.compare_digest(first(posted, "csrf").encode("utf-8", "surrogatepass"), csrf.encode())
