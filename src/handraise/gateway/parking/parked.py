"""Calls that outlive the request that made them, by ticket."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from handraise.gateway.calls import Call
from handraise.gateway.messages import Message
from handraise.gateway.requests import arguments_of, name_of

KEPT: Final = 3600.0
"""Seconds for which the result of a parked call is kept for whoever comes late."""
MOST: Final = 1000


class Binding(NamedTuple):
    """What a ticket belongs to. The same call of the same person has the same."""

    person: str
    server: str
    target: str
    """What the server is: two may have the same name in two configurations."""
    method: str
    name: str
    arguments: str
    """Digest of the canonical arguments."""


@dataclass(slots=True, eq=False)
class Parked:
    """A call that waits for its person, or waited."""

    ticket: str = field(repr=False)
    binding: Binding
    settled: asyncio.Future[Message]
    kept: asyncio.Future[None] | None = None
    """When it is in a store, where one keeps it."""
    until: float | None = None

    @property
    def key(self) -> str:
        """What a store knows it by."""
        return key_of(self.ticket)


def key_of(ticket: str) -> str:
    """A digest of a ticket: whoever reads a store gets no tickets from it."""
    return hashlib.sha256(f"handraise ticket {ticket}".encode()).hexdigest()


def sameness(message: Message, person: str, server: str, target: str) -> Binding:
    """What makes two calls the same."""
    told = json.dumps(arguments_of(message), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(told.encode()).hexdigest()
    return Binding(person, server, target, message.method or "", name_of(message), digest)


class ParkedCalls:
    """All parked calls of a gateway."""

    def __init__(self) -> None:
        self._by_ticket: dict[str, Parked] = {}
        self._waiting: dict[Binding, Parked] = {}

    def __len__(self) -> int:
        return len(self._by_ticket)

    def park(self, call: Call, binding: Binding, ticket: str | None = None) -> Parked:
        """Give a call a ticket, or the one that it had in another process."""
        settled: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        parked = Parked(ticket or secrets.token_urlsafe(16), binding, settled)
        self._forget()
        self._by_ticket[parked.ticket] = self._waiting[parked.binding] = parked
        call.parked = parked
        return parked

    def find(self, ticket: str, person: str) -> Parked | None:
        """The call with this ticket, if it is this person's."""
        parked = self._by_ticket.get(ticket)
        return parked if parked is not None and parked.binding.person == person else None

    def same(self, binding: Binding) -> Parked | None:
        """The same call, while it waits."""
        return self._waiting.get(binding)

    def settle(self, parked: Parked, message: Message) -> None:
        """It came to its end: whoever waits is told, and whoever comes late."""
        if self._waiting.get(parked.binding) is parked:
            del self._waiting[parked.binding]
        parked.until = time.monotonic() + KEPT
        if not parked.settled.done():
            parked.settled.set_result(message)

    def _forget(self) -> None:
        now = time.monotonic()
        over = [
            ticket for ticket, each in self._by_ticket.items() if each.until is not None and each.until < now
        ]
        settled = [ticket for ticket, each in self._by_ticket.items() if each.until is not None]
        for ticket in {*over, *settled[: max(0, len(self._by_ticket) - MOST)]}:
            del self._by_ticket[ticket]
