"""A server over HTTP whose tool needs an account: `python -m tests.pages.oauth.place FOLDER PORT ISSUER`.

People come with a bearer token of the issuer's, and sign in to pages there. It logs everything to FOLDER/log at debug
level, keeps its store and ledger in FOLDER, and writes what goes to the client to FOLDER/wire. What the tool obtained
is written to FOLDER.tokens, for the test to search for.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl
from tests.pages.notebook import Overheard

from handraise import Handraise, ask
from handraise.pages import Brand, Pages
from handraise.pages.oauth import Account, FromVariable, SignInAt


def make(folder: Path, port: int, issuer: str) -> Any:
    public = f"http://127.0.0.1:{port}"
    secret = FromVariable("PLACE_SECRET")
    account = Account(
        "Issue Place",
        os.environ["PLACE_ID"],
        issuer,
        {"profile": "Read your name"},
        secret,
        service="place",
        parameters={"prompt": "consent"},
    )

    class Tokens:
        """Who comes with `Bearer mcp-token-of-ann` is Ann."""

        async def verify_token(self, token: str) -> AccessToken | None:
            user = token.removeprefix("mcp-token-of-")
            if user == token:
                return None
            claims = {"iss": issuer, "sub": user}
            return AccessToken(token=token, client_id="app", scopes=[], subject=user, claims=claims)

    auth = AuthSettings(issuer_url=AnyHttpUrl(issuer), resource_server_url=AnyHttpUrl(f"{public}/mcp"))
    server = MCPServer("place", auth=auth, token_verifier=Tokens())
    sign_in = SignInAt(issuer, client_id=os.environ["PAGES_ID"], client_secret=FromVariable("PAGES_SECRET"))
    pages = Pages(sign_in=sign_in, brand=Brand("Notebook"))
    Handraise(
        store=folder / "store.db", public_url=public, pages=pages, ledger=folder / "server-ledger.db"
    ).install(server)

    @server.tool()
    async def create_issue(title: str, timeout: float = 60) -> str:
        """Create an issue."""
        answer = await ask.connect(
            account, because="It is created under your name.", timeout=timeout, key=title
        )
        token = answer.or_stop()
        logging.getLogger("place").debug("created with %s %r", token, answer)
        with folder.with_suffix(".tokens").open("a") as out:
            refresh = token.grant.refresh_token
            out.write(f"{token.reveal()}\n{refresh.reveal() if refresh else ''}\n")
        return f"Created {title}."

    return Overheard(server.streamable_http_app(), (folder / "wire").open("ab", buffering=0))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    app = make(folder, int(sys.argv[2]), sys.argv[3])
    logging.basicConfig(level=logging.DEBUG, filename=folder / "log", force=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_config=None, log_level="debug")
