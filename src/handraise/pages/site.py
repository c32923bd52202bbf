"""The site of pages: it checks the browser, then the visit, then shows the page."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from handraise.desks.language import Language, language_of_browser
from handraise.errors import HandraiseError
from handraise.pages.identity import Browsers, BrowserSignIn, new_browser
from handraise.pages.outside_page import OutsidePage
from handraise.pages.page import Brand, BrowserAtPage, Visit, Visits
from handraise.questions import Accepted, Answer, Cancelled, Declined
from handraise.site.middleware import SameSiteMiddleware, first, has_token, read_posted
from handraise.site.rendering import StaticFiles, environment
from handraise.vault import KeySource

_MOST_BYTES: Final = 64 * 1024


logger = logging.getLogger(__name__)

PageEvent = Literal["opened", "completed", "refused"]
PageListener = Callable[[PageEvent, Visit, str], None]
"""A listener for events on pages: the event, the visit, and the reason for a refusal."""


class PageSite:
    """Serves visits to browsers at `url`, only under its host (or `hosts`).

    `serves`: how its people are known. Its sign-in recognises no others.
    """

    def __init__(
        self,
        visits: Visits,
        sign_in: BrowserSignIn,
        *,
        serves: Literal["token", "system", "anonymous"],
        url: Callable[[], str],
        brand: Brand,
        record: PageListener,
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
        gated = SameSiteMiddleware(shown, lambda: hosts() if hosts else {urlsplit(url()).netloc}, scheme)
        self.app: Starlette = Starlette(
            routes=[Route("/hooks/{reference}", self._webhook, methods=["POST"]), Mount("/", app=gated)]
        )
        """The ASGI application."""

    @property
    def base(self) -> str:
        """The path of the site's mount, for browsers."""
        return urlsplit(self._url()).path

    def link(self, visit: Visit) -> str:
        """The URL for a question."""
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

    async def _present(self, sitting: BrowserAtPage) -> Response:
        if (over := self._over(sitting)) is not None:
            return over
        self._record("opened", sitting.visit, "")
        return await sitting.visit.page.show(sitting)

    async def _step(self, request: Request) -> Response:
        sitting = self._sit(request, self._visits.find(request.path_params["visit"]))
        return await self._walk(sitting, request.path_params["step"])

    async def _back(self, request: Request) -> Response:
        """Handle a return from another site. All visits share one URL; `state` tells them apart."""
        sitting = self._sit(request, self._visits.find_returning(request.query_params.get("state", "")))
        return await self._walk(sitting, "back")

    async def _walk(self, sitting: BrowserAtPage, step: str) -> Response:
        if (stopped := await self._let_in(sitting) or self._over(sitting)) is not None:
            return stopped
        came = await sitting.visit.page.step(sitting, step)
        if came is None:
            raise HTTPException(404, NOTHING)
        return came if isinstance(came, Response) else await self._end(sitting, came)

    async def _take(self, request: Request) -> Response:
        sitting = self._sit(request, self._visits.find(request.path_params["visit"]))
        posted = await read_posted(request)
        if not has_token(posted, self._browsers.csrf(sitting.browser, sitting.visit.id)):
            raise HTTPException(403, STALE)
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

    async def _let_in(self, sitting: BrowserAtPage) -> Response | None:
        """None for the person who was asked, else a refusal. Nothing is consumed or shown before."""
        match await self._sign_in.see(sitting):
            case "them":
                return None
            case "nobody":
                return await self._sign_in.invite(sitting)
            case "another":
                logger.warning("somebody else opened a page that waits for its own person")
                self._record("refused", sitting.visit, "another person")
                again = self._sign_in.another_account
                url = again and f"{self.base}/{again}"
                return self._note("not_you", 403, sitting.language, again=url)

    async def _end(self, sitting: BrowserAtPage, answer: Answer[Any]) -> Response:
        if not await self._visits.end(sitting.visit, answer):
            over = self._over(sitting, 409)
            assert over is not None
            return over
        self._record("completed", sitting.visit, answer.action)
        return RedirectResponse(sitting.at, 303)

    def _over(self, sitting: BrowserAtPage, status: int = 200) -> Response | None:
        """The page about a visit that ended; None while it waits."""
        state = self._visits.state(sitting.visit)
        if state == "waiting":
            return None
        visit, note = sitting.visit, "already" if status == 409 else state
        return self._note(note, status, sitting.language, about=visit.about, page=visit.page)

    def _sit(self, request: Request, visit: Visit | None) -> BrowserAtPage:
        if visit is None or visit.person.how != self._serves:
            raise HTTPException(404, NOTHING)
        browser, language = self._browsers.meet(request), _language_of(request)

        def render(template: str, status: int = 200, **values: object) -> Response:
            response = self._render(
                template,
                status,
                language,
                visit=visit,
                about=visit.about,
                page=visit.page,
                at=at,
                csrf=self._browsers.csrf(browser.name, visit.id),
                left=language.left(visit.deadline - self._clock()),
                **values,
            )
            return self._browsers.give_cookie(response, browser) if browser.is_new else response

        def admit(response: Response) -> Response:
            own = new_browser()  # session fixation: others may know the old cookie
            visit.browsers.add(own.name)
            return self._browsers.give_cookie(response, own)

        at = f"{self.base}/{visit.id}"
        return BrowserAtPage(request, visit, at, f"{self._url()}/back", browser.name, language, admit, render)

    async def _webhook(self, request: Request) -> Response:
        """Take the webhook of an outside page. An unsigned one does not learn whether a visit exists."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                return PlainTextResponse("Too much.\n", 413)
        visit = self._visits.find_reference(request.path_params["reference"])
        if visit is not None and isinstance(visit.page, OutsidePage):
            signature = request.headers.get("handraise-signature", "")
            answer = visit.page.read_webhook(visit.elicitation_id, bytes(body), signature, self._clock())
            if answer is not None:
                await self._visits.end(visit, answer)  # webhooks may be repeated
                return Response(status_code=204)
        return PlainTextResponse("Nothing here.\n", 404)

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        language, note = _language_of(request), "nothing" if error.status_code == 404 else "refused"
        return self._note(note, error.status_code, language, text=language.sentence(error.detail))

    async def _failed(self, request: Request, error: Exception) -> Response:
        """Log an error without its traceback, whose frames contain the posted data."""
        logger.error("a page could not be served: %s: %s", type(error).__name__, error)
        language = _language_of(request)
        return self._note("refused", 503, language, text=language("page_failed"))

    def _note(self, note: str, status: int, language: Language, **values: object) -> Response:
        absent = {"about": None, "page": None, "text": "", "again": None}
        return self._render("note.html", status, language, note=note, **{**absent, **values})

    def _render(self, template: str, status: int, language: Language, **values: object) -> Response:
        text = self._environment.get_template(template).render(
            static=f"{self.base}/static/", brand=self._brand, t=language, **values
        )
        return HTMLResponse(text, status)


def _language_of(request: Request) -> Language:
    return language_of_browser(request.headers.get("accept-language", ""))


NOTHING: Final = (
    "There is nothing at this address, or it is over. Links to pages work once, for a limited time, and for as long as "
    "the program runs that made them. Go back to your client and do the same again: you get a new link."
)
STALE: Final = (
    "This page is out of date, or your browser keeps no cookies. Open the link from your client again."
)


def _unrecorded(what: str, visit: Visit, reason: str) -> None:
    """No record is kept."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Hosting of pages: sign-in, look, and the vault's keys.

    - `sign_in`: recognises the MCP principal's browser; needed for people with a token.
    - `brand`: name, logo and colour.
    - `keys`: the vault's; a variable, a file or the system's keyring when absent.
    - `idle`: seconds after which a stdio server's loopback listener stops, when no page waits.
    - `port`: that listener's port; 0 for any free one. A service may require a fixed one for connected accounts.
    - `record`: called for every page that is opened, completed or refused.
    """

    sign_in: BrowserSignIn | None = None
    brand: Brand = field(default_factory=Brand)
    keys: KeySource | None = None
    idle: float = 60.0
    port: int = 0
    record: PageListener = _unrecorded
