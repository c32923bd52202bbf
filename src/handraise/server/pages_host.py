"""The pages of one installed server: where they are served, for whom, and their results."""

from __future__ import annotations

import asyncio
import secrets
import weakref
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from handraise.errors import SetupError, UsageError
from handraise.questions import Accepted, Answer, Person
from handraise.sdk.releases import release_of
from handraise.server.served import ServedCall
from handraise.vault import EphemeralKeys, Vault, default_keys

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from handraise.calls import Store
    from handraise.pages import Page, Pages, Visit
    from handraise.pages.site import PageEvent, PageSite
    from handraise.server.runtime import Runtime
    from handraise.site.listener import TemporaryListener

R = TypeVar("R")

MOUNTED_AT = "/handraise"
"""The path of pages, below the server's public URL."""


def require_public_url(url: str) -> str:
    """The URL in browsers' spelling, without a final slash. SetupError unless https, or on this computer."""
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


def mount_pages(runtime: Runtime) -> None:
    """Add the pages to the server's own web application, if its framework allows that.

    A lowlevel `Server` has none: its author mounts `Handraise.pages_app(server)` at `/handraise`.
    """

    async def pages(request: Request) -> _Below:
        return _Below(runtime.pages.app())

    runtime.adapter.add_route(f"{MOUNTED_AT}/{{rest:path}}", pages)


