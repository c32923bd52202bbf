"""The web desk on the gateway's own address: everybody signs in, and sees their own questions only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from handraise.desks import Queue
from handraise.desks.passkeys import PasskeyFile, Passkeys, PasskeyStore
from handraise.desks.past import Earlier
from handraise.desks.web.sessions import Errand, Sessions
from handraise.desks.web.site import Site
from handraise.desks.web.with_passkey import WithPasskey
from handraise.gateway.shared.invitations import Invitations
from handraise.gateway.shared.people_file import PeopleFile
from handraise.questions import Person
from handraise.site.gate import Gate

ADD_FIRST: Final = "You have no passkey here yet, so this question waits. Add one, then come back."
ASK_FOR_LINK: Final = (
    "You have no passkey here yet, so this question waits. Ask the operator of this gateway for a link that adds one: "
    "`handraise gateway people link` makes it with `--passkey`."
)


class SharedDesk:
    """The site, and the ways to sign in to it. There is no page for rules: those are the operator's."""

    def __init__(
        self,
        queue: Queue,
        public_url: str,
        *,
        people: PeopleFile | None = None,
        earlier: Earlier | None = None,
        passkeys: PasskeyStore | None = None,
    ) -> None:
        """`earlier` tells what was decided before this run; everybody sees their own only.

        `passkeys` are kept there, or else in the data directory of whoever runs the gateway. People add their first one
        with a link of the operator's; where an issuer signs them in, at the desk itself.
        """
        self.sessions = Sessions(time.monotonic)
        self._public = urlsplit(public_url)
        host = self._public.hostname or ""
        self._passkeys = Passkeys(passkeys or PasskeyFile(), rp_id=host, origin=lambda: public_url)
        with_passkey = WithPasskey(
            self._passkeys, advice=ADD_FIRST if people is None else ASK_FOR_LINK, enrols=people is None
        )
        self._site = Site(queue, self.sessions, earlier=earlier, passkeys=with_passkey)
        self._invitations = None if people is None else Invitations(people)
        self.routes: list[BaseRoute] = [Route("/enter/{word}", self._enter)]

    def app(self, more: Sequence[BaseRoute] = ()) -> Gate:
        """The ASGI application; `more` are other ways in."""
        self._site.open()
        inside = Starlette(routes=[*more, *self.routes, Mount("/", self._site.app)])
        return Gate(inside, lambda: {self._public.netloc}, self._public.scheme)

    def _invite(self, person: Person, passkey: bool) -> str:
        """A ticket for a person. Whoever makes the links knows whom they give one to add a passkey with."""
        errand = Errand("add", self._passkeys.free_name(person), trusted=True) if passkey else None
        return self.sessions.invite(person, errand)

    async def _enter(self, request: Request) -> Response:
        ticket = None
        if self._invitations is not None:
            ticket = self._invitations.admit(request.path_params["word"], self._invite)
        if ticket is None:
            raise HTTPException(403, "This link does not work any more. Each works once, for ten minutes.")
        return RedirectResponse(f"/sign-in/{ticket}", 303)
