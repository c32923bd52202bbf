"""The web desk: a site on this computer that shows a queue."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from handraise.access import AccessCheck
from handraise.desks.codes import AnswerCode, DeskCodeCheck
from handraise.desks.control import require_private, runtime_directory
from handraise.desks.endings import Earlier
from handraise.desks.gate import PolicyGate
from handraise.desks.passkeys import LOCAL, PasskeyFile, Passkeys, PasskeyStore
from handraise.desks.queue import Queue
from handraise.desks.web.passkeys import Heard, PasskeyAnswers
from handraise.desks.web.sessions import DeskSessions, PasskeyTask, page_with_link
from handraise.desks.web.site import Site
from handraise.disk import create_file
from handraise.errors import SetupError
from handraise.questions import Person
from handraise.site.listener import Listener
from handraise.site.middleware import SameSiteMiddleware

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
        code: AnswerCode | None = None,
        earlier: Earlier | None = None,
        now: Callable[[], float] = time.time,
        access: AccessCheck | None = None,
        desk_code: DeskCodeCheck | None = None,
        passkeys: PasskeyStore | None = None,
        heard: Heard | None = None,
    ) -> None:
        """`port` 0 takes a free one. `clock` measures, `now` tells the time of day.

        With a `gate` the desk has a page for servers and rules; with a `code` it says how to answer from a terminal;
        with `earlier` its history goes back to before this run. `access` knows which programs of this computer are
        kept out; without one, those of other users. `desk_code` lets a person in where the system does not tell.
        Where the gate's policy wants passkeys, or with a place where `passkeys` are kept, the desk is at
        http://localhost; `heard` is told how a person gets on who adds one.
        """
        file = passkeys or PasskeyFile()
        wanted = bool(gate is not None and gate.policy.settings.desk.passkey) or _has_any(file)
        self._listener = Listener("The web desk", host, port, as_localhost=wanted or passkeys is not None)
        kept = Passkeys(
            file,
            rp_id=LOCAL,
            origin=lambda: f"http://{LOCAL}:{self.port}",
            clock=clock,
            now=now,
        )
        self._sessions = DeskSessions(clock)
        self._site = Site(
            queue,
            self._sessions,
            gate=gate,
            code=code,
            earlier=earlier,
            clock=clock,
            now=now,
            access=access or AccessCheck(),
            desk_code=desk_code or DeskCodeCheck(read_once=access is not None),
            passkeys=PasskeyAnswers(kept, advice=ADD_FIRST),
            heard=heard,
        )
        self.app = SameSiteMiddleware(self._site.app, lambda: self.hosts)
        """The ASGI application, as it is served."""

    @property
    def port(self) -> int:
        """The port: the one that was asked for, or the one that was taken at the start."""
        return self._listener.port

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the desk answers; under any other it does not, whatever it resolves to."""
        return self._listener.hosts

    def sign_in_url(self, person: Person | None = None, passkey_task: PasskeyTask | None = None) -> str:
        """A link that signs one browser in, once, within ten minutes. With `person`, to their questions only.

        With a `passkey_task` it leads to the page on which they add a passkey, or remove one.
        """
        return self._sign_in_link(self._sessions.invite(person, passkey_task))

    def sign_in_file(
        self,
        person: Person | None = None,
        passkey_task: PasskeyTask | None = None,
        question: str | None = None,
    ) -> Path:
        """A private file that leads one browser to its sign-in page, and from there to the question with this id.

        A browser is opened with it, and not with the link: everybody can see the arguments of a program.
        """
        ticket = self._sessions.invite(person, passkey_task, question)
        file = _place_for_browsers() / f"handraise-desk-{secrets.token_hex(8)}.html"
        create_file(file, page_with_link(self._sign_in_link(ticket)))
        self._sessions.keep_file(ticket, file)
        return file

    def _sign_in_link(self, ticket: str) -> str:
        return f"{self._listener.base_url}/sign-in/{ticket}"

    async def start(self) -> None:
        """Listen. Returns when the desk can be reached."""
        await self._listener.start(self.app)
        self._site.open()

    async def stop(self) -> None:
        """Stop listening and end what is open. The questions stay in the queue."""
        self._site.close()
        self._sessions.withdraw_tickets()
        await self._listener.stop()

    async def run(self) -> None:
        """Serve until cancelled, as every desk does. Who needs the address uses `async with`."""
        async with self:
            await asyncio.Event().wait()

    async def __aenter__(self) -> WebDesk:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


def _has_any(passkeys: PasskeyStore) -> bool:
    try:
        return bool(passkeys.all())
    except SetupError:  # the page that wants one says what is wrong
        return False


def _place_for_browsers() -> Path:
    """A directory where the person's browser can read a file that nobody else can.

    A browser in a snap reads nothing in hidden directories, but what lies openly in the person's home.
    """
    if Path("/snap").is_dir():
        return Path.home()
    directory = runtime_directory(os.environ)
    require_private(directory)
    return directory
