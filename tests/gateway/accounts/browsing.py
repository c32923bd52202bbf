"""A browser without a window, with a cookie jar as browsers have it: cookies do not go to other hosts' ports apart."""

from __future__ import annotations

import re
from typing import Self
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from tests.gateway.accounts.diary import Diary


class Browser:
    """Goes from page to page. `strict` cookies stay at home when another site sends it."""

    def __init__(self) -> None:
        self._http = httpx2.AsyncClient(follow_redirects=False, verify=False)
        self._cookies: dict[str, tuple[str, bool]] = {}
        self.url = ""
        self.page = ""
        self.status = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def open(self, url: str, *, sent_by_another: bool = False) -> int:
        """Open an address, and where it leads on the same site."""
        for _ in range(5):
            cookies = [
                f"{name}={value}"
                for name, (value, strict) in self._cookies.items()
                if not (strict and sent_by_another)
            ]
            reply = await self._http.get(url, headers={"cookie": "; ".join(cookies)})
            self._keep(reply)
            self.url, self.page, self.status = url, reply.text, reply.status_code
            if reply.status_code not in (302, 303, 307):
                break
            url = urljoin(url, reply.headers["location"])
            if urlsplit(url).netloc != urlsplit(self.url).netloc:
                self.url = url
                break
        return self.status

    async def press(self, do: str) -> int:
        """Press a button of the page's form."""
        token = re.search(r'name="csrf" value="([^"]+)"', self.page)
        data = {"do": do, **({"csrf": token[1]} if token else {})}
        cookies = "; ".join(f"{name}={value}" for name, (value, _) in self._cookies.items())
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(self.url))
        reply = await self._http.post(self.url, data=data, headers={"cookie": cookies, "origin": origin})
        self._keep(reply)
        self.status, self.page = reply.status_code, reply.text
        if reply.status_code == 303:
            return await self.open(urljoin(self.url, reply.headers["location"]))
        return self.status

    def _keep(self, reply: httpx2.Response) -> None:
        for given in reply.headers.get_list("set-cookie"):
            name, _, value = given.partition(";")[0].partition("=")
            self._cookies[name] = value, "samesite=strict" in given.lower()

    @property
    def heading(self) -> str:
        found = re.search(r"<h1[^>]*>(.*?)</h1>", self.page, re.DOTALL)
        return found[1].strip() if found else ""

    async def connect(self, link: str, diary: Diary, user: str | None) -> int:
        """Open the page, go on to the authorization server, agree there as somebody, and come back."""
        await self.open(link)
        way_on = re.search(r'href="([^"]+/go\?ticket=[^"]+)"', self.page)
        assert way_on is not None, self.page
        await self.open(urljoin(self.url, way_on[1]))
        assert self.url.startswith(f"{diary.url}/authorize?"), self.url
        asked = parse_qs(urlsplit(self.url).query)
        assert asked["resource"] == [diary.mcp]
        assert asked["code_challenge_method"] == ["S256"]
        reply = await self._http.get(self.url)
        visit = parse_qs(urlsplit(reply.headers["location"]).query)["visit"][0]
        return await self.open(diary.provider.agree(visit, user), sent_by_another=True)
