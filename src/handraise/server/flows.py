"""Flows: URL questions between consent and completion. Who waits for a flow, and who may finish it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handraise.calls import Flow, Store
from handraise.errors import CompletionRefused, StoreError
from handraise.questions import Person
from handraise.stores import named_store

if TYPE_CHECKING:
    from handraise.sdk.adapter import IncomingRequest
    from handraise.server.served import ServedCall

logger = logging.getLogger(__name__)

_POLL = 0.5
"""Seconds between lookups of a flow that another process may finish."""
_AT_ONCE = 16
"""How many flows without a waiting handler are looked up at once."""
_AWAY = 5.0
"""Seconds before an unreachable store is tried again."""
_FEW = 64


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Notice:
    """A notice to one client about one flow. It lives as long as its keeper."""

    elicitation_id: str
    deadline: float
    """Until when, by the monotonic clock."""
    request: IncomingRequest
    """The request that asked."""
    call: weakref.ref[ServedCall]
    keeper: dict[str, Notice]
    """The connection or the waiting call that keeps it alive."""

    @property
    def is_on_call(self) -> bool:
        """Whether the call that asked is still open."""
        call = self.call()
        return call is not None and call.state != "over"

    async def send(self) -> None:
        """Tell the client, on the call's own stream while it is open, then on the connection's."""
        await self.request.send_complete(self.elicitation_id, on_request=self.is_on_call)


class Notices:
    """The pending notices of one server, by weak references: a client that left gets none."""

    def __init__(self) -> None:
        self._due: dict[str, weakref.WeakSet[Notice]] = {}
        self._many = _FEW

    def add(self, notice: Notice) -> None:
        """Add a notice. It replaces the one of the same keeper for the same flow."""
        if len(self._due) >= self._many:
            self._many = max(_FEW, 2 * len(self.flows()))
        notice.keeper[notice.elicitation_id] = notice
        self._due.setdefault(notice.elicitation_id, weakref.WeakSet()).add(notice)

    def drop(self, notice: Notice) -> None:
        """Remove a notice."""
        if notice.keeper.get(notice.elicitation_id) is notice:
            del notice.keeper[notice.elicitation_id]
        due = self._due.get(notice.elicitation_id)
        if due is not None:
            due.discard(notice)
            if not due:
                del self._due[notice.elicitation_id]

    def flows(self) -> list[str]:
        """The ids of flows with a pending notice."""
        now = time.monotonic()
        for elicitation_id, due in list(self._due.items()):
            for notice in [notice for notice in due if notice.deadline <= now]:
                self.drop(notice)
            if not due:
                self._due.pop(elicitation_id, None)
        return list(self._due)

    def send(self, elicitation_id: str) -> asyncio.Future[list[None]]:
        """Tell every client at once that a flow is finished, once for each connection.

        On return the notices are sent, so a handler that wakes up now comes after them.
        """
        now = time.monotonic()
        due = sorted(self._due.get(elicitation_id, ()), key=lambda notice: notice.is_on_call)
        for notice in due:
            self.drop(notice)
        told = {id(notice.request.connection): notice for notice in due if notice.deadline > now}
        return asyncio.gather(*(notice.send() for notice in told.values()))


class Flows:
    """The flows of one installed server."""

    def __init__(self, store: Store) -> None:
        self.store: Store = store
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._notices = Notices()
        self._watcher: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The server's event loop while it runs. Notices and wake-ups happen there."""
        _KNOWN.add(self)

    def start(self) -> None:
        """The server runs from now on, in this event loop."""
        self._loop = asyncio.get_running_loop()

    async def open(self, elicitation_id: str, person: Person, timeout: float, about: str = "") -> str:
        """Begin or continue a flow of this person; returns its id. Flows `about` the same thing share one id."""
        deadline = self.store.now() + timeout
        if about:
            elicitation_id = await self._take(about, elicitation_id, deadline)
        await self.store.open_flow(Flow(elicitation_id, person.key, deadline))
        return elicitation_id

    async def known_id(self, about: str) -> str | None:
        """The id of the flow about something, begun in any process; None when there is none."""
        found = await self.store.find_flow(about)
        return None if found is None else found.person

    async def _take(self, about: str, elicitation_id: str, deadline: float) -> str:
        """Let an id be found by its subject.

        In the store this is a second flow, which belongs to the id instead of a person. Nobody can finish it, the first
        one wins, and it ends with the other flow.
        """
        try:
            await self.store.open_flow(Flow(about, elicitation_id, deadline))
        except StoreError:
            if (known := await self.known_id(about)) is None:
                raise
            return known
        return elicitation_id

    async def is_complete(self, elicitation_id: str, person: Person) -> bool:
        """Whether this person has finished the flow."""
        flow = await self.store.find_flow(elicitation_id)
        return flow is not None and flow.completed and flow.person == person.key

    async def announce(self, notice: Notice, person: Person) -> None:
        """Tell a client when the flow is finished, or now if it is."""
        self._notices.add(notice)
        if await self.is_complete(notice.elicitation_id, person):
            await self._notices.send(notice.elicitation_id)
        elif self.store.durable and (self._watcher is None or self._watcher.done()):
            # In an empty context, so that it does not keep the first call alive.
            self._watcher = asyncio.create_task(
                self._watch(), name="handraise flows", context=contextvars.Context()
            )

    async def wait(
        self, elicitation_id: str, person: Person, seconds: float, notice: Notice | None = None
    ) -> bool:
        """Wait until the flow is finished, and tell the client; False after the timeout."""
        end = time.monotonic() + seconds
        event = asyncio.Event()
        self._waiting.setdefault(elicitation_id, set()).add(event)
        if notice is not None:
            self._notices.add(notice)
        try:
            while True:
                event.clear()
                if await self.is_complete(elicitation_id, person):
                    break
                left = end - time.monotonic()
                if left <= 0:
                    return False
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, _POLL) if self.store.durable else left):
                        await event.wait()
            await self._notices.send(elicitation_id)
            return True
        finally:
            if notice is not None:
                self._notices.drop(notice)
            self._waiting[elicitation_id].discard(event)
            if not self._waiting[elicitation_id]:
                del self._waiting[elicitation_id]

    async def close(self) -> None:
        """Stop looking for flows that other processes finish. A link is finished although its client left."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait([self._watcher])
            self._watcher = None

    async def _watch(self) -> None:
        """Tell clients about flows that other processes finished, while some flow has no waiting handler."""
        ahead: list[str] = []
        while known := self._notices.flows():
            ahead = ahead or [each for each in known if each not in self._waiting]
            turn, ahead = ahead[:_AT_ONCE], ahead[_AT_ONCE:]
            try:
                found = await asyncio.gather(*map(self.store.find_flow, turn))
            except StoreError as error:
                logger.warning("nobody can be told of finished links: %s", error)
                await asyncio.sleep(_AWAY)
                continue
            for flow in found:
                if flow is not None and flow.completed:
                    # Not waited for: a client that hangs delays no other.
                    self._notices.send(flow.elicitation_id)
            await asyncio.sleep(_POLL)

    @property
    def is_running(self) -> bool:
        """Whether the server runs, so that somebody may wait there."""
        return self._loop is not None and self._loop.is_running()

    async def complete(self, elicitation_id: str, person: Person) -> bool:
        """Mark a flow as finished by its own person; False when there is none for them here."""
        home = self._loop
        if home is None or home is asyncio.get_running_loop() or not home.is_running():
            return await self._complete(elicitation_id, person)
        finishing = self._complete(elicitation_id, person)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(finishing, home))

    async def _complete(self, elicitation_id: str, person: Person) -> bool:
        done = await self.store.complete_flow(elicitation_id, person=person.key, now=self.store.now())
        if done:
            told = self._notices.send(elicitation_id)
            for event in self._waiting.get(elicitation_id, ()):
                event.set()
            await told
        return done


_KNOWN: weakref.WeakSet[Flows] = weakref.WeakSet()


async def complete(
    elicitation_id: str, *, person: Person, store: Store | str | os.PathLike[str] | None = None
) -> None:
    """Finish a URL question after the person completed it in the browser.

    `person` is the person that the web page verified. They must be the one who was asked. Pass the `store`, or its
    name, to finish from another process than the one that asked. Raises `CompletionRefused`, whatever the reason, when
    this person has no such open question.
    """
    if not isinstance(person, Person):
        raise CompletionRefused(
            f"a flow is finished by a verified Person, as ask.person() gives, not {person!r}"
        )
    if isinstance(store, str | os.PathLike):
        named = named_store(store)
        try:
            await complete(elicitation_id, person=person, store=named)
        finally:
            await named.aclose()
        return
    if store is not None:
        await store.open()
        known = [flows for flows in _KNOWN if flows.store is store] or [Flows(store)]
    else:
        # Only servers that run: the store of another one may be out of reach, which takes long to find out.
        known = [flows for flows in _KNOWN if flows.is_running]
    done = await asyncio.gather(*(_try_to_complete(flows, elicitation_id, person) for flows in known))
    if True not in done:
        away = next((error for error in done if isinstance(error, StoreError)), None)
        raise away or CompletionRefused("this person has no open question with that id")


async def _try_to_complete(flows: Flows, elicitation_id: str, person: Person) -> bool | StoreError:
    """Finish a flow at one server. An unreachable store may be another server's, so its error is returned."""
    try:
        return await flows.complete(elicitation_id, person)
    except StoreError as error:
        return error
