"""A server of its own process whose tool needs a secret: `python -m tests.pages.notebook stdio|http FOLDER [PORT]`.

It logs everything to FOLDER/log at debug level and keeps its store in FOLDER/store.db. Over HTTP people come with a
bearer token, sign in to its own little site, and what is written to the client goes to FOLDER/wire, too.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, BinaryIO

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from handraise import Handraise, Person, Secret, ask
from handraise.pages import Brand, OwnSessions, Pages

ISSUER = "https://id.example"


def check(token: Secret) -> str | None:
    return None if token.reveal().endswith("Z") else "GitHub does not know this token."


def add_tools(server: MCPServer) -> None:
    @server.tool()
    async def create_issue(title: str) -> str:
        """Create an issue."""
        answer = await ask.secret(
            "GitHub token",
            service="github",
            hint="Starts with ghp_ and has 20 characters or more.",
            pattern="ghp_[A-Za-z0-9]{16,}",
            check=check,
            because="The issue is created under your name.",
            if_declined="Nothing is created.",
            timeout=60,
        )
        token = answer.or_stop()
        logging.getLogger("notebook").debug("created with %s %r", token, answer)
        return f"Created “{title}” with a token of {len(token.reveal())} characters."


class Tokens:
    """Who comes with `Bearer ann` is Ann."""

    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(
            token=token, client_id="app", scopes=[], subject=token, claims={"iss": ISSUER, "sub": token}
        )


def signed_in(request: Request) -> Person | None:
    user = request.cookies.get("user")
    return Person(ISSUER, user, "token") if user else None


async def login(request: Request) -> Response:
    """The author's own sign-in, as simple as can be."""
    if "as" not in request.query_params:
        return PlainTextResponse("Who are you?")
    response = RedirectResponse(request.query_params["next"], 303)
    response.set_cookie("user", request.query_params["as"], httponly=True, samesite="lax")
    return response


def make_http(folder: Path, port: int) -> Any:
    public = f"http://127.0.0.1:{port}"
    auth = AuthSettings(issuer_url=AnyHttpUrl(ISSUER), resource_server_url=AnyHttpUrl(f"{public}/mcp"))
    server = MCPServer("notebook", auth=auth, token_verifier=Tokens())
    pages = Pages(
        sign_in=OwnSessions(signed_in, sign_in_url="/login"), brand=Brand("Notebook", colour="#7a1fa2")
    )
    Handraise(store=folder / "store.db", public_url=public, pages=pages).install(server)
    add_tools(server)

    server._custom_starlette_routes.append(Route("/login", login))
    return Overheard(server.streamable_http_app(), (folder / "wire").open("ab", buffering=0))


class Overheard:
    """Writes down what goes to the client."""

    def __init__(self, app: Any, wire: BinaryIO) -> None:
        self._app = app
        self._wire = wire

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def overhear(message: Any) -> None:
            if scope.get("path") == "/mcp" and message["type"] == "http.response.body":
                self._wire.write(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, overhear)


def main(transport: str, folder: Path, port: int) -> None:
    if transport == "http":
        app = make_http(folder, port)
        logging.basicConfig(level=logging.DEBUG, filename=folder / "log", force=True)
        uvicorn.run(app, host="127.0.0.1", port=port, log_config=None, log_level="debug")
        return
    server = MCPServer("notebook", log_level="DEBUG")
    logging.basicConfig(level=logging.DEBUG, filename=folder / "log", force=True)
    Handraise(store=folder / "store.db").install(server)
    add_tools(server)
    server.run("stdio")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
