"""A server that writes issues under your name: it connects your account by OAuth, and has an API key entered on a page.

Try it here, with a provider on this computer (sign in as ann, password "correct horse"):

    handraise call create_issue '{"title": "Paint the fence"}' -- python examples/github_issues.py --local

With GitHub, register an OAuth app whose callback is http://127.0.0.1:8912/back/github, then:

    export GITHUB_CLIENT_ID=… GITHUB_CLIENT_SECRET=…
    handraise call create_issue '{"title": "Paint the fence"}' -- python examples/github_issues.py --repository me/house
"""

import argparse
import atexit
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os import environ
from pathlib import Path

import httpx2 as httpx
from mcp.server.mcpserver import MCPServer

from handraise import Handraise, Secret, ask
from handraise.pages import Pages
from handraise.pages.oauth import Account, Endpoints, FromVariable

PORT = 8912


@dataclass(frozen=True)
class Place:
    """Where issues go: the account to connect, and the address that tells whose it is."""

    account: Account
    user_url: str
    issues_url: str | None


def make_server(place: Place, port: int) -> MCPServer:
    """The server, whose pages are on a port that the service knows."""
    server = MCPServer("issues")
    Handraise(pages=Pages(port=port)).install(server)

    @server.tool()
    async def create_issue(title: str) -> str:
        """Create an issue under the person's own name, and tell their chat about it."""
        connecting = ask.connect(
            place.account,
            because="The issue is created under your name.",
            if_declined="No issue is created.",
        )
        token = (await connecting).or_stop("The person did not connect their account. No issue was created.")
        entering = ask.secret(
            "Chat key",
            service="chat",
            hint="At least 8 characters",
            pattern=".{8,}",
            because="Your team is told.",
        )
        key = (await entering).or_stop("The person entered no key. No issue was created.")
        name = await whose(token)
        await write(title, token)
        return f"{name} created {title!r}, and {tell(key)}."

    async def whose(token: Secret) -> str:
        async with httpx.AsyncClient(headers=bearer(token)) as web:
            user = (await web.get(place.user_url)).raise_for_status().json()
        return str(user.get("login") or user["sub"])

    async def write(title: str, token: Secret) -> None:
        if place.issues_url is not None:
            async with httpx.AsyncClient(headers=bearer(token)) as web:
                (await web.post(place.issues_url, json={"title": title})).raise_for_status()

    def tell(key: Secret) -> str:
        return f"the chat would be told with a key of {len(key.reveal())} characters"

    return server


def bearer(token: Secret) -> dict[str, str]:
    """The one place where the token is read."""
    return {"authorization": f"Bearer {token.reveal()}"}


def at_github(repository: str) -> Place:
    """Issues of a repository at GitHub."""
    account = Account(
        "GitHub",
        environ["GITHUB_CLIENT_ID"],
        client_secret=FromVariable("GITHUB_CLIENT_SECRET"),
        scopes={"repo": "Read and write your repositories, issues included"},
        endpoints=Endpoints(
            "https://github.com/login/oauth/authorize", "https://github.com/login/oauth/access_token"
        ),
    )
    return Place(account, "https://api.github.com/user", f"https://api.github.com/repos/{repository}/issues")


def at_this_computer(port: int) -> Place:
    """A provider of this computer's own, started here, that takes this server as a client."""
    provider = free_port()
    issuer = f"http://127.0.0.1:{provider}"
    program = Path(__file__).with_name("local_provider.py")
    child = subprocess.Popen(  # noqa: S603 - a program beside this one, as an argument list
        [sys.executable, program, str(provider)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    atexit.register(child.wait)
    atexit.register(child.terminate)  # the last registered is the first called
    client = {
        "client_name": "issues",
        "client_uri": "https://issues.example",
        "redirect_uris": [f"http://127.0.0.1:{port}/back/issue-place"],
        "scope": "openid profile",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    known = register(f"{issuer}/oauth/register", client)
    scopes = {"openid": "Know that it is you", "profile": "Read your name"}
    account = Account("Issue Place", known["client_id"], issuer, scopes, known["client_secret"])
    return Place(account, f"{issuer}/oauth/userinfo", None)


def register(url: str, client: Mapping[str, object]) -> dict[str, str]:
    """Become known to a provider (RFC 7591), as soon as it listens."""
    for _ in range(200):
        try:
            known: dict[str, str] = httpx.post(url, json=client).raise_for_status().json()
            return known
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit("The local provider did not start. It needs: pip install 'canaille[front,oidc]'")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--local", action="store_true", help="use a provider on this computer")
    where.add_argument("--repository", metavar="OWNER/NAME", help="write issues to this one at GitHub")
    chosen = parser.parse_args()
    port = free_port() if chosen.local else PORT
    place = at_this_computer(port) if chosen.local else at_github(chosen.repository)
    make_server(place, port).run("stdio")


if __name__ == "__main__":
    main()
