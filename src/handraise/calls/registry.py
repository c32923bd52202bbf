"""The registry of one server's calls, where a retry finds its call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from handraise.calls.call import Call, begin_task, call_later
from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import CallLimits, Round, digest
from handraise.calls.store import (
    EXPIRED,
    CallBinding,
    ConsumeResult,
    DeliveredAnswers,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    Store,
)
from handraise.errors import Ambiguous, CallError, NoRoom, NotReplayable, StateRefused, StoreError

logger = logging.getLogger(__name__)

_LONGEST_TOKEN = 64
_UNKNOWN_HERE = (
    "Rounds are kept in the memory of this process. If several workers or nodes serve this server, "
    "share a store between them: Handraise(store=…)"
)
_RETRY_AFTER = 1.0
"""Seconds before a failed store is tried again."""
_PRUNE_EVERY = 3600.0
"""Seconds between prunings of a durable store while nobody asks."""


class SettledError(CallError):
    """The error with which a call ended, given again to a retry that arrived late."""

    code = "settled_error"

    def __init__(self, error: Json) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error


class Calls:
    """All calls of one installed server."""

    def __init__(
        self,
        store: Store,
        limits: CallLimits,
        *,
        dump_round: Callable[[Mapping[str, Json], str], Json],
        describe: Callable[[BaseException], Json],
    ) -> None:
        self.store = store
        self._told_to_share = False
        self.limits = limits
        self.dump_round = dump_round
        """Makes the wire result of a round from its questions and its token."""
        self.describe = describe
        """Makes the JSON-RPC error object for a handler's exception."""
        self.live: dict[str, tuple[Call, Round]] = {}
        """The calls in this process, by the token of their current round."""
        self.running: set[Call] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pruning: asyncio.TimerHandle | None = None
        self._upkeep: asyncio.TimerHandle | None = None
        self._is_stale = False
        """Whether something was added since the last pruning."""
        store.on_answered(self._answered_elsewhere)

    async def resume(self, retry: Call, token: str, responses: Mapping[str, Json]) -> Json:
        """The next step of the call that a retry belongs to: its next round, or its end.

        The retry is a call that has not started. It lends its request to the suspended call, or replays it. Raises
        `StateRefused` for a retry that does not belong here, `NotReplayable` when the handler is gone and may not run
        again, and `Ambiguous` if it may also have acted on an answer. The store checks the owner, the deadline and
        single use.
        """
        live = self.live.get(token)
        of: Call | RoundRecord
        shown: Mapping[str, Json]
        if live is not None and live[0].state != "over":
            of, shown = live[0], live[1].shown
        else:  # the call is gone, or its end is being written
            of = await self._find(token)
            shown = of.questions
        answers = {key: responses[key] for key in shown if key in responses}
        if shown and not answers:
            return await self._show_again(token, retry.binding)
        use = RoundUse(retry.binding, answers, digest(responses), 0.0)
        events, ours = retry.record_taken(of, answers), None
        while True:
            was_here = token in self.live
            taken = await self._consume(token, use, events)
            live = self.live.get(token)
            if taken.verdict == "refused":
                if taken.reason == EXPIRED and live is not None:
                    break  # its handler is about to get `Expired`, or did
                if taken.reason == EXPIRED and was_here:
                    continue  # the call has ended meanwhile, and its end is in the store
                raise StateRefused(taken.reason)
            ours = taken.since if taken.verdict == "first" else ours
            if taken.outcome is not None:
                if live is not None and live[0].waits_at(live[1]):
                    live[0].hand_over()
                return _reply(taken.outcome)
            if live is not None and not live[0].waits_at(live[1]):
                break
            since = taken.since
            if live is None or (taken.verdict != "first" and since not in live[1].attempts):
                claimed = await self._claim(token, taken, ours)
                if claimed is None:
                    await self.store.wait_for_change(token)
                    continue
                since, live = claimed, self.live.get(token)
                if live is None:
                    live = await self._revive(retry, token, since, used=taken.verdict != "first")
                    break
                if not live[0].waits_at(live[1]):
                    break
            live[0].attach(retry)
            self._hold(token, since)
            live[0].take(answers)
            break
        call, round_ = live
        return await call.wait(round_)

    async def _find(self, token: str) -> RoundRecord:
        if not token.isascii() or len(token) > _LONGEST_TOKEN:
            raise StateRefused("no token of ours")
        record = await self.store.find_round(token)
        if record is None:
            if not self.store.durable and not self._told_to_share:  # once: any client can send any token
                self._told_to_share = True
                logger.error("A retry was refused. %s", _UNKNOWN_HERE)
            raise StateRefused("unknown token")
        return record

    async def _show_again(self, token: str, binding: CallBinding) -> Json:
        """The same round again, because the retry brought none of its answers."""
        record = await self._find(token)
        if record.binding != binding or self.store.now() >= record.deadline:
            raise StateRefused("expired, or bound to another person or call")
        return self.dump_round(record.questions, token)

    async def _consume(self, token: str, use: RoundUse, events: Sequence[Record]) -> ConsumeResult:
        """Consume the round in the store. The call does not expire meanwhile."""
        live, now = self.live.get(token), self.store.now()
        round_ = None
        if live is not None and live[0].state != "over":
            if live[0].binding != use.binding:
                raise StateRefused("bound to another person or call")
            round_ = live[1]
            round_.taking += 1
            round_.attempts |= {now}
        try:
            taken = await self.store.consume(token, use._replace(now=now), events=events)
        finally:
            if round_ is not None:
                round_.taking -= 1
        if round_ is not None:
            round_.attempts -= {now}
        return taken

    async def _claim(self, token: str, taken: ConsumeResult, ours: float | None) -> float | None:
        """Since when this process owns a consumed round; None while another process owns it.

        A process that consumed a round has the lease time to continue. Then one of the waiting processes takes over.
        `ours` is when this retry consumed it.
        """
        now = self.store.now()
        if taken.elsewhere or (taken.since != ours and now < taken.since + self.limits.lease):
            return None
        return now if await self.store.hold_round(token, since=taken.since, now=now) else None

    def _hold(self, token: str, since: float) -> None:
        """Keep renewing the lease on a round while this process works on it."""
        if self.store.durable:
            call_later(self.limits.lease / 3, lambda: self.spawn(self._renew(token, since)))

    async def _renew(self, token: str, since: float) -> None:
        if token not in self.live:
            return
        now = self.store.now()
        try:
            held = await self.store.hold_round(token, since=since, now=now)
        except StoreError:
            held, now = True, since
        if held:
            self._hold(token, now)

    async def _revive(self, retry: Call, token: str, since: float, *, used: bool) -> tuple[Call, Round]:
        """Replay a handler that is gone. Its answers and `once` steps come from the journal.

        `used`: another process consumed the answers first, may have used them, and did not finish.
        """
        record = await self._find(token)
        may = await retry.may_replay(record)
        if (live := self.live.get(token)) is not None:
            return live
        if not may:
            # Did the handler get answers before this round, or finish a step?
            has_acted = record.number > 1 or any(entry.kind == "once" for entry in record.journal)
            kind = Ambiguous if used or has_acted else NotReplayable
            error = kind(f"{record.binding.method} {record.binding.target} may not run again")
            lost, events = RoundOutcome("error", self.describe(error)), retry.record_lost(record)
            await self.store.settle(token, lost, until=self.expiry(), ends=record.call_id, events=events)
            raise error
        retry.replay(record)
        self.live[token] = retry, retry.current
        self._hold(token, since)
        return self.live[token]

    # Answers that another node took.

    def _answered_elsewhere(self, token: str, delivered: DeliveredAnswers | None) -> bool:
        """Handle a round that another node consumed; whether its call is here."""
        live = self.live.get(token)
        if live is not None and delivered is not None:
            self._go_on(token, live, delivered)
        elif live is not None and live[0].waits_at(live[1]):
            self.spawn(self._take_delivered(token, live))
        return live is not None

    async def _take_delivered(self, token: str, live: tuple[Call, Round]) -> None:
        try:
            delivered = await self.store.take_delivered(token, now=self.store.now())
        except StoreError:
            return  # the store tells us again
        if delivered is not None:
            self._go_on(token, live, delivered)

    def _go_on(self, token: str, live: tuple[Call, Round], delivered: DeliveredAnswers) -> None:
        """Continue a call that waits here. The node with the retry gets the next step from the store."""
        if live[0].waits_at(live[1]):
            live[0].take(delivered.answers)
            self._hold(token, delivered.since)

    # Room, and what is over.

    def require_room(self, leaving: str) -> None:
        """Refuse to park more calls than allowed. A call that leaves a round makes room for itself."""
        if len(self.live) - (leaving in self.live) >= self.limits.max_parked:
            raise NoRoom(f"{len(self.live)} questions wait already; no more are taken")
        if not self._is_stale:
            self.prune_later()

    def expiry(self) -> float:
        """The time until which an outcome of now is kept."""
        return self.store.now() + self.limits.retry_window

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work in a task, and keep a reference to it."""
        task = begin_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle_at_last(self, token: str, outcome: RoundOutcome) -> None:
        """Store the outcome of a round once the store is reachable. Until then the same retry gets it from memory."""
        try:
            while True:
                await asyncio.sleep(_RETRY_AFTER)
                try:
                    await self.store.settle(token, outcome, until=self.expiry())
                except StoreError:
                    continue
                return self.prune_later()
        finally:
            self.live.pop(token, None)

    def prune_later(self) -> None:
        """Prune the store after the retry window."""
        self._is_stale = True
        if self._pruning is None:
            self._pruning = self._prune_in(self.limits.retry_window)

    def _prune_in(self, seconds: float) -> asyncio.TimerHandle:
        return call_later(seconds, lambda: self.spawn(self._prune()))

    async def _prune(self) -> None:
        was_stale, self._is_stale = self._is_stale, False
        pruned = await self._prune_store()
        again = was_stale or self._is_stale or self.live or not pruned
        self._pruning = self._prune_in(self.limits.retry_window) if again else None

    async def _prune_store(self) -> bool:
        """Prune the store; whether it worked. A failure is logged and tried again later."""
        try:
            await self.store.prune(self.store.now())
        except Exception as error:  # noqa: BLE001 - it runs in the background, and authors may bring their own stores
            logger.error("finished calls could not be removed from the store: %s", error)
            return False
        return True

    # The server's life.

    def open(self) -> None:
        """Prune a durable store now and from time to time."""
        if self.store.durable:
            if self._pruning is None:
                self._pruning = self._prune_in(0)
            self._upkeep = call_later(_PRUNE_EVERY, self.open)

    async def close(self) -> None:
        """Withdraw every question, let the handlers clean up, then cancel them."""
        for call in list(self.running):
            call.withdraw()
        await self._join(self.running, self.limits.grace)
        for call in list(self.running):
            call.stop()
        await self._join(self.running, None)  # a shielded part or a worker thread finishes first
        for task in list(self._tasks):
            task.cancel()
        for timer in (self._pruning, self._upkeep):  # also those that were set while handlers ended
            if timer is not None:
                timer.cancel()
        self._pruning = self._upkeep = None
        self._is_stale = False
        await self._prune_store()

    async def join_left(self) -> None:
        """Give calls whose clients left time to clean up."""
        await self._join({call for call in self.running if call.is_left}, self.limits.grace)

    async def _join(self, calls: set[Call], seconds: float | None) -> None:
        if calls:
            await asyncio.gather(*(call.join(seconds) for call in list(calls)))


def _reply(outcome: RoundOutcome) -> Json:
    if outcome.kind == "error":
        raise SettledError(outcome.value)
    return outcome.value
