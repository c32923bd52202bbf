"""A site of pages without a server around it, and browsers under the test's control, header by header."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

import httpx2 as httpx

from handraise.pages import (
    Brand,
    BrowserSignIn,
    Page,
    SecretField,
    SecretPage,
    ThisComputer,
    Visit,
    VisitReason,
    Visits,
)
from handraise.pages.entry_pages import ONE
from handraise.pages.site import PageSite
from handraise.questions import Answer, Person
from handraise.vault import Secret

ANN = Person("https://issuer.example", "ann", "token")
BOB = Person("https://issuer.example", "bob", "token")
ME = Person("host", "1000", "system")
ABOUT = VisitReason("notes", "Inspector 2.12", "tool create_issue", "The issue is created under your name.")
VALUE = "ghp_3fTq9Zx0kLmN"
URL = "https://mcp.example/handraise"

TOKEN: SecretPage[Secret] = SecretPage(
    "GitHub token",
    (SecretField(ONE, "GitHub token", hint="Starts with ghp_", pattern="ghp_[A-Za-z0-9]+"),),
    service="github",
)


class Clock:
    """A clock that a test moves."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class House:
    """Visits and the site that serves them."""

    sign_in: BrowserSignIn = field(default_factory=lambda: ThisComputer(1000, lambda *_: 1000))
    serves: Literal["token", "system", "anonymous"] = "token"
    url: str = URL
    brand: Brand = field(default_factory=Brand)
    clock: Clock = field(default_factory=Clock)
    settled: list[tuple[Visit, Answer[Any]]] = field(default_factory=list)
    recorded: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.visits = Visits(self._settle, self.clock)
        self.site = PageSite(
            self.visits,
            self.sign_in,
            serves=self.serves,
            url=lambda: self.url,
            scheme=urlsplit(self.url).scheme,
            brand=self.brand,
            record=lambda what, visit, reason: self.recorded.append((what, reason)),
            clock=self.clock,
        )

    async def _settle(self, visit: Visit, answer: Answer[Any]) -> None:
        self.settled.append((visit, answer))

    def ask(
        self, page: Page[Any] = TOKEN, person: Person = ANN, code: str | None = None, key: str = "question"
    ) -> Visit:
        """Ask a person to finish a page."""
        return self.visits.open(page, person, ABOUT, key=key, seconds=600, code=code)

    def browser(self, **session: str) -> Browser:
        """Somebody's browser; `session` are its cookies of the author's own site."""
        return Browser(self, dict(session))

    @property
    def answer(self) -> Answer[Any]:
        """The one answer that was given."""
        ((_, answer),) = self.settled
        return answer


@dataclass
class Browser:
    """Sends requests to a house, in this process. Keeps the cookies that it is given."""

    house: House
    cookies: dict[str, str]
    csrf: str = ""
    text: str = field(default="", repr=False)
    """The last page."""

    async def send(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str | None] | None = None
    ) -> httpx.Response:
        """One request, as a browser would send it from the site's own page, but for the `headers`."""
        parts = urlsplit(self.house.url)
        usual: dict[str, str | None] = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}
        if method == "POST":
            usual["origin"] = f"{parts.scheme}://{parts.netloc}"
            usual["content-type"] = "application/x-www-form-urlencoded"
        if self.cookies:
            usual["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        usual |= headers or {}
        sent = {name: value for name, value in usual.items() if value is not None}
        transport = httpx.ASGITransport(
            app=self.house.site.app, client=("127.0.0.1", 50_000), root_path=parts.path
        )
        async with httpx.AsyncClient(
            transport=transport, base_url=f"{parts.scheme}://{parts.netloc}"
        ) as client:
            response = await client.request(method, parts.path + path, content=body, headers=sent)
        for cookie in response.headers.get_list("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        self.text = html.unescape(response.text)
        if token := re.search(r'name="csrf" value="([^"]+)"', response.text):
            self.csrf = token[1]
        return response

    async def open(self, visit: Visit, **headers: str | None) -> httpx.Response:
        """Open a visit's link."""
        return await self.get(f"/{visit.id}", **headers)

    async def get(self, path: str, **headers: str | None) -> httpx.Response:
        return await self.send("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    async def post(
        self, visit: Visit, values: Mapping[str, str | list[str]], **headers: str | None
    ) -> httpx.Response:
        """Press a button of a visit's page."""
        body = urlencode({"csrf": self.csrf, **values}, doseq=True)
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        return await self.send("POST", f"/{visit.id}", body, named)

    async def enter(self, visit: Visit, value: str = VALUE) -> httpx.Response:
        """Type a secret and save it."""
        return await self.post(visit, {"do": "enter", "s0": value})

    @property
    def heading(self) -> str:
        found = re.search(r"<h1>(.*?)</h1>", self.text, re.DOTALL)
        return re.sub("<[^>]+>", "", found[1]).strip() if found else ""
