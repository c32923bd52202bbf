"""Parked calls: by ticket in this process, and in the store for other processes."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from handraise.calls.store import Ticket, Tickets
from handraise.gateway.call import Binding, RelayedCall, binding_of
from handraise.gateway.links import TaskSet
from handraise.gateway.messages import Message, request

KEPT: Final = 3600.0
"""Seconds that the result of a parked call is kept."""
MOST: Final = 1000
_LOOK: Final = 0.5
"""Seconds between two checks of a call that another process holds."""

Standing = Literal["elsewhere", "orphaned", "void"]
"""Another process holds it; its process is gone and any other may continue; or nobody can continue."""


@dataclass(slots=True, eq=False)
class Parked:
    """A parked call, until its outcome is forgotten."""

    ticket: str = field(repr=False)
    call: RelayedCall
    binding: Binding
    settled: asyncio.Future[Message]
    kept: asyncio.Future[None] | None = None
    """Done when the store has it."""
    until: float | None = None
    """When its outcome is forgotten; None while it waits."""
    joinable_until: float | None = None
    """Set when its client gave up: until then the same call joins it, or gets its outcome."""

    @property
    def key(self) -> str:
        """Its key in the store."""
        return key_of(self.ticket)

    @property
    def grace_left(self) -> float | None:
        """Seconds in which the same call can still join it; None when its client did not give up."""
        return None if self.joinable_until is None else self.joinable_until - time.monotonic()


def key_of(ticket: str) -> str:
    """The digest of a ticket, so that a reader of the store learns no tickets."""
    return hashlib.sha256(f"handraise ticket {ticket}".encode()).hexdigest()


class ParkedCalls:
    """All parked calls of a gateway."""

    def __init__(self) -> None:
        self._by_ticket: dict[str, Parked] = {}
        self._joinable: dict[Binding, Parked] = {}
        self._held: dict[Binding, RelayedCall] = {}

    def __len__(self) -> int:
        return len(self._by_ticket)

    @property
    def may_join(self) -> bool:
        """Whether any call can be joined."""
        return bool(self._joinable or self._held)

    @contextmanager
    def holding(self, call: RelayedCall) -> Iterator[None]:
        """Let the same call find a held call: its client may give up without a notice and call again."""
        binding = call.binding
        self._held.setdefault(binding, call)
        try:
            yield
        finally:
            if self._held.get(binding) is call:
                del self._held[binding]

    def held(self, binding: Binding) -> RelayedCall | None:
        """The held call with this binding."""
        return self._held.get(binding)

    def park(self, call: RelayedCall, ticket: str | None = None) -> Parked:
        """Give a call a new ticket, or the one from another process."""
        settled: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        parked = Parked(ticket or secrets.token_urlsafe(16), call, call.binding, settled)
        self._forget()
        self._by_ticket[parked.ticket] = self._joinable[parked.binding] = parked
        call.parked = parked
        return parked

    def find(self, ticket: str, person: str) -> Parked | None:
        """The call with this ticket, if it is this person's."""
        parked = self._by_ticket.get(ticket)
        return parked if parked is not None and parked.binding.person == person else None

    def same(self, binding: Binding) -> Parked | None:
        """The parked call with this binding, while it waits or its outcome reached nobody."""
        parked = self._joinable.get(binding)
        if parked is not None and parked.settled.done():
            del self._joinable[binding]
            return parked if (parked.grace_left or 0.0) > 0 else None
        return parked

    def settle(self, parked: Parked, message: Message) -> None:
        """Set the outcome of a parked call."""
        if parked.joinable_until is None:
            self.forget(parked)
        parked.until = time.monotonic() + KEPT
        if not parked.settled.done():
            parked.settled.set_result(message)

    def forget(self, parked: Parked) -> None:
        """Let no other call join it."""
        if self._joinable.get(parked.binding) is parked:
            del self._joinable[parked.binding]

    def _forget(self) -> None:
        now = time.monotonic()
        over = [
            ticket for ticket, each in self._by_ticket.items() if each.until is not None and each.until < now
        ]
        settled = [ticket for ticket, each in self._by_ticket.items() if each.until is not None]
        for ticket in {*over, *settled[: max(0, len(self._by_ticket) - MOST)]}:
            self.forget(self._by_ticket.pop(ticket))


def called(ticket: Ticket) -> Message:
    """The request of a stored call."""
    return request(0, ticket.call["method"], ticket.call["params"])


def binding_in(ticket: Ticket) -> Binding:
    """The binding of a stored call."""
    return binding_of(called(ticket), ticket.person, ticket.server, ticket.call["target"])


def _standing(ticket: Ticket, gone: Collection[str]) -> Standing:
    if ticket.holder not in gone:
        return "elsewhere"
    return "void" if ticket.round is None or ticket.sent else "orphaned"


