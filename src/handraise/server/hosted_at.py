"""Where a server's pages are served: its public address, and the way into its web application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from handraise.errors import SetupError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from handraise.conversation import Store
    from handraise.pages import Pages
    from handraise.server.runtime import Runtime

MOUNTED_AT = "/handraise"
"""Where pages are, below the server's public address."""


class Hosting(NamedTuple):
    """What is known about a server's pages before the first one is needed."""

    name: str
    store: Store
    public_url: str | None
    pages: Pages | None


def require_public_url(url: str) -> str:
    """The address as browsers write it, without a slash at its end. SetupError unless https, or on this computer."""
    parts = urlsplit(url)
    plain = parts.scheme in ("http", "https") and parts.hostname and not parts.query and not parts.fragment
    if not plain or "@" in parts.netloc:
        raise SetupError("public_url is where browsers reach this server, like https://mcp.example.com")
    if parts.scheme == "http" and not is_loopback(url):
        raise SetupError(
            "public_url has to be https: what people enter on pages must not travel in the clear"
        )
    usual = {"http": ":80", "https": ":443"}[parts.scheme]
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(usual)}{parts.path.rstrip('/')}"


def is_loopback(url: str) -> bool:
    """Whether an address is on this computer."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def mount_pages(server: Any, runtime: Runtime) -> None:
    """Add the pages to the application that the server makes of itself, where its framework has a way for it.

    A lowlevel `Server` has none: its author mounts `Handraise.pages_app(server)` at `/handraise`.
    """
    add_route = getattr(server, "custom_route", None)
    if add_route is None:
        return

    async def pages(request: Request) -> _Below:
        return _Below(runtime.pages.app())

    add_route(f"{MOUNTED_AT}/{{rest:path}}", methods=["GET", "POST"], include_in_schema=False)(pages)


class _Below:
    """An application as the response of a route: it sees the paths below where pages are mounted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = {**scope, "root_path": scope.get("root_path", "") + MOUNTED_AT}
        await self._app(inner, receive, send)