class PageHost:
    """Hosts pages for the people of one server. Web libraries are loaded with the first page."""

    def __init__(self, runtime: Runtime) -> None:
        from handraise.pages import Pages, Visits

        self._name = runtime.adapter.name
        self._flows = runtime.flows
        self._recorder = runtime.recorder
        self._public_url = runtime.options.public_url
        self._options = runtime.options.pages or Pages()
        self.visits: Visits = Visits(self._settle)
        self.vault: Vault = _vault_in(runtime.calls.store, self._options)
        self._recalling = _Locks()
        self._mounted: PageSite | None = None
        self._loopback: tuple[TemporaryListener, PageSite] | None = None

    async def open(
        self, call: ServedCall, page: Page[Any], why: str, key: str, seconds: float
    ) -> tuple[Visit, str]:
        """A page for the person of a call, and its link."""
        from handraise.pages.identity import new_code
        from handraise.processes import can_tell

        site, local = self._site_for(call)
        if _is_kept(page, call.person):
            await self.vault.require_key()
        code = new_code() if local and not can_tell() else None
        if (
            not call.person.subject
        ):  # anonymous callers cannot be told apart, so two callers never share a page
            key = secrets.token_urlsafe(16)
        about = self._about(call, why)
        visit = self.visits.open(page, call.person, about, key=key, seconds=seconds, code=code)
        if call.person.how == "system":
            await self._loopback_site()[0].ensure()
        return visit, site.link(visit)

    async def recall(self, person: Person, page: Page[R]) -> R | None:
        """The vault's contents for a person, if they are usable. Changes, like a renewed token, are saved.

        One at a time for a person and service: two renewals at once would both lose the token.
        """
        if page.service is None:
            return None
        async with self._recalling[person.key, page.service]:
            kept = await self.vault.find(person, page.service)
            found = None if kept is None else await page.recall(kept)
            if kept is not None and found is None:  # another process may have renewed it first
                latest = await self.vault.find(person, page.service)
                return None if latest is None or latest == kept else await page.recall(latest)
            if found is not None and (now := dict(page.dump(found))) != kept:
                await self.vault.keep(person, page.service, now, seconds=page.keep_for)
        return found

    def app(self) -> ASGIApp:
        """The pages as an application, to be mounted at `MOUNTED_AT` below the public address."""
        return self._mounted_site().app

    async def close(self) -> None:
        """Stop listening."""
        if self._loopback is not None:
            await self._loopback[0].close()

    def _site_for(self, call: ServedCall) -> tuple[PageSite, bool]:
        """The site that recognises this person's browser, and whether it is on this computer."""
        person = call.person
        if person.how == "system":
            return self._loopback_site()[1], True
        if self._public_url is None:
            raise SetupError('Pages of a server on HTTP need its address: Handraise(public_url="https://…").')
        signs_in = self._options.sign_in is not None
        if person.how == "anonymous" and call.request.token is not None:
            raise SetupError(
                "A page is for a person, and the access token of this call does not say whose it is. Found mcp "
                f"{release_of('mcp')}; AccessToken.subject needs mcp 1.28 or newer. Have your verifier set subject, or "
                "give Handraise(person=…), a function from the access token to (issuer, subject)."
            )
        if person.how == "anonymous" and (signs_in or not is_loopback(self._public_url)):
            raise SetupError(
                "A page is for a person, and this server does not know who calls it. Protect it with OAuth (the "
                "SDK's auth=…), so that calls come with a verified token."
            )
        if person.how == "token" and not signs_in:
            raise SetupError(
                "Pages need to know whose browser it is: Handraise(pages=Pages(sign_in=…)), with OwnSessions for "
                "sessions of your own."
            )
        return self._mounted_site(), not signs_in

    def _mounted_site(self) -> PageSite:
        if self._public_url is None:
            raise UsageError("pages are mounted where they can be reached: give Handraise(public_url=…)")
        if self._mounted is None:
            from handraise.pages import ThisComputer
            from handraise.pages.site import PageSite

            url = self._public_url.rstrip("/") + MOUNTED_AT
            self._mounted = PageSite(
                self.visits,
                self._options.sign_in or ThisComputer(),
                serves="anonymous" if self._options.sign_in is None else "token",
                url=lambda: url,
                scheme=urlsplit(url).scheme,
                brand=self._options.brand,
                record=self._happened,
            )
        return self._mounted

    def _loopback_site(self) -> tuple[TemporaryListener, PageSite]:
        if self._loopback is None:
            from handraise.pages import ThisComputer
            from handraise.pages.site import PageSite
            from handraise.site.listener import TemporaryListener

            loopback = TemporaryListener(
                lambda: site.app,
                lambda: self.visits.wait_for("system"),
                self._options.idle,
                self._options.port,
            )
            site = PageSite(
                self.visits,
                ThisComputer(),
                serves="system",
                url=lambda: loopback.listener.base_url,
                hosts=lambda: loopback.listener.hosts,
                brand=self._options.brand,
                record=self._happened,
            )
            self._loopback = loopback, site
        return self._loopback

    def _happened(self, what: PageEvent, visit: Visit, reason: str) -> None:
        """Tell the author, and record what the ledger does not see elsewhere."""
        self._options.record(what, visit, reason)
        if what == "refused" and self._recorder is not None:
            self._recorder.turned_away(visit.person, reason)

    def _about(self, call: ServedCall, why: str) -> Any:
        from handraise.pages import VisitReason

        client = call.request.client
        return VisitReason(
            server=self._options.brand.name or self._name,
            client=None if client is None else f"{client.name} {client.version or ''}".strip(),
            request=f"{_KINDS.get(call.method, call.method)} {call.target}".strip(),
            why=why,
        )

    async def _settle(self, visit: Visit, answer: Answer[Any]) -> None:
        page = visit.page
        if isinstance(answer, Accepted) and page.service is not None and _is_kept(page, visit.person):
            contents = page.dump(answer.data)
            await self.vault.keep(visit.person, page.service, contents, seconds=page.keep_for)
        await self._flows.complete(visit.elicitation_id, visit.person)


class _Locks(weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock]):
    """A lock for each person and service, while it is used."""

    def __getitem__(self, key: tuple[str, str]) -> asyncio.Lock:
        return self.setdefault(key, asyncio.Lock())


_KINDS = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}


def _is_kept(page: Page[Any], person: Person) -> bool:
    """Whether the vault keeps the result of a page: never for an anonymous person."""
    return page.service is not None and person.how != "anonymous"


def _vault_in(store: Store, options: Pages) -> Vault:
    if options.keys is not None:
        keys = options.keys
        return Vault(store.secrets, lambda: keys)
    return Vault(store.secrets, default_keys if store.durable else EphemeralKeys)


class _Below:
    """An application as the response of a route. It sees the paths below the mount."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inner = {**scope, "root_path": scope.get("root_path", "") + MOUNTED_AT}
        await self._app(inner, receive, send)
