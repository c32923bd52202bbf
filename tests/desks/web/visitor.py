"""A browser without a window: what it sends is under the test's control, header by header."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2 as httpx

from handraise.access import Access, AccessCheck
from handraise.desks import Decision, Queue, Waiting
from handraise.desks.codes import AnswerCode
from handraise.desks.gate import PolicyGate
from handraise.desks.web import WebDesk
from handraise.processes import SocketAddress


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class InThisProcess(AccessCheck):
    """For a desk that is called in this process, without a connection: whoever calls it is this user."""

    def of_connection(self, client: SocketAddress, server: SocketAddress) -> Access:
        return "own"


@dataclass
class Visitor:
    """Sends requests to a desk, in this process. Keeps the cookie and the place when it signs in."""

    desk: WebDesk
    cookie: str | None = None
    place: str = ""
    csrf: str = ""
    page: str = field(default="", repr=False)
    """The last page."""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.desk.port}"

    async def send(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str | None] | None = None
    ) -> httpx.Response:
        """One request, as a browser on the desk's own page would send it, but for the `headers`."""
        usual: dict[str, str | None] = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}
        if method == "POST":
            usual |= {"origin": self.base, "content-type": "application/x-www-form-urlencoded"}
        if self.cookie:
            usual["cookie"] = self.cookie
        usual |= headers or {}
        sent = {name: value for name, value in usual.items() if value is not None}
        transport = httpx.ASGITransport(app=self.desk.app)
        async with httpx.AsyncClient(transport=transport, base_url=self.base) as client:
            response = await client.request(method, path, content=body, headers=sent)
        self.page = html.unescape(response.text)
        if token := re.search(r'name="csrf" value="([^"]+)"', response.text):
            self.csrf = token[1]
        return response

    async def get(self, path: str, **headers: str | None) -> httpx.Response:
        return await self.send("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    async def post(
        self, path: str, values: Mapping[str, str | list[str]] | None = None, **headers: str | None
    ) -> httpx.Response:
        body = urlencode({"csrf": self.csrf, **(values or {})}, doseq=True)
        return await self.send(
            "POST", path, body, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    async def sign_in(self, url: str | None = None) -> Visitor:
        """Come with a link."""
        path = urlsplit(url or self.desk.sign_in_url()).path
        assert (await self.get(path)).status_code == 200
        response = await self.post(path)
        assert response.status_code == 303
        self.cookie = response.headers["set-cookie"].partition(";")[0]
        self.place = response.headers["location"]
        await self.get(self.place)
        return self

    async def paths(self) -> list[str]:
        """The paths of the questions on the desk."""
        response = await self.get(self.place)
        return re.findall(r'href="([^"]+/q/[0-9a-f]+)"', response.text)


@dataclass
class Office:
    """A desk with a signed-in visitor and a queue to put questions into."""

    queue: Queue
    desk: WebDesk
    clock: Clock
    visitor: Visitor
    asked: list[asyncio.Task[Decision]] = field(default_factory=list)

    async def put(self, *questions: Waiting) -> list[str]:
        """Ask, and give the paths of what waits then."""
        self.asked += [asyncio.create_task(self.queue.put(question)) for question in questions]
        await asyncio.sleep(0)
        return await self.visitor.paths()

    async def decided(self, at: int = 0) -> Decision:
        """How a question ended."""
        async with asyncio.timeout(60):
            return await self.asked[at]

    def wait(self, seconds: float = 1.0) -> None:
        """Let time pass."""
        self.clock.now += seconds


@asynccontextmanager
async def open_office(
    gate: PolicyGate | None = None, code: AnswerCode | None = None, **more: Any
) -> AsyncIterator[Office]:
    clock = Clock()
    queue = Queue(clock=clock)
    # not started: the visitor calls it in this process, so that no connection tells whose it is
    desk = WebDesk(queue, port=7070, gate=gate, code=code, clock=clock, access=InThisProcess(), **more)
    office = Office(queue, desk, clock, await Visitor(desk).sign_in())
    try:
        yield office
    finally:
        for task in office.asked:
            task.cancel()
        await asyncio.gather(*office.asked, return_exceptions=True)