class Clock(Protocol):
    """The clock of a store. All gateways that share the store use it instead of their own."""

    async def open(self) -> None:
        """Read the time from the store."""
        ...

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class TicketRepository:
    """The parked calls of one gateway in the store."""

    def __init__(self, tickets: Tickets, clock: Clock) -> None:
        self._tickets = tickets
        self._clock = clock
        self._name = ""
        self._taking = asyncio.Lock()
        self._settling = TaskSet()

    async def _own_name(self) -> str:
        """This gateway's name in the store. Others use it to check whether this gateway lives."""
        if not self._name:
            self._name = await self._tickets.enter()
        return self._name

    async def open(self, parked: Parked, wait: float) -> None:
        """Store a call, before its client gets the ticket."""
        if parked.kept is None:
            parked.kept = asyncio.ensure_future(self._open(parked, wait))
            await asyncio.shield(parked.kept)
            self.follow(parked)

    async def _open(self, parked: Parked, wait: float) -> None:
        binding, asked = parked.binding, parked.call.message
        on = {
            "method": asked.method,
            "params": asked.params,
            "target": binding.target,
            "ticket": parked.ticket,
        }
        await self._clock.open()
        now = self._clock.now()
        await self._tickets.prune(now)
        holder, round = await self._own_name(), parked.call.round
        await self._tickets.open(
            Ticket(parked.key, binding.person, binding.server, holder, now + wait, on, round)
        )

    def follow(self, parked: Parked) -> None:
        """Store the outcome of a call when it ends."""
        parked.settled.add_done_callback(lambda done: self._settling.run(self.end(parked.key, done.result())))

    async def ask(self, parked: Parked, round: dict[str, Any] | None) -> None:
        """Store the next round of a parked call."""
        if await self._is_kept(parked):
            await self._tickets.ask(parked.key, round)

    async def send(self, parked: Parked) -> bool:
        """Claim the right to send the answers; False when another process took over the call."""
        return not await self._is_kept(parked) or await self._tickets.send(
            parked.key, holder=await self._own_name()
        )

    async def _is_kept(self, parked: Parked) -> bool:
        """Whether the store has a call. An answer may come while it is being stored, or after that failed."""
        if parked.kept is None:
            # A call of another process is stored. A call that its client gave up on was never stored.
            return parked.joinable_until is None
        await asyncio.wait({parked.kept})
        return parked.kept.exception() is None

    async def find(self, ticket: str, person: str) -> Ticket | None:
        """The person's stored call with this ticket."""
        found = await self._tickets.find(key_of(ticket))
        return next(iter(await self._current(found, person=person)), None)

    async def same(self, binding: Binding) -> Ticket | None:
        """The stored call with this binding, while it waits."""
        waiting = await self._current(*await self._tickets.waiting(binding.person), person=binding.person)
        return next((each for each in waiting if binding_in(each) == binding), None)

    async def orphaned(self, person: str) -> list[Ticket]:
        """The calls of a person whose process is gone, and which any process may continue."""
        waiting = await self._current(*await self._tickets.waiting(person), person=person)
        gone = await self._tickets.gone({each.holder for each in waiting})
        return [each for each in waiting if _standing(each, gone) == "orphaned"]

    async def _current(self, *found: Ticket | None, person: str) -> list[Ticket]:
        """Only this person's calls before their deadline. The store deletes the others later."""
        await self._clock.open()
        now = self._clock.now()
        return [each for each in found if each is not None and each.person == person and now < each.deadline]

    async def standing(self, ticket: Ticket) -> Standing:
        """Whether an open stored call can be continued, and by which person."""
        return _standing(ticket, await self._tickets.gone({ticket.holder}))

    async def take(self, found: Ticket) -> bool:
        """Take over an orphaned call; False when it was taken already, here or in another process.

        The store lets one process take a call twice, because the reply to its first try may be lost. So look first.
        """
        async with self._taking:
            known = await self._tickets.find(found.key)
            if known is None or known.holder != found.holder:
                return False
            return await self._tickets.take(found.key, was=found.holder, holder=await self._own_name())

    async def wait_elsewhere(self, key: str) -> Message:
        """Wait for the outcome of a call that another process holds."""
        while True:
            found = await self._tickets.find(key)
            if found is not None and found.outcome is not None:
                return Message(found.outcome)
            await asyncio.sleep(_LOOK)

    async def end(self, key: str, message: Message) -> None:
        """Store the outcome of a call."""
        await self._tickets.settle(key, message.body, until=self._clock.now() + KEPT)

    async def aclose(self) -> None:
        """Finish all writes."""
        await self._settling.finish()
