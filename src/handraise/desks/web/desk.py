"""The web desk: a site on this computer that shows a queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from handraise.desks.counter import Code
from handraise.desks.gate import PolicyGate
from handraise.desks.past import Earlier
from handraise.desks.queue import Queue
from handraise.desks.web.sessions import Sessions
from handraise.desks.web.site import MaySignIn, Site
from handraise.questions import Person
from handraise.site.gate import Gate
from handraise.site.listener import Listener


class WebDesk:
    """Serves a queue's questions to a browser on this computer.

        async with WebDesk(queue) as desk:
            link = desk.sign_in_url()

    Nobody is let in without such a link. It is returned and never printed: whoever shows it decides where, and a
    process whose output a model reads must not print it.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
        gate: PolicyGate | None = None,
        code: Code | None = None,
        earlier: Earlier | None = None,
        now: Callable[[], float] = time.time,
        may_sign_in: MaySignIn | None = None,
    ) -> None:
        """`port` 0 takes a free one. `clock` measures, `now` tells the time of day.

        With a `gate` the desk has a page for servers and rules; with a `code` it says how to answer from a terminal;
        with `earlier` its history goes back to before this run. `may_sign_in` has the last word on who signs in.
        """
        self._listener = Listener("The web desk", host, port)
        self._sessions = Sessions(clock)
        self._site = Site(
            queue,
            self._sessions,
            gate=gate,
            code=code,
            earlier=earlier,
            clock=clock,
            now=now,
            may_sign_in=may_sign_in,
        )
        self.app = Gate(self._site.app, lambda: self.hosts)
        """The ASGI application, as it is served."""

    @property
    def port(self) -> int:
        """The port: the one that was asked for, or the one that was taken at the start."""
        return self._listener.port

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the desk answers; under any other it does not, whatever it resolves to."""
        return self._listener.hosts

    def sign_in_url(self, person: Person | None = None) -> str:
        """A link that signs one browser in, once, within ten minutes. With `person`, to their questions only."""
        return f"{self._listener.base_url}/sign-in/{self._sessions.invite(person)}"

    async def start(self) -> None:
        """Listen. Returns when the desk can be reached."""
        await self._listener.start(self.app)
        self._site.open()

    async def stop(self) -> None:
        """Stop listening and end what is open. The questions stay in the queue."""
        self._site.close()
        await self._listener.stop()

    async def __aenter__(self) -> WebDesk:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
