"""Calls that were parked in a process that is gone: asked about again here, where their server is behind us, too."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from handraise.errors import StoreError
from handraise.gateway.calls import Call
from handraise.gateway.home import Home
from handraise.gateway.links import Link, Place
from handraise.gateway.parking.parked import Parked

if TYPE_CHECKING:
    from handraise.conversation.tickets import Ticket
    from handraise.questions import Person

logger = logging.getLogger(__name__)

LOOK_AGAIN: Final = 15.0
"""Seconds between two looks for calls whose process is gone."""

Begin = Callable[[str, dict[str, Any]], Call]
"""Makes a call of a method and params that nobody waits for."""
Park = Callable[[Call, str], Awaitable[Parked]]
GoOn = Callable[[Call, Place, dict[str, Any]], None]
"""Has a round asked again."""


class Reviving:
    """Goes on with the calls of one person."""

    def __init__(
        self, home: Home, link: Link, person: Callable[[], Person], begin: Begin, park: Park, go_on: GoOn
    ) -> None:
        self._home = home
        self._link = link
        self._person = person
        self._begin = begin
        self._park = park
        self._go_on = go_on

    async def watch(self) -> None:
        """Have everything asked again that can be, now and whenever another process is gone."""
        while True:
            try:
                await self._all()
            except StoreError as error:
                logger.warning("whether calls of other gateways wait cannot be found out: %s", error)
            await asyncio.sleep(LOOK_AGAIN)

    async def _all(self) -> None:
        keeper = await self._home.store_keeper()
        for ticket in [] if keeper is None else await keeper.orphaned(self._person().key):
            await self.one(ticket)

    async def one(self, ticket: Ticket) -> Parked | None:
        """Go on with an orphaned call; None when its server is not behind us, or another process does it."""
        from handraise.gateway.parking.taking_over import binding_of, called

        keeper = await self._home.store_keeper()
        if keeper is None or await keeper.standing(ticket) != "orphaned":
            return None
        place = await self._link.locate(called(ticket))
        bound = binding_of(ticket)
        if place is None or (bound.server, bound.target) != _name_and_target(place):
            return None
        if not await keeper.take(ticket):
            return None
        call = self._begin(ticket.call["method"], ticket.call["params"])
        parked = await self._park(call, ticket.call["ticket"])
        self._go_on(call, place, ticket.round)
        return parked


def _name_and_target(place: Place) -> tuple[str, str]:
    return place.source.upstream.name, place.source.upstream.target
