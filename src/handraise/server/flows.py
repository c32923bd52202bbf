"""URL questions between consent and completion: who waits for which flow, and who may finish it."""

from __future__ import annotations

import asyncio
import secrets
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable

from handraise.conversation import Flow, Store
from handraise.errors import CompletionRefused, StoreError
from handraise.questions import Person

Notice = Callable[[], Awaitable[None]]

_POLL = 0.5
"""How often a flow that another process may finish is looked up."""


class Flows:
    """The flows of one installed server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._notices: dict[str, tuple[float, Notice]] = {}
        _KNOWN.add(self)

    async def open(self, elicitation_id: str | None, person: Person, timeout: float) -> str:
        """Begin (or go on with) a flow of this person; its id."""
        chosen = elicitation_id or secrets.token_urlsafe(18)
        await self._store.open_flow(Flow(chosen, person.key, self._store.now() + timeout))
        return chosen

    async def is_complete(self, elicitation_id: str, person: Person) -> bool:
        """Whether this person has finished the flow."""
        flow = await self._store.find_flow(elicitation_id)
        return flow is not None and flow.completed and flow.person == person.key

    def announce(self, elicitation_id: str, deadline: float, notice: Notice) -> None:
        """Have `notice` sent to the client that was asked, once, when the flow is finished."""
        now = time.monotonic()
        for over in [known for known, (end, _) in self._notices.items() if end <= now]:
            del self._notices[over]
        self._notices[elicitation_id] = (deadline, notice)

    async def wait(self, elicitation_id: str, person: Person, seconds: float) -> bool:
        """Wait until the flow is finished; False when it was not within the time."""
        end = time.monotonic() + seconds
        event = asyncio.Event()
        self._waiting.setdefault(elicitation_id, set()).add(event)
        try:
            while not await self.is_complete(elicitation_id, person):
                left = end - time.monotonic()
                if left <= 0:
                    return False
                await _set_within(event, min(left, _POLL) if self._store.durable else left)
            await self._tell(elicitation_id)
            return True
        finally:
            self._waiting[elicitation_id].discard(event)
            if not self._waiting[elicitation_id]:
                del self._waiting[elicitation_id]

    async def complete(self, elicitation_id: str, person: Person) -> bool:
        """Mark a flow as finished by its own person; False when there is none for them here."""
        done = await self._store.complete_flow(elicitation_id, person=person.key, now=self._store.now())
        if done:
            for event in self._waiting.get(elicitation_id, ()):
                event.set()
            await self._tell(elicitation_id)
        return done

    async def _tell(self, elicitation_id: str) -> None:
        if (waiting := self._notices.pop(elicitation_id, None)) is not None:
            await waiting[1]()


_KNOWN: weakref.WeakSet[Flows] = weakref.WeakSet()


async def complete(elicitation_id: str, *, person: Person, store: Store | None = None) -> None:
    """Finish a URL question: the person did in the browser what they were asked to do.

    `person` is who the web page has verified, and must be the one who was asked. Give the `store` to finish
    from another process than the one that asked. Raises `CompletionRefused`, whatever the reason, when
    this person has no such open question.
    """
    if not isinstance(person, Person):
        raise CompletionRefused("a flow is finished by a verified person; none was given")
    if store is not None:
        await store.open()
    known: Iterable[Flows] = tuple(_KNOWN) if store is None else (Flows(store),)
    done, away = False, None
    for flows in known:
        try:
            done |= await flows.complete(elicitation_id, person)
        except StoreError as error:  # another server's in this process, as far as anybody knows
            away = error
    if not done:
        raise away or CompletionRefused("this person has no open question with that id")


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
