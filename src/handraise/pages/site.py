"""The site of pages: whose browser it is, where the visit stands, and then the page itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from handraise.errors import HandraiseError
from handraise.pages.brand import Brand
from handraise.pages.browsers import Browsers, new_browser
from handraise.pages.identity import SignIn
from handraise.pages.page import Sitting
from handraise.pages.visits import Visit, Visits
from handraise.pages.webhooks import Webhooks
from handraise.questions import Accepted, Answer, Cancelled, Declined
from handraise.site.gate import Gate
from handraise.site.posted import first, has_token, read_posted
from handraise.site.rendering import StaticFiles, environment

logger = logging.getLogger(__name__)

Happening = Literal["opened", "completed", "refused"]
Record = Callable[[Happening, Visit, str], None]
"""Told of what happens on pages, for whoever keeps a record: what, on which visit, and why it was refused."""


class Site:
    """Serves visits to browsers, at `url` and under no other name than its host's (or `hosts`).

    `serves` is how the people are known whose pages it has: its sign-in can tell no others.
    """

    def __init__(
        self,
        visits: Visits,
        sign_in: SignIn,
        *,
        serves: Literal["token", "system", "anonymous"],
        url: Callable[[], str],
        brand: Brand,
        record: Record,
        scheme: str = "http",
        hosts: Callable[[], Collection[str]] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._visits = visits
        self._sign_in = sign_in
        self._serves = serves
        self._url = url
        self._brand = brand
        self._record = record
        self._clock = clock
        self._browsers = Browsers(url)
        self._files = StaticFiles("handraise.pages")
        self._environment = environment("handraise.pages", "handraise.desks.web", static="")
        shown = Starlette(
            routes=[
                Route("/static/{name}", self._static),
                Route("/back", self._back),
                Route("/back/{service}", self._back),
                *sign_in.routes,
                Route("/{visit}", self._show),
                Route("/{visit}", self._take, methods=["POST"]),
                Route("/{visit}/{step}", self._step),
            ],
            exception_handlers={HTTPException: self._refused, HandraiseError: self._failed},
        )
        shown.router.redirect_slashes = False
        gated = Gate(shown, lambda: hosts() if hosts else {urlsplit(url()).netloc}, scheme)
        self.app: Starlette = Starlette(routes=[Webhooks(visits, clock).route, Mount("/", app=gated)])
        """The ASGI application, as it is served."""

    @property
    def base(self) -> str:
        """The path at which the site is mounted, as browsers see it."""
        return urlsplit(self._url()).path

    def link(self, visit: Visit) -> str:
        """The address that a question carries."""
        return f"{self._url()}/{visit.id}"

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "brand.css":
            return Response(self._brand.stylesheet, media_type="text/css")
        if name == "logo" and self._brand.logo is not None:
            return Response(self._brand.logo, media_type=self._brand.logo_type)
        found = self._files.get(name)
        if found is None:
            raise HTTPException(404, "There is no such file.")
        return found

    async def _show(self, request: Request) -> Response:
        sitting = self._sit(request, self._visits.find(request.path_params["visit"]))
        return await self._let_in(sitting) or await self._present(sitting)

    async def _present(self, sitting: Sitting) -> Response:
        if (over := self._over(sitting)) is not None:
            return over
        self._record("opened", sitting.visit, "")
        return await sitting.visit.page.show(sitting)

    async def _step(self, request: Request) -> Response:
        sitting = self._sit(request, self._visits.find(request.path_params["visit"]))
        return await self._walk(sitting, request.path_params["step"])

    async def _back(self, request: Request) -> Response:
        """Where other sites send a browser: one address for all visits, which only `state` tells apart."""
        sitting = self._sit(request, self._visits.find_returning(request.query_params.get("state", "")))
        return await self._walk(sitting, "back")

    async def _walk(self, sitting: Sitting, step: str) -> Response:
        if (stopped := await self._let_in(sitting) or self._over(sitting)) is not None:
            return stopped
        came = await sitting.visit.page.step(sitting, step)
        if came is None:
            raise HTTPException(404, _NOTHING)
        return came if isinstance(came, Response) else await self._end(sitting, came)

    async def _take(self, request: Request) -> Response:
        sitting = self._sit(request, self._visits.find(request.path_params["visit"]))
        posted = await read_posted(request)
        if not has_token(posted, self._browsers.csrf(sitting.browser, sitting.visit.id)):
            raise HTTPException(403, _STALE)
        seen = await self._sign_in.see(sitting)
        if seen == "nobody" and (entered := await self._sign_in.enter(sitting, posted)) is not None:
            return entered
        if (stopped := await self._let_in(sitting) or self._over(sitting, 409)) is not None:
            return stopped
        match first(posted, "do"):
            case "decline":
                return await self._end(sitting, Declined())
            case "cancel":
                return await self._end(sitting, Cancelled())
            case _:
                came = await sitting.visit.page.take(sitting, posted)
                return await self._end(sitting, came) if isinstance(came, Accepted) else came

    async def _let_in(self, sitting: Sitting) -> Response | None:
        """None for the person who was asked. Nothing is consumed, or told, before that is known."""
        match await self._sign_in.see(sitting):
            case "them":
                return None
            case "nobody":
                return await self._sign_in.invite(sitting)
            case "another":
                logger.warning("somebody else opened a page that waits for its own person")
                self._record("refused", sitting.visit, "another person")
                again = self._sign_in.another_account
                return self._note("not_you", 403, again=again and f"{self.base}/{again}")

    async def _end(self, sitting: Sitting, answer: Answer[Any]) -> Response:
        if not await self._visits.end(sitting.visit, answer):
            over = self._over(sitting, 409)
            assert over is not None
            return over
        self._record("completed", sitting.visit, answer.action)
        return RedirectResponse(sitting.at, 303)

    def _over(self, sitting: Sitting, status: int = 200) -> Response | None:
        """How a visit ended, None while it waits."""
        state = self._visits.state(sitting.visit)
        if state == "waiting":
            return None
        return self._note(
            "already" if status == 409 else state, status, about=sitting.visit.about, page=sitting.visit.page
        )

    def _sit(self, request: Request, visit: Visit | None) -> Sitting:
        if visit is None or visit.person.how != self._serves:
            raise HTTPException(404, _NOTHING)
        browser = self._browsers.meet(request)

        def render(template: str, status: int = 200, **values: object) -> Response:
            response = self._render(
                template,
                status,
                visit=visit,
                about=visit.about,
                page=visit.page,
                at=at,
                csrf=self._browsers.csrf(browser.name, visit.id),
                left=max(0, round((visit.deadline - self._clock()) / 60)),
                **values,
            )
            return self._browsers.give_cookie(response, browser) if browser.is_new else response

        def admit(response: Response) -> Response:
            own = new_browser()  # session fixation: the cookie that came may be known to others
            visit.browsers.add(own.name)
            return self._browsers.give_cookie(response, own)

        at = f"{self.base}/{visit.id}"
        return Sitting(request, visit, at, f"{self._url()}/back", browser.name, admit, render)

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return self._note(
            "nothing" if error.status_code == 404 else "refused", error.status_code, text=error.detail
        )

    async def _failed(self, request: Request, error: Exception) -> Response:
        """Told without its traceback, whose frames hold what was posted."""
        logger.error("a page could not be served: %s: %s", type(error).__name__, error)
        return self._note("refused", 503, text=_FAILED)

    def _note(self, note: str, status: int, **values: object) -> Response:
        return self._render(
            "note.html",
            status,
            note=note,
            **{"about": None, "page": None, "text": "", "again": None, **values},
        )

    def _render(self, template: str, status: int, **values: object) -> Response:
        text = self._environment.get_template(template).render(
            static=f"{self.base}/static/", brand=self._brand, **values
        )
        return HTMLResponse(text, status)


_NOTHING: Final = (
    "There is nothing at this address, or it is over. Links to pages work once, for a limited time, and for as long as "
    "the program runs that made them. Go back to your client and do the same again: you get a new link."
)
_FAILED: Final = (
    "What you did could not be kept, so that nothing was changed. Go back and try again in a moment."
)
_STALE: Final = (
    "This page is out of date, or your browser keeps no cookies. Open the link from your client again."
)
