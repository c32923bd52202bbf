"""Where people connect their accounts: pages of the gateway's own, on this computer or beside the shared desk."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from handraise.desks.web.lookup import cookie_name
from handraise.pages import Brand, ThisComputer, Visit, Visits
from handraise.pages.identity import BrowserMatch, new_code, same_person
from handraise.pages.loopback import LoopbackListener
from handraise.pages.page import BrowserAtPage
from handraise.pages.site import PageSite
from handraise.pages.visits import SettleVisit
from handraise.processes import can_tell
from handraise.site.middleware import Posted

if TYPE_CHECKING:
    from handraise.desks.web.sessions import DeskSessions

logger = logging.getLogger(__name__)

_BRAND = Brand("Handraise gateway")
_IDLE = 60.0


class AccountPages(Protocol):
    """A site of pages for one kind of people."""

    visits: Visits
    lasts: str
    """For how long its pages are there, for a person who may find none any more."""

    async def open(self) -> str:
        """Be reachable, on return; the address below which the pages are."""
        ...

    def code(self) -> str | None:
        """What a person has to type, where nothing else tells whose browser it is."""
        ...

    async def aclose(self) -> None:
        """Stop listening."""
        ...


class LocalPages:
    """Pages for the user of this computer, on a port that is open while one waits."""

    lasts = (
        "The page is there for as long as the gateway runs. If your browser does not find it, or cannot come back to "
        "it, do the same again in your client: you get a new link."
    )

    def __init__(self, settle: SettleVisit, port: int) -> None:
        self.visits = Visits(settle)
        self._loopback = LoopbackListener(
            lambda: self._site.app, lambda: self.visits.wait_for("system"), _IDLE, port
        )
        self._site = PageSite(
            self.visits,
            ThisComputer(),
            serves="system",
            url=lambda: self._loopback.listener.base_url,
            hosts=lambda: self._loopback.listener.hosts,
            brand=_BRAND,
            record=_noted,
        )

    async def open(self) -> str:
        await self._loopback.ensure()
        return self._loopback.listener.base_url

    def code(self) -> str | None:
        return None if can_tell() else new_code()

    async def aclose(self) -> None:
        await self._loopback.close()


class SharedPages:
    """Pages below the address of a shared gateway, for whoever is signed in to its desk."""

    lasts = ""  # another process at that address says so itself

    def __init__(self, settle: SettleVisit, url: str, sessions: DeskSessions) -> None:
        self.visits = Visits(settle)
        self._url = url
        site = PageSite(
            self.visits,
            AtTheDesk(sessions),
            serves="token",
            url=lambda: url,
            scheme=urlsplit(url).scheme,
            brand=_BRAND,
            record=_noted,
        )
        self.app = site.app

    async def open(self) -> str:
        return self._url

    def code(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


class AtTheDesk:
    """Knows a browser by its session at the desk.

    The desk's cookie is not sent when another site sends the browser back. So whoever was seen once is known by a
    cookie of the page's own from then on, for this page only.
    """

    routes: Sequence[BaseRoute] = ()
    another_account: str | None = None

    def __init__(self, sessions: DeskSessions) -> None:
        self._sessions = sessions

    async def see(self, sitting: BrowserAtPage) -> BrowserMatch:
        if sitting.browser in sitting.visit.browsers:
            return "them"
        person = self._sessions.person(sitting.request.cookies.get(cookie_name(sitting.request)))
        return "another" if person is not None and not same_person(person, sitting.visit.person) else "nobody"

    async def invite(self, sitting: BrowserAtPage) -> Response:
        person = self._sessions.person(sitting.request.cookies.get(cookie_name(sitting.request)))
        if person is None or not same_person(person, sitting.visit.person):
            return sitting.render("sign_in.html", 401)
        return sitting.admit(RedirectResponse(sitting.at, 303))

    async def enter(self, sitting: BrowserAtPage, posted: Posted) -> Response | None:
        return None


def _noted(what: str, visit: Visit, reason: str) -> None:
    """The ledger has the question and its answer; who else came is for the log."""
    logger.info("a page for %s was %s %s", visit.about.request, what, reason)
