"""A scripted person's browser: opens a page of a local server, fills it in and sends it."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

_SECONDS = 10


class _Form(HTMLParser):
    """What a page's form has in it already, and the names of what is to be filled in."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.empty: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name")
        if tag != "input" or name is None:
            return
        if given.get("type") == "hidden":
            self.hidden[name] = given.get("value") or ""
        else:
            self.empty.append(name)


def fill_in(url: str, entry: str, *, do: str = "enter") -> str:
    """Write the entry into every field of the page and press a button; the page that comes then."""
    browser = build_opener(ProxyHandler({}))
    with browser.open(url, timeout=_SECONDS) as response:
        # By hand: Python's own jar, unlike browsers, does not give a loopback address its secure cookies back.
        cookies = [cookie.partition(";")[0] for cookie in response.headers.get_all("Set-Cookie", [])]
        form = _Form()
        form.feed(response.read().decode())
    parts = urlsplit(url)
    body = {**form.hidden, **dict.fromkeys(form.empty, entry), "do": do}
    headers = {"Origin": f"{parts.scheme}://{parts.netloc}", "Cookie": "; ".join(cookies)}
    request = Request(url, urlencode(body).encode(), headers)  # noqa: S310 - a page of our own
    try:
        with browser.open(request, timeout=_SECONDS) as response:
            return str(response.read().decode())
    except HTTPError as refused:
        return refused.read().decode()
