"""The web desk on the gateway's own address: everybody signs in, and sees their own questions only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from handraise.desks import Queue
from handraise.desks.past import Earlier
from handraise.desks.web.sessions import Sessions
from handraise.desks.web.site import Site
from handraise.gateway.shared.invitations import Invitations
from handraise.gateway.shared.people_file import PeopleFile
from handraise.site.gate import Gate


class SharedDesk:
    """The site, and the ways to sign in to it. There is no page for rules: those are the operator's."""

    def __init__(
        self,
        queue: Queue,
        public_url: str,
        *,
        people: PeopleFile | None = None,
        earlier: Earlier | None = None,
    ) -> None:
        """`earlier` tells what was decided before this run; everybody sees their own only."""
        self.sessions = Sessions(time.monotonic)
        self._site = Site(queue, self.sessions, earlier=earlier)
        self._invitations = None if people is None else Invitations(people)
        self._public = urlsplit(public_url)
        self.routes: list[BaseRoute] = [Route("/enter/{word}", self._enter)]

    def app(self, more: Sequence[BaseRoute] = ()) -> Gate:
        """The ASGI application; `more` are other ways in."""
        self._site.open()
        inside = Starlette(routes=[*more, *self.routes, Mount("/", self._site.app)])
        return Gate(inside, lambda: {self._public.netloc}, self._public.scheme)

    async def _enter(self, request: Request) -> Response:
        ticket = None
        if self._invitations is not None:
            ticket = self._invitations.admit(request.path_params["word"], self.sessions.invite)
        if ticket is None:
            raise HTTPException(403, "This link does not work any more. Each works once, for ten minutes.")
        return RedirectResponse(f"/sign-in/{ticket}", 303)
