"""A shared gateway on a port of this computer, with people, their clients and their browsers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.client.hosts import OpenGate
from tests.gateway.notes import make_notes
from tests.gateway.peers import MemoryLink, connect, opening
from tests.gateway.test_http import served
from tests.issuers.tls import THIS_COMPUTER
from tests.server.peers import free_port

from handraise.client.consent import Gate
from handraise.desks import Queue
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.eras import EraLink
from handraise.gateway.links import Link
from handraise.gateway.options import Options
from handraise.gateway.people import PeopleFile, Tokens
from handraise.gateway.serve_shared import SharedGateway, Sharing
from handraise.gateway.servers import ServerSet
from handraise.gateway.shared_desk import make_invitation
from handraise.gateway.state import GatewayState
from handraise.ledger import Ledger
from handraise.revisions import Revision


class Team:
    """Everything that a test may want to look at."""

    def __init__(self, url: str, queue: Queue, people: PeopleFile) -> None:
        self.url = url
        self.queue = queue
        self.people = people
        self.links: list[MemoryLink] = []

    def client(self, revision: Revision, token: str, person: Any = None) -> Any:
        """Somebody's client."""
        return _connect(f"{self.url}/mcp", revision, token, person)

    def invitation(self, name: str, at: float | None = None, *, passkey: bool = False) -> str:
        now = time.time() if at is None else at
        return f"{self.url}/enter/{make_invitation(self.people, name, now, passkey=passkey)}"

    async def post(self, token: str | None, body: Any, **headers: str) -> httpx2.Response:
        """A request as it goes over the wire."""
        given = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            **headers,
        }
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        async with httpx2.AsyncClient() as http:
            return await http.post(f"{self.url}/mcp", json=body, headers=given)


class Browser:
    """A browser without a window, that fills in no more than a button."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._http = httpx2.AsyncClient(base_url=team.url)
        self.inbox = ""
        self._cookie = ""

    async def sign_in(self, link: str) -> int:
        page = await self.get(link)
        if page.status_code != 303:
            return page.status_code
        done = await self._http.post(
            page.headers["location"], data={"do": ""}, headers={"origin": self._team.url}
        )
        self.inbox = done.headers.get("location", "")
        self.keep_cookie(done)
        return done.status_code

    async def leave(self) -> None:
        await self._http.aclose()

    def keep_cookie(self, response: httpx2.Response) -> None:
        self._cookie = response.headers.get("set-cookie", "").partition(";")[0]

    async def get(self, path: str) -> httpx2.Response:
        return await self._http.get(path, headers={"cookie": self._cookie})

    async def see(self) -> str:
        """What waits for whoever is signed in."""
        return (await self.get(self.inbox)).text

    async def post(self, path: str, **fields: str) -> httpx2.Response:
        headers = {"cookie": self._cookie, "origin": self._team.url}
        return await self._http.post(path, data=fields, headers=headers)

    async def aclose(self) -> None:
        await self._http.aclose()


@asynccontextmanager
async def _connect(url: str, revision: Revision, token: str, person: Any) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http,
        connect(streamable_http_client(url, http_client=http), revision, person) as client,
    ):
        yield client


@asynccontextmanager
async def team(
    folder: Path,
    *,
    tokens: Tokens | None = None,
    issuer: str | None = None,
    desk_client: str | None = None,
    servers: Any = None,
    hold: float = 0.05,
    port: int = 0,
    ledger: Ledger | None = None,
    gate: Gate | None = None,
    host: str = "127.0.0.1",
    sessions: int = 8,
) -> AsyncIterator[Team]:
    """A gateway that several people share."""
    queue, port = Queue(), port or free_port()
    people = PeopleFile(folder / "people.json")
    people.add("operator")
    url = f"http://{host}:{port}"
    made = Team(url, queue, people)

    class Notes(ServerSet):
        async def connect(self, accounts: object = None, person: object = None) -> Link:
            link = MemoryLink(make_notes())
            made.links.append(link)
            await link.open()
            return EraLink(link)

    asking = QuestionHandler(queue, gate or OpenGate(), timeout=300, ledger=ledger)
    state = GatewayState(
        Options(hold=hold, where="at the desk", sessions=sessions, too_fast=0), opening(asking)
    )
    sharing = Sharing(
        url, people if issuer is None else None, issuer, desk_client, THIS_COMPUTER.unsafe_networks
    )
    gateway = SharedGateway(state, asking, servers or Notes(), sharing, tokens)
    async with served(gateway.app, "off", port):
        yield made
        await gateway.aclose()


async def questions(queue: Queue, number: int) -> Any:
    """Wait until so many questions wait."""
    async with asyncio.timeout(60):
        async for waiting in queue.changes():
            if len(waiting) == number:
                return waiting
    raise AssertionError


def handles(page: str) -> list[str]:
    """The addresses of the questions on a page."""
    return re.findall(r'href="(/[^"]+/q/[^"]+)"', page)
