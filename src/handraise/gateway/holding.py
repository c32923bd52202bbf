"""Hold calls that wait for a person, park them under a ticket, and resume them.

- A question at our desk holds its calls: their clients get progress notices. A link that was opened there holds them
  too, until the call ends or asks again.
- A call is parked `hold` seconds after it began. Its client gets a ticket, and the call goes on without it.
- A client that cancels while a question waits at our desk usually ran out of time and calls again. So the question
  stays answerable for `grace` seconds, and the new call joins the old one.
- Some clients give up without a notice. So the same call, made `AGAIN` seconds or more after a held one, joins it.
  Made sooner, it is a second call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from handraise.calls.store import Ticket
from handraise.errors import HandraiseError, StoreError
from handraise.gateway.call import RelayedCall
from handraise.gateway.links import TaskSet
from handraise.gateway.messages import Message
from handraise.gateway.sentences import (
    AMBIGUOUS,
    AT_WORK,
    BROWSER,
    IN_BROWSER,
    INBOX,
    LOST,
    NO_TICKET,
    VOID,
    WAITING,
    in_era_of,
    text_result,
)
from handraise.gateway.state import GatewayState
from handraise.gateway.tickets import Parked

logger = logging.getLogger(__name__)

BEAT: Final = 10.0
"""Seconds between two progress notices."""
SHORTEST: Final = 5.0
"""Seconds that each question holds its call at least, however long earlier questions took."""
AGAIN: Final = 5.0
"""Seconds after which the same call counts as a repetition. A model that wants two calls makes both at once."""


class Holding:
    """The calls of one client that wait for a person."""

    def __init__(self, state: GatewayState) -> None:
        self._state = state
        self._tasks = TaskSet()
        self.waiting: set[asyncio.Future[Message]] = set()
        """The outcomes of parked calls that still wait."""

    @contextmanager
    def hold(self, calls: Sequence[RelayedCall], *, park: bool = True) -> Iterator[None]:
        """Hold calls while a question of theirs waits at our desk. With `park` they are parked after the hold time."""
        for call in calls:
            call.open += 1
            if call.browsing:
                call.browsing = False
                call.open -= 1
            if park:
                self._begin(call)
        try:
            yield
        finally:
            for call in calls:
                call.open -= 1
                if call.open == 0:
                    self.stop(call)

    def hold_for_page(self, calls: Sequence[RelayedCall]) -> None:
        """Hold calls whose link the person opened at our desk, until they end or ask again."""
        for call in calls:
            call.round = None  # the answer is sent; no other process may send it again
            if not call.browsing:
                call.browsing = True
                call.open += 1
                self._begin(call)

    def _begin(self, call: RelayedCall) -> None:
        if call.held is None and call.parked is None and call.port is not None:
            call.held = self._tasks.run(self._hold(call))

    def stop(self, call: RelayedCall) -> None:
        """Stop holding a call."""
        if call.held is not None:
            call.held.cancel()
            call.held = None

    async def _hold(self, call: RelayedCall) -> None:
        hold = self._state.options.hold
        with self._state.parked.holding(call):
            await self._show_life(call, max(call.began + hold, time.monotonic() + min(hold, SHORTEST)))
        call.held = None  # an answer from now on is for a parked call
        try:
            parked = await self.park(call)
        except StoreError as error:
            logger.error("a call waits in this process only: %s", error)
            assert call.parked is not None
            parked = call.parked
        if not parked.settled.done():  # otherwise the outcome was sent
            call.answer(self._waiting(call, parked))
            parked.joinable_until = None
        call.port = None

    async def _show_life(self, call: RelayedCall, until: float, found: Parked | Ticket | None = None) -> None:
        """Send progress notices that say what to do for the call, or for the call it waits for (`found`)."""
        asked = found.call if isinstance(found, Parked) else call
        while (left := until - time.monotonic()) > 0:
            call.show_life(BROWSER if asked.browsing else INBOX.format(inbox=self._state.options.inbox))
            await asyncio.sleep(min(left, BEAT))

    async def park(self, call: RelayedCall, ticket: str | None = None) -> Parked:
        """Give a call a ticket, or its old one. The store has it before the client does."""
        parked = self._parked(call, ticket)
        if (tickets := self._state.tickets) is not None and ticket is None:
            await tickets.open(parked, self._state.options.wait)
        elif tickets is not None:
            tickets.follow(parked)
        return parked

    def _parked(self, call: RelayedCall, ticket: str | None = None) -> Parked:
        if call.parked is not None:  # the same call joined it while it was held
            return call.parked
        parked = self._state.parked.park(call, ticket)
        self.waiting.add(parked.settled)
        parked.settled.add_done_callback(self.waiting.discard)
        self._state.set_attended(call, False)
        parked.settled.add_done_callback(lambda _: self._state.set_attended(call, True))
        return parked

    def abandon(self, call: RelayedCall) -> Parked | None:
        """Keep a cancelled call answerable for the grace time; None when it must be withdrawn at once."""
        if not call.open or not self._state.options.grace or self._state.ending:
            return None
        self.stop(call)
        call.port = None
        parked = self._parked(call)
        parked.joinable_until = time.monotonic() + self._state.options.grace
        return parked

    async def find_same(self, call: RelayedCall) -> Parked | Ticket | None:
        """The same call, if it waits already: here, in another process, or only in the store."""
        binding = call.binding
        if (parked := self._state.parked.same(binding)) is not None:
            return parked
        held = self._state.parked.held(binding)
        if held is not None and self._state.options.grace and call.began - held.began >= AGAIN:
            parked = self._parked(held)
            parked.joinable_until = time.monotonic() + self._state.options.grace
            return parked
        tickets = await self._state.stored_tickets()
        found = None if tickets is None else await tickets.same(binding)
        if tickets is None or found is None or await tickets.standing(found) != "void":
            return found
        # The server process that asked is gone and kept nothing, so this is a new call.
        await tickets.end(found.key, text_result(call, AMBIGUOUS.format(server=found.server), failed=True))
        call.note(VOID.format(server=found.server))
        return None

    async def find_ticket(self, call: RelayedCall) -> Parked | Ticket | None:
        """The parked call that a `handraise_resume` call names, if it is the same person's."""
        ticket, person = str(call.arguments.get("ticket")), call.person.key
        if (parked := self._state.parked.find(ticket, person)) is not None:
            return parked
        try:
            tickets = (await self._state.asking()).tickets
        except HandraiseError:
            return None  # it was logged
        return None if tickets is None else await tickets.find(ticket, person)

    async def wait(self, call: RelayedCall, found: Parked | Ticket | None) -> None:
        """Answer `call` with the outcome of another call, or say that it still waits."""
        if isinstance(found, Parked):
            if found.joinable_until is not None:  # while somebody waits for it, its time does not end
                found.joinable_until = time.monotonic() + self._state.options.hold + self._state.options.grace
            with self._attending(found):
                outcome = await self._outcome(call, found, asyncio.shield(found.settled))
            if outcome is None and (tickets := self._state.tickets) is not None:
                await tickets.open(found, self._state.options.wait)
            found.joinable_until = None  # a client knows of it again
            call.answer(outcome or self._waiting(call, found))
            return
        tickets = self._state.tickets
        if tickets is None or found is None:
            call.answer(text_result(call, NO_TICKET, failed=True))
        elif found.outcome is not None:
            call.answer(in_era_of(call, Message(found.outcome)))
        elif await tickets.standing(found) == "void":
            ended = text_result(call, AMBIGUOUS.format(server=found.server), failed=True)
            await tickets.end(found.key, ended)
            call.answer(ended)
        else:
            ending = asyncio.ensure_future(tickets.wait_elsewhere(found.key))
            call.answer(await self._outcome(call, found, ending) or self._waiting(call, found))

    @contextmanager
    def _attending(self, parked: Parked) -> Iterator[None]:
        """Mark a parked call as attended: an answer reaches the client by itself."""
        self._state.set_attended(parked.call, True)
        try:
            yield
        finally:
            self._state.set_attended(parked.call, parked.settled.done())

    async def _outcome(
        self, call: RelayedCall, found: Parked | Ticket, settled: asyncio.Future[Message]
    ) -> Message | None:
        """The outcome of a parked call; None if it does not end within the hold time of `call`."""
        until = call.began + self._state.options.hold
        alive = asyncio.ensure_future(self._show_life(call, until, found))
        both: set[asyncio.Future[Any]] = {alive, settled}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return in_era_of(call, settled.result()) if settled.done() else None
        finally:
            alive.cancel()
            settled.cancel()

    def _waiting(self, call: RelayedCall, found: Parked | Ticket) -> Message:
        ticket = found.ticket if isinstance(found, Parked) else found.call["ticket"]
        server = found.binding.server if isinstance(found, Parked) else found.server
        sentence = WAITING
        if isinstance(found, Parked) and found.call.browsing:
            sentence = IN_BROWSER
        elif isinstance(found, Parked) and not found.call.open:
            sentence = AT_WORK
        text = sentence.format(server=server, ticket=ticket, where=self._state.options.where)
        # A client that knows a tool's output schema accepts a result without structured content only as an error.
        return text_result(call, text, failed=not self._state.is_sure_to_park(call.peer))

    async def release(self, call: RelayedCall) -> bool:
        """Whether this process may send answers to the server. If not, another process took over and ends the call."""
        tickets, parked = self._state.tickets, call.parked
        if tickets is None or parked is None or await tickets.send(parked):
            return True
        call.end("cancelled")
        self._state.parked.settle(parked, await tickets.wait_elsewhere(parked.key))
        return False

    def settle(self, call: RelayedCall, message: Message) -> None:
        """Answer a call that ended, and settle its ticket."""
        self.stop(call)
        call.answer(message)  # a parked call has no port
        if call.parked is not None:
            call.port = None
            self._state.parked.settle(call.parked, message)

    def lost(self, call: RelayedCall, told: Message | None = None) -> Message:
        """The response for a call whose server is gone. `told`: the response if nobody was being asked."""
        asked = call.state != "new" and (call.open or call.parked is not None)
        if told is not None and not asked:
            return told
        return text_result(
            call, (AMBIGUOUS if asked else LOST).format(server=call.source.upstream.name), failed=True
        )

    async def aclose(self) -> None:
        """Stop holding all calls."""
        await self._tasks.aclose()
