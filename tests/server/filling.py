"""Somebody who opens a page's link in a browser and uses it, over the network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2 as httpx
import mcp_types as types

SECRET = "ghp_3fTq9Zx0kLmN"
ACCEPT = types.ElicitResult(action="accept")


async def fill(url: str, values: Mapping[str, str], transport: Any = None, cookie: str = "") -> int:
    """Open a page and post its form; the status of what came of it."""
    parts = urlsplit(url)
    async with httpx.AsyncClient(transport=transport) as browser:
        page = await browser.get(url, headers={"cookie": cookie})
        token = re.search(r'name="csrf" value="([^"]+)"', page.text)
        if token is None:
            return page.status_code
        own = page.headers["set-cookie"].partition(";")[0]
        posted = await browser.post(
            url,
            content=urlencode({"csrf": token[1], **values}),
            headers={
                "origin": f"{parts.scheme}://{parts.netloc}",
                "content-type": "application/x-www-form-urlencoded",
                "cookie": "; ".join(filter(None, (own, cookie))),
            },
        )
        return posted.status_code


class AtTheBrowser:
    """Agrees to open the link in the client, then does this on the page."""

    def __init__(self, **values: str) -> None:
        self.values = values or {"do": "enter", "s0": SECRET}
        self.links: list[str] = []
        self.messages: list[str] = []
        self._busy: list[asyncio.Task[int]] = []

    async def __call__(self, _context: Any, params: Any) -> types.ElicitResult:
        self.links.append(params.url)
        self.messages.append(params.message)
        self._busy.append(asyncio.create_task(fill(params.url, self.values)))
        return ACCEPT

    async def done(self) -> list[int]:
        """The status that each page ended with."""
        return await asyncio.gather(*self._busy)
