"""The parking lot of one server: which bodies are here, and how a retry finds its own."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from handraise.conversation.body import Body
from handraise.conversation.conversation import Conversation
from handraise.conversation.deadlines import Deadlines
from handraise.conversation.recorded import Record
from handraise.conversation.records import EXPIRED, Binding, Brought, Consumption, Json, Outcome, RoundRecord
from handraise.conversation.retry import Retry
from handraise.conversation.rounds import Round, Terms
from handraise.conversation.store import Store
from handraise.errors import Ambiguous, ConversationError, NoRoom, NotReplayable, StateRefused, StoreError

logger = logging.getLogger(__name__)

_LONGEST = 64
_AGAIN = 1.0
"""How soon a store that failed is asked again."""
_UPKEEP = 3600.0
"""How often a store that outlives the process is looked through while nobody asks."""


class SettledError(ConversationError):
    """The error with which a call ended, given again to a retry that arrived late."""

    code = "settled_error"

    def __init__(self, error: Json) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error


class Lot:
    """All conversations of one installed server."""

    def __init__(
        self,
        store: Store,
        terms: Terms,
        *,
        wire: Callable[[Mapping[str, Json], str], Json],
        describe: Callable[[BaseException], Json],
    ) -> None:
        self.store = store
        self.terms = terms
        self.wire = wire
        """Makes the wire result of a round from its questions and its token."""
        self.describe = describe
        """Makes the JSON-RPC error object of what a body raised."""
        self.tell_asked: Callable[[Conversation, Mapping[str, Json]], Sequence[Record]] | None = None
        """Makes the events that commit with a round, if there is a ledger in the store."""
        self.live: dict[str, tuple[Conversation, Round]] = {}
        """The bodies that are here, by the token of the round they wait at or work on."""
        self.bodies: set[Body] = set()
        """Those that ask, or are waited for."""
        self.deadlines: Deadlines = Deadlines()
        self._chores: set[asyncio.Task[Any]] = set()
        self._pruning: asyncio.TimerHandle | None = None
        self._upkeep: asyncio.TimerHandle | None = None
        self._stirred = False
        store.attend(self._answered_elsewhere)

    async def resume(self, retry: Retry) -> Json:
        """What a retry gets: the next round or the end of the call.

        Raises `StateRefused` for a retry that does not belong here, and `NotReplayable` for one whose body
        is gone and may not run again, `Ambiguous` if it may have acted on an answer. Owner, deadline and single
        use are the store's to check.
        """
        token, answers = retry.token, retry.responses
        live = self.live.get(token)
        of: Conversation | RoundRecord
        if live is not None and live[0].state != "over":
            of, shown = live[0], live[1].shown
        else:  # it is gone, or its end is being written
            of, shown = await self._find_shown(token)
        if shown.keys() != answers.keys():
            answers = {key: answers[key] for key in shown if key in answers}
        if shown and not answers:
            return await self._show_again(token, retry.binding)
        events, ours = retry.tell_taken(of, answers), None
        while True:
            taken = await self._consume(retry, answers, events)
            if taken.verdict == "refused":
                live = self.live.get(token)
                if taken.reason != EXPIRED or live is None or live[0].body is None:
                    raise StateRefused(taken.reason)
                break  # its body is about to hear that nobody answered in time, or at work after that
            ours = taken.since if taken.verdict == "first" else ours
            live = self.live.get(token)
            if taken.outcome is not None:
                if live is not None and live[0].waits_at(live[1]):
                    live[0].hand_over()
                return _reply(taken.outcome)
            if live is not None and not live[0].waits_at(live[1]):
                break
            since = taken.since
            if live is None or (taken.verdict != "first" and since not in live[1].tried):
                claimed = await self._claim(token, taken, ours)
                if claimed is None:
                    await self.store.changed(token)
                    continue
                since, live = claimed, self.live.get(token)
                if live is None:
                    live = await self._revive(retry, since, used=taken.verdict != "first")
                    break
                if not live[0].waits_at(live[1]):
                    break
            retry.rebind(live[0])
            if self.store.durable:
                self._hold(token, since)
            live[0].take(answers)
            break
        conversation, round_ = live
        return round_.result() if round_.outcome is not None else await conversation.wait(round_)

    def _answered_elsewhere(self, token: str, brought: Brought | None) -> bool:
        """Another node took the answers to a round; whether its body is here."""
        live = self.live.get(token)
        if live is not None and brought is not None:
            self._go_on(token, live, brought)
        elif live is not None and live[0].waits_at(live[1]):
            self.spawn(self._take_up(token, live))
        return live is not None

    async def _take_up(self, token: str, live: tuple[Conversation, Round]) -> None:
        try:
            brought = await self.store.take_up(token, now=self.store.now())
        except StoreError:
            return  # we are told again
        if brought is not None:
            self._go_on(token, live, brought)

    def _go_on(self, token: str, live: tuple[Conversation, Round], brought: Brought) -> None:
        """Go on with a body that waits here. Whoever brought its answers gets from the store what comes of them."""
        if live[0].waits_at(live[1]):
            live[0].take(brought.answers)
            self._hold(token, brought.since)

    async def _find(self, token: str) -> RoundRecord:
        if not token.isascii() or len(token) > _LONGEST:
            raise StateRefused("no token of ours")
        record = await self.store.find_round(token)
        if record is None:
            raise StateRefused("unknown token")
        return record

    async def _find_shown(self, token: str) -> tuple[RoundRecord, Mapping[str, Json]]:
        record = await self._find(token)
        return record, record.questions

    def _consume(
        self, retry: Retry, answers: dict[str, Json], events: Sequence[Record]
    ) -> Awaitable[Consumption]:
        token, binding, store = retry.token, retry.binding, self.store
        live, now = self.live.get(token) if store.durable else None, store.now()
        if live is not None and live[0].body is None:  # it has ended, and only how this round went on is here
            live = None
        if live is not None and live[0].binding != binding:
            raise StateRefused("bound to another person or call")
        taking = store.consume(
            token, binding=binding, answers=answers, said=retry.said, now=now, events=events
        )
        return taking if live is None else self._take_here(live[1], now, taking)

    async def _take_here(self, round_: Round, now: float, taking: Awaitable[Consumption]) -> Consumption:
        """Answers to a round whose body is here: it does not end while they are on their way to the store."""
        round_.taking += 1
        round_.tried += (now,)
        try:
            taken = await taking
        finally:
            round_.taking -= 1
        round_.tried = tuple(when for when in round_.tried if when != now)
        return taken

    async def _show_again(self, token: str, binding: Binding) -> Json:
        """The same round once more: the retry brought nothing that was asked for."""
        record = await self._find(token)
        if record.binding != binding or self.store.now() >= record.deadline:
            raise StateRefused("expired, or bound to another person or call")
        return self.wire(record.questions, token)

    async def _claim(self, token: str, taken: Consumption, ours: float | None) -> float | None:
        """Since when it is ours to go on with a round that was taken; None while it is somebody else's.

        A process that took it has its time; of all who wait for it in vain, one goes on. `ours` is when we took it.
        """
        now = self.store.now()
        if taken.elsewhere or (taken.since != ours and now < taken.since + self.terms.lease):
            return None
        return now if await self.store.hold_round(token, since=taken.since, now=now) else None

    def _hold(self, token: str, since: float) -> None:
        """Tell other processes, again and again while it lasts, that this one is at work on a round."""
        if self.store.durable:
            self.deadlines.add(self.terms.lease / 3, self._hold_on_beside, token, since)

    def _hold_on_beside(self, token: str, since: float) -> None:
        self.spawn(self._hold_on(token, since))

    async def _hold_on(self, token: str, since: float) -> None:
        if token not in self.live:
            return
        now = self.store.now()
        try:
            held = await self.store.hold_round(token, since=since, now=now)
        except StoreError:
            held, now = True, since
        if held:
            self._hold(token, now)

    async def _revive(self, retry: Retry, since: float, *, used: bool) -> tuple[Conversation, Round]:
        """Run a body that is gone once more, its answers and `once` steps taken from the journal.

        The answers may have been `used` by whoever took them first, and did not get to an end.
        """
        token = retry.token
        record = await self._find(token)
        may = await retry.may_replay(record)
        if (live := self.live.get(token)) is not None:
            return live
        if not may:
            kind = Ambiguous if used or _has_acted(record) else NotReplayable
            error = kind(f"{record.binding.method} {record.binding.target} may not run again")
            lost, told = Outcome("error", self.describe(error)), retry.tell_lost(record)
            await self.store.settle(token, lost, until=self.expiry(), ends=record.conversation, events=told)
            raise error
        conversation = retry.replay(record)
        conversation.id, conversation.seed = record.conversation, record.seed
        conversation.current = Round(record.number, token)
        self.live[token] = conversation, conversation.current
        self._hold(token, since)
        return self.live[token]

    def require_room(self, leaving: str) -> None:
        """Refuse to park more bodies than there is room for. One that goes on from a round makes room itself."""
        if len(self.live) - (leaving in self.live) >= self.terms.max_parked:
            raise NoRoom(f"{len(self.live)} questions wait already; no more are taken")
        if not self._stirred:
            self.prune_later()

    def expiry(self) -> float:
        """Until when the outcome of what ends now is kept."""
        return self.store.now() + self.terms.retry_window

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside the requests, and keep hold of it."""
        chore = asyncio.get_running_loop().create_task(work)
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)
        return chore

    def settle_later(self, token: str, outcome: Outcome) -> None:
        """Keep how a round went on once the store takes it. Until then the same retry gets it from here."""
        self.spawn(self._settle_at_last(token, outcome))

    async def _settle_at_last(self, token: str, outcome: Outcome) -> None:
        try:
            while True:
                await asyncio.sleep(_AGAIN)
                try:
                    await self.store.settle(token, outcome, until=self.expiry())
                except StoreError:
                    continue
                return self.prune_later()
        finally:
            self.live.pop(token, None)

    def open(self) -> None:
        """See to it that a store forgets what an earlier process left in it, also while nobody asks here."""
        if self.store.durable:
            if self._pruning is None:
                self._pruning = self._prune_in(0)
            loop, context = asyncio.get_running_loop(), contextvars.Context()
            self._upkeep = loop.call_later(_UPKEEP, self.open, context=context)

    def prune_later(self) -> None:
        """See to it that the store forgets what is over, now and when the retry windows are over too."""
        self._stirred = True
        if self._pruning is None:
            self._pruning = self._prune_in(self.terms.retry_window)

    def _prune_in(self, seconds: float) -> asyncio.TimerHandle:
        # In a context of its own, so that nothing is kept of the call that set the timer.
        loop, context = asyncio.get_running_loop(), contextvars.Context()
        return loop.call_later(seconds, lambda: self.spawn(self._prune()), context=context)

    async def _prune(self) -> None:
        stirred, self._stirred = self._stirred, False
        pruned = await self._forget_what_is_over()
        again = stirred or self._stirred or self.live or not pruned
        self._pruning = self._prune_in(self.terms.retry_window) if again else None

    async def _forget_what_is_over(self) -> bool:
        """Whether the store did it. If not, that is no reason to stop, or never to try again."""
        try:
            await self.store.prune(self.store.now())
        except Exception as error:  # noqa: BLE001 - nobody waits for it, and stores are not all ours
            logger.error("what is over could not be removed from the store: %s", error)
            return False
        return True

    async def close(self) -> None:
        """Withdraw every question, let the bodies tidy up, then end them."""
        for body in list(self.bodies):
            body.conversation.withdraw()
        await self._let_go(self.bodies, self.terms.grace)
        for body in list(self.bodies):
            body.stop()
        await self._let_go(self.bodies, None)  # what they shield, a worker thread too, is finished first
        self.deadlines.clear()
        for chore in list(self._chores):
            chore.cancel()
        for timer in (self._pruning, self._upkeep):  # also what was set while bodies ended
            if timer is not None:
                timer.cancel()
        self._pruning = self._upkeep = None
        self._stirred = False
        await self._forget_what_is_over()

    async def see_off(self) -> None:
        """Let bodies tidy up that nobody waits for any more."""
        await self._let_go([body for body in self.bodies if body.is_left], self.terms.grace)

    async def _let_go(self, bodies: Iterable[Body], seconds: float | None) -> None:
        if tasks := [body.task for body in bodies if body.task is not None]:
            await asyncio.wait(tasks, timeout=seconds)


def _has_acted(record: RoundRecord) -> bool:
    """Whether a body was given answers before the ones to this round, or has finished a step."""
    return record.number > 1 or any(entry.kind == "once" for entry in record.journal)


def _reply(outcome: Outcome) -> Json:
    if outcome.kind == "error":
        raise SettledError(outcome.value)
    return outcome.value
