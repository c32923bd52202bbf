"""The web desk: a site on this computer that shows a queue."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from handraise.desks.counter import Code
from handraise.desks.gate import PolicyGate
from handraise.desks.passkeys import LOCAL, PasskeyFile, Passkeys, PasskeyStore
from handraise.desks.past import Earlier
from handraise.desks.queue import Queue
from handraise.desks.web.enrolling import Heard
from handraise.desks.web.sessions import Errand, Sessions
from handraise.desks.web.site import MaySignIn, Site
from handraise.desks.web.with_passkey import WithPasskey
from handraise.questions import Person
from handraise.site.gate import Gate
from handraise.site.listener import Listener

ADD_FIRST: Final = (
    "You have no passkey yet, so this question waits. Run `handraise desk passkey add` in a terminal of your own, then "
    "reload this page."
)


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
        passkeys: PasskeyStore | None = None,
        heard: Heard | None = None,
    ) -> None:
        """`port` 0 takes a free one. `clock` measures, `now` tells the time of day.

        With a `gate` the desk has a page for servers and rules; with a `code` it says how to answer from a terminal;
        with `earlier` its history goes back to before this run. `may_sign_in` has the last word on who signs in.
        Where the gate's policy wants passkeys, or with a place where `passkeys` are kept, the desk is at
        http://localhost; `heard` is told how a person gets on who adds one.
        """
        wanted = gate is not None and bool(gate.policy.settings.desk.passkey)
        self._listener = Listener("The web desk", host, port, as_localhost=wanted or passkeys is not None)
        kept = Passkeys(
            passkeys or PasskeyFile(),
            rp_id=LOCAL,
            origin=lambda: f"http://{LOCAL}:{self.port}",
            clock=clock,
            now=now,
        )
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
            passkeys=WithPasskey(kept, advice=ADD_FIRST),
            heard=heard,
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

    def sign_in_url(self, person: Person | None = None, errand: Errand | None = None) -> str:
        """A link that signs one browser in, once, within ten minutes. With `person`, to their questions only.

        With an `errand` it leads to the page on which they add a passkey, or remove one.
        """
        return f"{self._listener.base_url}/sign-in/{self._sessions.invite(person, errand)}"

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
