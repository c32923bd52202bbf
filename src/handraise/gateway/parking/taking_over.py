"""Parked calls in the store: kept before anybody hears of them, and taken over when their process is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Final, Literal, Protocol

from handraise.conversation.tickets import Ticket, Tickets
from handraise.gateway.calls import Call
from handraise.gateway.errands import Errands
from handraise.gateway.messages import Message, made, request
from handraise.gateway.parking.parked import KEPT, Binding, Parked, key_of, sameness

_LOOK: Final = 0.5
"""Seconds between two looks at a call that another process holds."""

Standing = Literal["elsewhere", "orphaned", "ambiguous"]
"""Another process holds it; its process is gone, and nothing was sent to its server; or nobody knows what was."""


def called(ticket: Ticket) -> Message:
    """The request of a parked call, as its client made it."""
    return request(0, ticket.call["method"], ticket.call["params"])


def binding_of(ticket: Ticket) -> Binding:
    """What a call in the store belongs to."""
    return sameness(called(ticket), ticket.person, ticket.server, ticket.call["target"])


def _standing(ticket: Ticket, gone: Collection[str]) -> Standing:
    if ticket.holder not in gone:
        return "elsewhere"
    return "ambiguous" if ticket.round is None or ticket.sent else "orphaned"


class Clock(Protocol):
    """The clock of a store, which all gateways that share it go by, whatever their own ones say."""

    async def open(self) -> None:
        """Learn what time it is."""
        ...

    def now(self) -> float:
        """The wall clock, in seconds."""
        ...


class Keeper:
    """Keeps the parked calls of one gateway, until times of the clock of the store."""

    def __init__(self, tickets: Tickets, clock: Clock) -> None:
        self._tickets = tickets
        self._clock = clock
        self._name = ""
        self._settling = Errands()

    async def _own_name(self) -> str:
        """By which others know whether this gateway is there."""
        if not self._name:
            self._name = await self._tickets.enter()
        return self._name

    async def open(self, parked: Parked, call: Call, wait: float) -> None:
        """Keep a call, before its client is told the ticket."""
        parked.kept = asyncio.ensure_future(self._open(parked, call, wait))
        await asyncio.shield(parked.kept)
        self.follow(parked)

    async def _open(self, parked: Parked, call: Call, wait: float) -> None:
        binding, asked = parked.binding, call.message
        on = {
            "method": asked.method,
            "params": asked.params,
            "target": binding.target,
            "ticket": parked.ticket,
        }
        await self._clock.open()
        now = self._clock.now()
        await self._tickets.prune(now)
        holder = await self._own_name()
        await self._tickets.open(
            Ticket(parked.key, binding.person, binding.server, holder, now + wait, on, call.round)
        )

    def follow(self, parked: Parked) -> None:
        """Keep how a call ends, when it does."""
        parked.settled.add_done_callback(lambda done: self._settling.run(self.end(parked.key, done.result())))

    async def ask(self, parked: Parked, round: dict[str, Any] | None) -> None:
        """A parked call asks again."""
        if await self._is_kept(parked):
            await self._tickets.ask(parked.key, round)

    async def send(self, parked: Parked) -> bool:
        """The answers go to the server, from here and nowhere else."""
        return not await self._is_kept(parked) or await self._tickets.send(
            parked.key, holder=await self._own_name()
        )

    async def _is_kept(self, parked: Parked) -> bool:
        """Whether the store has a call: somebody may answer while it is being parked, or after that failed."""
        if parked.kept is None:
            return True
        await asyncio.wait({parked.kept})
        return parked.kept.exception() is None

    async def find(self, ticket: str, person: str) -> Ticket | None:
        """The call of this person with this ticket."""
        found = await self._tickets.find(key_of(ticket))
        return next(iter(await self._current(found, person=person)), None)

    async def same(self, binding: Binding) -> Ticket | None:
        """The same call, while it waits in whichever process, or in none."""
        waiting = await self._current(*await self._tickets.waiting(binding.person), person=binding.person)
        return next((each for each in waiting if binding_of(each) == binding), None)

    async def orphaned(self, person: str) -> list[Ticket]:
        """The calls of a person with which any process may go on, because theirs is gone."""
        waiting = await self._current(*await self._tickets.waiting(person), person=person)
        gone = await self._tickets.gone({each.holder for each in waiting})
        return [each for each in waiting if _standing(each, gone) == "orphaned"]

    async def _current(self, *found: Ticket | None, person: str) -> list[Ticket]:
        """Those that are this person's and whose time is not over; the store may not have deleted the others yet."""
        await self._clock.open()
        now = self._clock.now()
        return [each for each in found if each is not None and each.person == person and now < each.deadline]

    async def standing(self, ticket: Ticket) -> Standing:
        """What may be done with a call that has not ended."""
        return _standing(ticket, await self._tickets.gone({ticket.holder}))

    async def take(self, found: Ticket) -> bool:
        """Take an orphaned call over; False when another process did so first."""
        return await self._tickets.take(found.key, was=found.holder, holder=await self._own_name())

    async def wait_elsewhere(self, key: str) -> Message:
        """The outcome of a call that another process holds."""
        while True:
            found = await self._tickets.find(key)
            if found is not None and found.outcome is not None:
                return made(found.outcome)
            await asyncio.sleep(_LOOK)

    async def end(self, key: str, message: Message) -> None:
        """Keep how a call ended."""
        await self._tickets.settle(key, message.body, until=self._clock.now() + KEPT)

    async def aclose(self) -> None:
        """Write what is still to be written."""
        await self._settling.finish()
