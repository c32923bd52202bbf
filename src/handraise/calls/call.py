"""One client request with all its questions, across rounds.

How it works
------------
A call runs its handler in a task of its own, because cancel scopes, time limits, locks and child tasks of the author
must outlive the request that began it. The client's request only *waits* for the call.

On 2026-07-28 a question ends the round: the waiting request gets the questions as its result, the task stays suspended
at its question, and a later request (the retry) brings the answers and waits for the next step. On the older revisions
the question travels on the live request, and the same request waits until the end. In both cases a question is an
`OpenQuestion`, and the asker awaits its future.

    state     event     next state
    working   ask       asking       a round went out
    asking    answer    working      a retry brought answers
    asking    give up   working      every question of the round was withdrawn or expired
    working   end       over
    asking    end       over

Endings are plain. When the client leaves or the server stops, every open question raises `Withdrawn` where it was
asked, the handler has `linger` seconds to clean up, and then it is cancelled. A handler that is at no question is
cancelled at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import anyio.lowlevel

from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import TOKEN_PREFIX, Journal, OpenQuestion, Round, pin_of
from handraise.calls.store import CallBinding, JournalEntry, Json, RoundOutcome, RoundRecord
from handraise.errors import Expired, StepNotKept, StoreError, UsageError, Withdrawn

if TYPE_CHECKING:
    from handraise.calls.registry import Calls

logger = logging.getLogger(__name__)

T = TypeVar("T")

State = Literal["working", "asking", "over"]
Event = Literal["ask", "answer", "give up", "end"]

TRANSITIONS: dict[tuple[State, Event], State] = {
    ("working", "ask"): "asking",
    ("working", "end"): "over",
    ("asking", "answer"): "working",
    ("asking", "give up"): "working",
    ("asking", "end"): "over",
}
"""The next state for a state and an event. Any other pair is a bug: KeyError."""

_SLACK = 0.05
"""Questions expire this much late, so that a retry which the store still accepts always wins. A handler is cancelled
this much late after it lingered, so that `Withdrawn` always arrives first."""
_OTHER_LOOP = (
    "this is not the event loop of the server, so no answer comes here: ask in the handler itself, or from a thread of "
    "anyio.to_thread.run_sync with ask.sync(...)"
)
_FORGOTTEN = "handraise: ended at its question, to be replayed"
_ELSEWHERE = "the question was answered, and the call goes on in another process"


class Call(ABC):
    """One client request with all its questions, across rounds. A subclass runs the handler."""

    def __init__(self, calls: Calls) -> None:
        self.state: State = "working"
        self.current: Round = Round(0)
        self.questions: dict[str, OpenQuestion] = {}
        self.context: contextvars.Context | None = None
        """The context variables of the handler, while it runs."""
        self.id: str = ""
        """The id of its rounds in the store. Empty until it asks in a round."""
        self.seed: str = ""
        """The seed of its questions' ids, the same in a replay."""
        self.journal: Journal | None = None
        self.replays: str | None = None
        """The name of its handler, if that is replayable."""
        self.is_left: bool = False
        """Whether its client left, or the server stops."""
        self.is_elsewhere: bool = False
        """Whether another process or a replay continues it. Its handler here only ends."""
        self._calls = calls
        self._task: asyncio.Task[None] | None = None
        self._scope = anyio.CancelScope()
        self._askers = 0
        self._waits: list[asyncio.Future[None]] = []
        self._was_told = False
        self._linger: asyncio.TimerHandle | None = None
        self._sending = False
        self._steps: list[str] = []
        """The keys of the steps that run now."""
        self._ends_after_step = False
        self._kept_until = 0.0

    def restore(self, record: RoundRecord) -> None:
        """Restore the call of a round whose handler is gone. Its journal is replayed."""
        self.id, self.seed = record.call_id, record.seed
        self.journal = Journal(record.journal, record.pins)
        self.current = Round(record.number, record.token, taken=True)

    @property
    @abstractmethod
    def binding(self) -> CallBinding:
        """The binding of every round of the call."""

    @abstractmethod
    async def run(self) -> Json:
        """Run the handler; returns its wire result. Raises only errors that the client may see."""

    @abstractmethod
    def suspended(self) -> None:
        """The round was sent, so no request is live."""

    @abstractmethod
    def attach(self, retry: Call) -> None:
        """The client called again with the answers: the request of `retry` is the live one now."""

    @abstractmethod
    async def may_replay(self, record: RoundRecord) -> bool:
        """Whether the handler that asked may run again: it still serves this request, and is replayable."""

    @abstractmethod
    def replay(self, record: RoundRecord) -> None:
        """Run the handler again that asked in a round and is gone."""

    @abstractmethod
    def record_asked(self, keys: Sequence[str]) -> Sequence[Record]:
        """The ledger events that commit with a round that asks these questions."""

    @abstractmethod
    def record_taken(self, of: Call | RoundRecord, answers: Mapping[str, Json]) -> Sequence[Record]:
        """The ledger events that commit with the use of a round by this retry."""

    @abstractmethod
    def record_lost(self, record: RoundRecord) -> Sequence[Record]:
        """The ledger events that commit with the end of a round whose handler is gone and may not run again."""

    # The handler's task.

    def start(self, context: contextvars.Context) -> Round:
        """Run the handler in its own task; returns the round that the first request waits for."""
        self.context = context
        self._calls.running.add(self)
        self._task = begin_task(self._run(), context, "handraise call")
        return self.current

    async def _run(self) -> None:
        try:
            with self._scope:
                result = await self.run()
            if self._scope.cancelled_caught:
                raise asyncio.CancelledError
        except asyncio.CancelledError:
            await self._fail(Withdrawn())
        except BaseException as error:  # it reaches the request that waits, also if it ends the server
            await self._fail(error)
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise
        else:
            await self._end(RoundOutcome("result", result))

    def stop(self) -> None:
        """Cancel the handler as the SDK does: a shielded part or a worker thread finishes first."""
        self._scope.cancel()

    async def join(self, seconds: float | None) -> None:
        """Wait until the handler has ended, at most for `seconds`."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)

    async def _fail(self, error: BaseException) -> None:
        await self._end(RoundOutcome("error", self._calls.describe(error)), error)

    async def _end(self, outcome: RoundOutcome, error: BaseException | None = None) -> None:
        """The handler has ended: keep its outcome for a late retry, then tell the waiting requests."""
        calls, last = self._calls, self.current
        self.state = TRANSITIONS[self.state, "end"]
        for question in self.questions.values():  # of tasks that the handler left behind
            question.fail(Withdrawn("the call has ended, so its question is withdrawn"))
        if self._linger is not None:
            self._linger.cancel()
        try:
            if self.id:  # otherwise it never asked in a round, or another process has the call
                until = max(calls.expiry(), self._kept_until)
                await calls.store.settle(last.token, outcome, until=until, ends=self.id)
                calls.prune_later()
        except StoreError as failure:
            logger.error("the end of a call could not be kept: %s", failure)
        finally:
            calls.live.pop(last.token, None)
            calls.running.discard(self)
            self._task = self.context = None
            last.finish(outcome, error)

    # What the handler does.

    @asynccontextmanager
    async def at_question(self) -> AsyncIterator[None]:
        """Enter this while the handler asks. If the client left: `Withdrawn`, and cancellation if it asks again."""
        if self.state == "over":
            raise UsageError("the call that this question belongs to is over: ask before its handler returns")
        if self._task is not None and self._task.get_loop() is not asyncio.get_running_loop():
            raise UsageError(
                _OTHER_LOOP
            )  # otherwise it waits for good: the answer comes to the server's loop
        if self.is_left:
            self._tell_left()
            # The cancellation arrives here. A handler that asks in a loop would block the event loop otherwise.
            await anyio.lowlevel.checkpoint()
            raise Withdrawn
        self._askers += 1
        try:
            yield
        finally:
            self._askers -= 1

    def open_question(self, key: str, request: Json, timeout: float) -> OpenQuestion:
        """Register a question that is about to be sent. Its future raises `Expired` and `Withdrawn`."""
        if self.state == "over":
            raise Withdrawn("the call has ended, so its question is withdrawn")
        if self.is_left:
            raise Withdrawn
        if key in self.questions:
            raise UsageError(f"the question {key!r} is being asked already; give each its own key")
        loop = asyncio.get_running_loop()
        question = OpenQuestion(request, loop.create_future(), self._calls.store.now() + timeout)
        question.timer = call_later(timeout + _SLACK, self._expire, question)
        self.questions[key] = question
        return question

    def close_question(self, key: str) -> None:
        """The asker no longer waits for this question."""
        self.questions.pop(key).close()

    async def unless_left(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work during a question, like waiting for a browser. Raises `Withdrawn` when the client leaves."""
        left = asyncio.get_running_loop().create_future()
        task = begin_task(work)
        self._waits.append(left)
        try:
            if not self.is_left:
                await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Withdrawn
            return task.result()
        finally:
            self._waits.remove(left)
            task.cancel()

    async def ask_in_round(self, key: str, request: Json, timeout: float) -> Json:
        """Send a question in a round and wait for the client's answer.

        Questions of sibling tasks that are asked in the same turn of the event loop share a round. Raises `Expired`
        when nobody answered in time, and `Withdrawn` when the client left.
        """
        journal = self.journal
        if journal is not None and (known := journal.recall(key, pin_of(request))) is not None:
            if known.kind == "expired":
                raise Expired
            return known.value
        question = self.open_question(key, request, timeout)
        try:
            self._send_if_due()
            answer = await question.future
        except Expired:
            await self._require_unanswered()
            if journal is not None:
                journal.add("expired", key, pin_of(request), None)
            raise
        finally:
            self.close_question(key)
            self._send_if_due()
        if journal is not None:
            journal.add("answer", key, pin_of(request), answer)
        return answer

    async def write(self, entry: JournalEntry) -> None:
        """Write an entry of the journal before the handler continues."""
        if self.id:  # otherwise it is written with the first round
            # The step is done: record it even if its task is cancelled now.
            await asyncio.shield(self._calls.spawn(self._write(entry)))

    async def _write(self, entry: JournalEntry) -> None:
        try:
            await self._calls.store.append(self.id, (entry,))
        except StoreError as error:
            raise StepNotKept(str(error)) from error

    @contextmanager
    def step(self, key: str) -> Iterator[None]:
        """Enter this while a step runs that must not run twice. The handler is not ended at a question then."""
        if key in self._steps:
            raise UsageError(f"the step {key!r} is running already; a key names one step of a call")
        self._steps.append(key)
        try:
            yield
        finally:
            self._steps.remove(key)
            if self._ends_after_step:
                self._end_at_question()

    def identify(self) -> str:
        """The id of the call in the store, also before its first round."""
        self.id = self.id or TOKEN_PREFIX + os.urandom(6).hex()
        return self.id

    # Rounds.

    def _send_if_due(self) -> None:
        """Send the questions that wait, unless a round is out whose answers may still come."""
        if self._sending or self.is_elsewhere or self.state == "over":
            return
        if not any(q.waiting for q in self.questions.values()):
            return
        if self.state == "asking" and self._is_awaited():
            return
        self._sending = True
        self._calls.spawn(
            self._send()
        )  # a task of its own: an asker may be cancelled, a round is written whole

    def _is_awaited(self) -> bool:
        """Whether an asker waits for an answer that the round which is out can bring."""
        shown = self.current.shown
        return any(q.waiting and shown.get(key) is q.request for key, q in self.questions.items())

    async def _send(self) -> None:
        asked = {key: question for key, question in self.questions.items() if question.waiting}
        try:
            if asked:
                await self._require_unanswered()
            if asked and self.state == "asking":  # the client left the round that is out
                self.state = TRANSITIONS[self.state, "give up"]
            if asked and self.state == "working":
                await self._end_round(asked)
        except Exception as error:  # noqa: BLE001 - it is raised where each question was asked
            for question in asked.values():
                question.fail(error)
        finally:
            self._sending = False
        self._send_if_due()

    async def _end_round(self, asked: Mapping[str, OpenQuestion]) -> None:
        """End the current round with these questions: store the new round, then answer the waiting requests with it."""
        calls, before = self._calls, self.current
        calls.require_room(before.token)
        requests = {key: question.request for key, question in asked.items()}
        after = Round(before.number + 1, TOKEN_PREFIX + os.urandom(16).hex(), requests)
        record = RoundRecord(
            after.token,
            self.identify(),
            after.number,
            self.binding,
            max(question.until for question in asked.values()),
            requests,
            {key: pin_of(request) for key, request in requests.items()} if self.replays else {},
            self.journal.for_round() if self.journal is not None else (),
            self.replays,
            self.seed,
        )
        await calls.store.open_round(record, events=self.record_asked(tuple(requests)))
        if self.journal is not None:
            await self._write_missing(self.journal, record.journal)
        if self.state == "over":  # the handler was stopped meanwhile
            await calls.store.end(self.id, until=calls.expiry())
            return
        self.current, self.state = after, TRANSITIONS[self.state, "ask"]
        if not self._is_awaited():  # the questions were given up while the round was written
            self.state = TRANSITIONS[self.state, "give up"]
        calls.live[after.token] = self, after
        outcome = RoundOutcome("round", calls.dump_round(requests, after.token))
        try:
            if before.token:
                await self._keep_outcome(before, outcome)
        finally:  # the waiting request gets the round also when that fails
            before.finish(outcome)
        if self._task is not None:
            self.suspended()
        if calls.limits.forget_handlers and self.replays is not None:
            self._end_at_question()

    async def _keep_outcome(self, before: Round, outcome: RoundOutcome) -> None:
        """Store the outcome of a round, for the same retry arriving again."""
        calls = self._calls
        try:
            await calls.store.settle(before.token, outcome, until=calls.expiry())
        except StoreError as failure:  # the question is out all the same
            logger.error("the outcome of a round could not be kept; it is tried again: %s", failure)
            calls.spawn(calls.settle_at_last(before.token, outcome))
        except BaseException:
            calls.live.pop(before.token, None)
            raise
        else:
            calls.live.pop(before.token, None)

    async def _write_missing(self, journal: Journal, written: tuple[JournalEntry, ...]) -> None:
        """Write the entries that sibling tasks added while the round was being written."""
        if len(journal.entries) != len(written):
            known = set(map(id, written))
            missing = [entry for entry in journal.entries if id(entry) not in known]
            await self._calls.store.append(self.id, missing)

    def waits_at(self, round_: Round) -> bool:
        """Whether the handler is suspended at this round and does not have its answers yet."""
        return self.state == "asking" and self.current is round_

    def take(self, answers: Mapping[str, Json]) -> None:
        """Give the answers of a retry to the questions that were shown."""
        current = self.current
        self.state, self._ends_after_step, current.taken = TRANSITIONS[self.state, "answer"], False, True
        for key, answer in answers.items():
            question = self.questions.get(key)
            # A later question may have the same key as one that was given up. The answer is not for it.
            if question is not None and current.shown.get(key) is question.request:
                question.answer(answer)
        self._send_if_due()

    async def wait(self, round_: Round) -> Json:
        """Wait for the next step of the call; returns its wire result. Raises the handler's error."""
        if round_.outcome is None:
            round_.waiters += 1
            try:
                await round_.done.wait()
            except asyncio.CancelledError:
                round_.waiters -= 1
                self._abandoned(round_)
                raise
            round_.waiters -= 1
        return round_.result()

    # Endings.

    def _expire(self, question: OpenQuestion) -> None:
        if self.current.taking and question.waiting:  # a retry is at the store, which may still take it
            question.timer = call_later(_SLACK, self._expire, question)
        else:
            self._give_up(question, Expired())

    def _give_up(self, question: OpenQuestion, error: Exception) -> None:
        question.fail(error)
        if self.state == "asking" and not self._is_awaited():
            self.state = TRANSITIONS[self.state, "give up"]

    async def _require_unanswered(self) -> None:
        """Close an expired round. If another process took the answer, the call belongs to that process."""
        store, token = self._calls.store, self.current.token
        if not store.durable or not token or self.current.taken or self._is_awaited():
            return
        if not await store.close_round(token):
            self.hand_over()
            raise asyncio.CancelledError(_FORGOTTEN) if self.replays is not None else Withdrawn(_ELSEWHERE)

    def _disown(self) -> None:
        """Leave the call and its rounds in the store to others."""
        self._calls.live.pop(self.current.token, None)
        self.is_elsewhere, self.id, self.current = True, "", Round(self.current.number)

    def _end_at_question(self) -> None:
        """End the handler at its question, so that the next retry replays it. Not in the middle of a step."""
        self._ends_after_step = self.state == "asking"
        if self._ends_after_step and not self._steps:
            self._forget()

    def _forget(self) -> None:
        self._disown()
        if self._task is not None:
            self._task.cancel(_FORGOTTEN)

    def hand_over(self) -> None:
        """End the handler at its question, because another process took the answers and the call."""
        if self.replays is not None:
            self._forget()
        else:
            self._disown()
            self.leave()

    def withdraw(self) -> None:
        """The server stops. A replayable handler in a durable store is ended, and its questions stay open."""
        if self.state == "over" or self.is_left:
            return
        if self.replays is not None and self._calls.store.durable and self.state == "asking":
            self._end_at_question()
            return
        waiting = [question for question in self.questions.values() if question.waiting]
        if waiting and self._calls.store.durable:  # a person who answers later learns that it is over
            self._kept_until = max(question.until for question in waiting)
        self.leave(at_work=not self._steps)

    def _abandoned(self, round_: Round, has_lingered: bool = False) -> None:
        """A request stopped waiting. If an answer was used, the call lingers for the same retry to come again."""
        if round_.waiters or round_ is not self.current or self.state == "over":
            return
        if round_.number == 0 or has_lingered:
            self.leave()
        else:
            call_later(self._calls.limits.linger, self._abandoned, round_, True)

    def leave(self, *, at_work: bool = True) -> None:
        """The client left: withdraw the questions of the call, or cancel it if it is `at_work`."""
        if self.is_left or self.state == "over":
            return
        self.is_left = True
        if self._askers:
            self._tell_left()
            for question in self.questions.values():
                self._give_up(question, Withdrawn())
            for wait in self._waits:
                wait.set_result(None)
        elif at_work:
            self.stop()

    def _tell_left(self) -> None:
        """The handler gets `Withdrawn` and has `linger` seconds to clean up. If it asks again, it is cancelled."""
        if self._was_told:
            self.stop()
        self._was_told = True
        if self._linger is None:
            self._linger = call_later(self._calls.limits.linger + _SLACK, self.stop)


def call_later(seconds: float, function: Callable[..., object], *args: object) -> asyncio.TimerHandle:
    """Call a function later, in an empty context: otherwise the timer would keep the call alive."""
    loop = asyncio.get_running_loop()
    return loop.call_later(seconds, function, *args, context=contextvars.Context())


def begin_task(
    work: Coroutine[Any, Any, T], context: contextvars.Context | None = None, name: str | None = None
) -> asyncio.Task[T]:
    """A task that starts in the next turn of the event loop, even if the loop's task factory is eager."""
    return asyncio.Task(work, loop=asyncio.get_running_loop(), name=name, context=context)
