"""The pages where people connect accounts: on this computer, or beside the shared desk."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from handraise.desks.web.sessions import cookie_name
from handraise.pages import Brand, ThisComputer, Visit, Visits
from handraise.pages.identity import BrowserMatch, new_code, same_person
from handraise.pages.page import BrowserAtPage, SettleVisit
from handraise.pages.site import PageSite
from handraise.processes import can_tell
from handraise.site.listener import TemporaryListener
from handraise.site.middleware import Posted

if TYPE_CHECKING:
    from handraise.desks.web.sessions import DeskSessions

logger = logging.getLogger(__name__)

_BRAND = Brand("Handraise gateway")
_IDLE = 60.0


class LocalPages:
    """Pages for the user of this computer, on a port that is open while a page waits.

    `lasts` tells the person how long the pages exist.
    """

    lasts = (
        "The page exists as long as the gateway runs. If your browser does not find it, or cannot come back to it, do "
        "the same again in your client: you get a new link."
    )

    def __init__(self, settle: SettleVisit, port: int) -> None:
        self.visits = Visits(settle)
        self._loopback = TemporaryListener(
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
        """Start listening; returns the base URL of the pages."""
        await self._loopback.ensure()
        return self._loopback.listener.base_url

    def code(self) -> str | None:
        """A code that the person must type, if nothing else shows whose browser it is."""
        return None if can_tell() else new_code()

    async def aclose(self) -> None:
        await self._loopback.close()


class SharedPages:
    """Pages on the address of a shared gateway, for people who are signed in to its desk."""

    lasts = ""  # after a restart the site itself says that a page is gone

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


AccountPages: TypeAlias = LocalPages | SharedPages


class AtTheDesk:
    """Recognises a browser by its session at the desk.

    Browsers do not send the desk's cookie when another site redirects to us. So a page sets its own cookie for a
    browser that it recognised once.
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
    """Log a visit. The ledger records the question and its answer elsewhere."""
    logger.info("a page for %s was %s %s", visit.about.request, what, reason)
