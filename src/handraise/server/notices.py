"""Completion notices of 2025-11-25: which clients are told when a URL question is finished."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_FEW = 64


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Notice:
    """That one client is to be told of one flow. It holds no call, and goes with whoever keeps it."""

    elicitation_id: str
    deadline: float
    """Until when, by the monotonic clock."""
    connection: Any
    """The channel of the connection, which is told once of a flow."""
    call: Callable[[], Any]
    """The channel of the call that asked while that is open, else None."""
    keeper: dict[str, Notice]
    """What keeps it: the connection, or a call that waits."""

    async def send(self) -> None:
        """Tell the client, on the call's own stream while it is open, then on the connection's."""
        channel = self.call() or self.connection
        params = {"elicitationId": self.elicitation_id}
        await channel.notify("notifications/elicitation/complete", params)


class Notices:
    """The notices that are due on one server. They are kept elsewhere: a client that is gone is told nothing."""

    def __init__(self) -> None:
        self._due: dict[str, weakref.WeakSet[Notice]] = {}
        self._many = _FEW

    def add(self, notice: Notice) -> None:
        """Have a client told, instead of what the same keeper has for the same flow."""
        if len(self._due) >= self._many:
            self._many = max(_FEW, 2 * len(self.flows()))
        notice.keeper[notice.elicitation_id] = notice
        self._due.setdefault(notice.elicitation_id, weakref.WeakSet()).add(notice)

    def drop(self, notice: Notice) -> None:
        """Have nobody told by this one."""
        if notice.keeper.get(notice.elicitation_id) is notice:
            del notice.keeper[notice.elicitation_id]
        due = self._due.get(notice.elicitation_id)
        if due is not None:
            due.discard(notice)
            if not due:
                del self._due[notice.elicitation_id]

    def flows(self) -> list[str]:
        """The ids of the flows that some client still waits for."""
        now = time.monotonic()
        for elicitation_id, due in list(self._due.items()):
            for notice in [notice for notice in due if notice.deadline <= now]:
                self.drop(notice)
            if not due:
                self._due.pop(elicitation_id, None)
        return list(self._due)

    def send(self, elicitation_id: str) -> asyncio.Future[list[None]]:
        """Tell every client that a flow is finished, once for each connection, one not waiting for another.

        It is on its way when this returns: whoever is woken then comes after it.
        """
        now = time.monotonic()
        due = sorted(self._due.get(elicitation_id, ()), key=lambda notice: notice.call() is not None)
        for notice in due:
            self.drop(notice)
        told = {id(notice.connection): notice for notice in due if notice.deadline > now}
        return asyncio.gather(*(notice.send() for notice in told.values()))
