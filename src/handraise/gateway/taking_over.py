"""Parked calls in the store: kept before anybody hears of them, and taken over when their process is gone."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from typing import Any, Final, Literal

from handraise.conversation.tickets import Ticket, Tickets
from handraise.gateway.ancestry import started_at
from handraise.gateway.calls import Call
from handraise.gateway.messages import Message, made
from handraise.gateway.parked import KEPT, Parked, key_of

_LOOK: Final = 0.5
"""Seconds between two looks at a call that another process holds."""


def own_name() -> str:
    """A name for this process that no other one has, and by which it is found out whether it is still there."""
    return f"{socket.gethostname()}/{os.getpid()}/{started_at(os.getpid()) or ''}/{secrets.token_hex(4)}"


def is_there(holder: str) -> bool:
    """Whether the process of that name is still there. Of other machines nothing is known, so that they count."""
    host, pid, began, _ = holder.rsplit("/", 3)
    return host != socket.gethostname() or (pid.isdigit() and (started_at(int(pid)) or "") == began != "")


class Keeper:
    """Keeps the parked calls of one gateway."""

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self._name = own_name()
        self._settling: set[asyncio.Task[None]] = set()

    async def open(self, parked: Parked, call: Call, wait: float) -> None:
        """Keep a call, before its client is told the ticket."""
        made_by = {"method": call.message.method, "params": call.message.params}
        binding = parked.binding
        await self._tickets.prune(time.time())
        await self._tickets.open(
            Ticket(
                parked.key,
                binding.person,
                binding.server,
                self._name,
                time.time() + wait,
                made_by,
                call.round,
            )
        )
        self.follow(parked)

    def follow(self, parked: Parked) -> None:
        """Keep how a call ends, when it does."""
        parked.settled.add_done_callback(lambda done: self._settle(parked.key, done.result()))

    async def ask(self, parked: Parked, round: dict[str, Any] | None) -> None:
        """A parked call asks again."""
        await self._tickets.ask(parked.key, round)

    async def send(self, parked: Parked) -> bool:
        """The answers go to the server, from here and nowhere else."""
        return await self._tickets.send(parked.key, holder=self._name)

    async def find(self, ticket: str, person: str) -> Ticket | None:
        """The call of this person with this ticket."""
        found = await self._tickets.find(key_of(ticket))
        return found if found is not None and found.person == person else None

    async def take(self, found: Ticket) -> Literal["taken", "elsewhere", "ambiguous"]:
        """Take a call over, if its process is gone and nothing was sent to its server yet."""
        if is_there(found.holder):
            return "elsewhere"
        if found.round is not None and await self._tickets.take(
            found.key, was=found.holder, holder=self._name
        ):
            return "taken"
        return "ambiguous"

    async def wait_elsewhere(self, key: str) -> Message:
        """The outcome of a call that another process holds."""
        while True:
            found = await self._tickets.find(key)
            if found is not None and found.outcome is not None:
                return made(found.outcome)
            await asyncio.sleep(_LOOK)

    async def end(self, key: str, message: Message) -> None:
        """Keep how a call ended."""
        await self._tickets.settle(key, message.body, until=time.time() + KEPT)

    async def aclose(self) -> None:
        """Write what is still to be written."""
        await asyncio.gather(*self._settling, return_exceptions=True)

    def _settle(self, key: str, message: Message) -> None:
        task = asyncio.ensure_future(self.end(key, message))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
