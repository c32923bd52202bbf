"""The rules that every store follows: how long rounds are kept, flows that finish in a browser, a single node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from handraise.calls.store import (
    DeliveredAnswers,
    Flow,
    OnAnswered,
)
from handraise.errors import StoreError

GRACE = 3600.0
"""Seconds that an unanswered round is kept after its deadline, so that a late retry learns why."""
_LOOK_AGAIN = 0.1


def continue_flow(known: Flow | None, flow: Flow) -> Flow:
    """The flow to store when a flow of this id may be known. StoreError when it belongs to somebody else."""
    if known is None:
        return flow
    if known.person != flow.person:
        raise StoreError("this elicitation id belongs to somebody else")
    return known._replace(deadline=max(known.deadline, flow.deadline))


def may_complete(flow: Flow | None, person: str, now: float) -> bool:
    """Whether this person may finish the flow now."""
    return flow is not None and flow.person == person and now < flow.deadline


class SingleNode:
    """The part of the contract about other nodes, for a store on one computer."""

    now: Callable[[], float] = staticmethod(time.time)

    async def open(self) -> None:
        """No-op: this computer's clock is used."""

    def on_answered(self, answered: OnAnswered) -> None:
        """No-op: there is only one node."""

    async def take_delivered(self, token: str, *, now: float) -> DeliveredAnswers | None:
        return None

    async def other_nodes(self) -> int | None:
        return None

    async def wait_for_change(self, token: str) -> None:
        await asyncio.sleep(_LOOK_AGAIN)
