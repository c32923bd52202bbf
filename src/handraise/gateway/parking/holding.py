"""Calls that wait for a person whom their client cannot ask: hold them, park them, take them up again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from handraise.errors import HandraiseError, StoreError
from handraise.gateway.calls import Call
from handraise.gateway.errands import Errands
from handraise.gateway.messages import Message, made, notice
from handraise.gateway.methods import PROGRESS
from handraise.gateway.parking.parked import Binding, Parked
from handraise.gateway.sentences import AMBIGUOUS, LOST, NO_TICKET, WAITING, in_era_of, told

if TYPE_CHECKING:
    from handraise.conversation.tickets import Ticket
    from handraise.gateway.home import Home
    from handraise.gateway.parking.taking_over import Keeper

logger = logging.getLogger(__name__)

BEAT: Final = 10.0
"""Seconds between two notices that a call is still alive."""


class Holding:
    """Holds calls with signs of life, then parks them under a ticket."""

    def __init__(
        self,
        home: Home,
        bind: Callable[[Call], Binding],
        revive: Callable[[Ticket], Awaitable[Parked | None]],
    ) -> None:
        self._home = home
        self._bind = bind
        self._revive = revive
        self._parking = Errands()
        self.waiting: set[asyncio.Future[Message]] = set()
        """The parked calls that still wait."""

    @contextmanager
    def holding(self, calls: Sequence[Call]) -> Iterator[None]:
        """While a question waits at our desk because of these calls."""
        for call in calls:
            call.open += 1
            if call.held is None and call.parked is None and call.port is not None:
                call.held = self._parking.run(self._hold(call))
        try:
            yield
        finally:
            for call in calls:
                call.open -= 1
                if call.open == 0 and call.held is not None:
                    call.held.cancel()
                    call.held = None

    async def join(self, call: Call) -> bool:
        """Whether the same call waits for its person already: then this one waits with it."""
        binding = self._bind(call)
        if (parked := self._home.parked.same(binding)) is not None:
            await self._wait(call, parked)
            return True
        keeper = await self._home.store_keeper()
        found = None if keeper is None else await keeper.same(binding)
        if keeper is None or found is None:
            return False
        call.answer(await self._with_other(call, found, keeper))
        return True

    async def resume(self, call: Call) -> None:
        """Answer a call of the `handraise_resume` tool."""
        ticket, person = str(call.arguments.get("ticket")), self._bind(call).person
        if (parked := self._home.parked.find(ticket, person)) is not None:
            await self._wait(call, parked)
            return
        try:
            keeper = (await self._home.asking()).keeper
        except HandraiseError:
            keeper = None
        found = None if keeper is None else await keeper.find(ticket, person)
        if keeper is None or found is None:
            call.answer(told(call, NO_TICKET, failed=True))
        elif found.outcome is not None:
            call.answer(in_era_of(call, made(found.outcome)))
        else:
            call.answer(await self._with_other(call, found, keeper))

    async def _with_other(self, call: Call, found: Ticket, keeper: Keeper) -> Message:
        """What becomes of a call that was parked in another process, as far as this one is patient."""
        if await keeper.standing(found) == "ambiguous":
            ended = told(call, AMBIGUOUS.format(server=found.server), failed=True)
            await keeper.end(found.key, ended)
            return ended
        parked = await self._revive(found)
        ending = (
            asyncio.ensure_future(keeper.wait_elsewhere(found.key))
            if parked is None
            else asyncio.shield(parked.settled)
        )
        return await self._outcome(call, ending) or self._waiting(call, found.server, found.call["ticket"])

    async def release(self, call: Call) -> bool:
        """Whether answers may go to the server from here; else another process took the call over, and ends it."""
        keeper, parked = self._home.keeper, call.parked
        if keeper is None or parked is None or await keeper.send(parked):
            return True
        call.end("cancelled")
        self._home.parked.settle(parked, await keeper.wait_elsewhere(parked.key))
        return False

    def settle(self, call: Call, message: Message) -> None:
        """The call came to its end."""
        if call.held is not None:
            call.held.cancel()
        if call.parked is None:
            call.answer(message)
        else:
            self._home.parked.settle(call.parked, message)

    def lost(self, call: Call, *, sent: bool) -> Message:
        """What a call is told whose server is gone."""
        text = (AMBIGUOUS if sent and (call.open or call.parked) else LOST).format(
            server=self._bind(call).server
        )
        return told(call, text, failed=True)

    async def _hold(self, call: Call) -> None:
        await self._alive(call, call.began + self._home.options.hold)
        call.held = None  # whoever answers from now on answers a parked call
        try:
            parked = await self.park(call)
        except StoreError as error:
            logger.error("a call waits in this process only: %s", error)
            assert call.parked is not None
            parked = call.parked
        call.answer(
            parked.settled.result()
            if parked.settled.done()
            else self._waiting(call, parked.binding.server, parked.ticket)
        )
        call.port = None

    async def park(self, call: Call, ticket: str | None = None) -> Parked:
        """Give a call a ticket, or the one that it had. It is in the store before anybody hears of it."""
        parked = self._home.parked.park(call, self._bind(call), ticket)
        self.waiting.add(parked.settled)
        parked.settled.add_done_callback(self.waiting.discard)
        if (keeper := self._home.keeper) is not None and ticket is None:
            await keeper.open(parked, call, self._home.options.wait)
        elif keeper is not None:
            keeper.follow(parked)
        return parked

    async def aclose(self) -> None:
        """Park nothing more."""
        await self._parking.aclose()

    async def _wait(self, call: Call, parked: Parked) -> None:
        """Wait for a parked call on behalf of another one."""
        outcome = await self._outcome(call, asyncio.shield(parked.settled))
        call.answer(outcome or self._waiting(call, parked.binding.server, parked.ticket))

    async def _outcome(self, call: Call, settled: asyncio.Future[Message]) -> Message | None:
        """How a parked call ends, if it does so while the client of this one is patient."""
        alive = asyncio.ensure_future(self._alive(call, call.began + self._home.options.hold))
        both: set[asyncio.Future[Any]] = {alive, settled}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return in_era_of(call, settled.result()) if settled.done() else None
        finally:
            alive.cancel()
            settled.cancel()

    def _waiting(self, call: Call, server: str, ticket: str) -> Message:
        where = self._home.options.where
        return told(call, WAITING.format(server=server, ticket=ticket, where=where))

    async def _alive(self, call: Call, until: float) -> None:
        """Send a sign of life now and then, on the caller's own token."""
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, BEAT))
            if call.token is not None and call.port is not None and until - time.monotonic() > 0:
                call.progress += 0.001
                token = {"progressToken": call.token, "progress": call.progress}
                call.port.send(notice(PROGRESS, {**token, "message": "Waiting for the user."}))
