"""One client request with all its questions: what its body asks, and what its rounds bring.

Knows neither the SDK nor a transport.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from handraise.conversation.deadlines import Deadline
from handraise.conversation.digest import digest
from handraise.conversation.journal import Journal
from handraise.conversation.records import Binding, Entry, Json, Outcome, RoundRecord
from handraise.conversation.rounds import TOKEN_PREFIX, Asked, Round, Waiter
from handraise.conversation.states import TRANSITIONS, State
from handraise.errors import Expired, HandraiseError, StepNotKept, StoreError, UsageError, Withdrawn

if TYPE_CHECKING:
    from handraise.conversation.body import Body

logger = logging.getLogger(__name__)

_NO_PINS: dict[str, str] = {}
_UNTIL = attrgetter("until")
_FORGOTTEN = "handraise: let go at its question, to be replayed"
_OVER = "the call is over; nobody waits for this question"
_ELSEWHERE = "the question was answered, and the call goes on in another process"


class Conversation:
    """One client request with all its questions, across rounds."""

    __slots__ = (
        "_leaving",
        "_lot",
        "_open",
        "_sending",
        "_steps",
        "_tidying",
        "_told_until",
        "body",
        "current",
        "handler",
        "id",
        "journal",
        "seed",
        "state",
    )

    def __init__(self, body: Body) -> None:
        self.body: Body | None = body
        """None when it has ended."""
        self._lot = body.lot
        self._open: dict[str, Asked] = {}
        self._sending = False
        self._steps = 0
        self._leaving = False
        self._told_until = 0.0
        self._tidying: Deadline | None = None
        """How long the body may take to end after it heard that nobody waits for it."""
        self.id: str = ""
        self.journal: Journal | None = None
        self.handler: str | None = None
        self.current: Round = Round(0)
        self.state: State = "working"
        self.seed: str = ""
        if not body.is_open:  # a task that it left behind wants to ask
            self.state, self.body = "over", None
        else:
            self._lot.bodies.add(body)

    @property
    def binding(self) -> Binding:
        """What every round of this conversation is bound to."""
        assert self.body is not None
        return self.body.binding

    @property
    def context(self) -> contextvars.Context | None:
        """What the body runs in, until it has ended."""
        return None if self.body is None else self.body.context

    @property
    def _task(self) -> asyncio.Task[None] | None:
        return None if self.body is None else self.body.task

    def identify(self) -> str:
        """What its rounds have in common in the store, from before the first one."""
        self.id = self.id or TOKEN_PREFIX + os.urandom(6).hex()
        return self.id

    # The body's side.

    async def exchange(self, key: str, request: Json, timeout: float) -> Json:
        """Send an input request and wait for what the client answers to it.

        Requests that sibling tasks send in the same breath share a round. Raises `Expired` when nobody
        answered in time and `Withdrawn` when the asker goes away.
        """
        journal = self.journal
        if journal is not None and (known := journal.recall(key, digest(request))) is not None:
            if known.kind == "expired":
                raise Expired
            return known.value
        if self.state == "over" or key in self._open:
            raise self._refusal(key)
        lot, loop = self._lot, asyncio.get_running_loop()
        asked = self._open[key] = Asked(request, loop.create_future(), lot.store.now() + timeout)
        deadline = lot.deadlines.add(timeout, self._expire, asked)
        try:
            # While a round is out that somebody waits for, or on its way, a question waits for the next one.
            if not self._sending and (self.state != "asking" or not self._is_awaited()):
                await asyncio.shield(self._send_beside())
            answer = await asked.future
        except Expired:
            await self._require_unanswered()
            if journal is not None:
                journal.expired(key, digest(request))
            self._send_rest()
            raise
        except BaseException:
            asked.drop()
            self._send_rest()
            raise
        finally:
            lot.deadlines.drop(deadline)
            del self._open[key]
        if journal is not None:
            journal.answered(key, digest(request), answer)
        return answer

    async def write(self, entry: Entry) -> None:
        """Make a step of the journal safe before the body goes on."""
        if self.id:
            # What was done is written down even if whoever did it is stopped now.
            await asyncio.shield(self._lot.spawn(self._write(entry)))

    @contextmanager
    def step(self) -> Iterator[None]:
        """While a step runs that must not run again, the body is not let go."""
        self._steps += 1
        try:
            yield
        finally:
            self._steps -= 1
            if self._leaving:
                self._let_go()

    def _let_go(self) -> None:
        """Forget the body at its question, when no task of it is in the middle of a step."""
        self._leaving = self.state == "asking"
        if self._leaving and not self._steps:
            self.forget()

    async def _write(self, entry: Entry) -> None:
        try:
            await self._lot.store.append(self.id, (entry,))
        except StoreError as error:
            raise StepNotKept(str(error)) from error

    def _refusal(self, key: str) -> HandraiseError:
        if self.state == "over":
            return Withdrawn(_OVER)
        return UsageError(f"the question {key!r} is being asked already; give each its own key")

    def _expire(self, asked: Asked) -> None:
        if self.current.taking and asked.waiting:  # a retry is at the store, which may still take it
            self._lot.deadlines.add(0, self._expire, asked)
        else:
            self._give_up(asked, Expired())

    def _give_up(self, asked: Asked, error: Exception) -> None:
        asked.fail(error)
        if self.state == "asking" and not self._is_awaited():
            self.state = TRANSITIONS[self.state, "give up"]

    def _is_awaited(self) -> bool:
        """Whether somebody waits for an answer that the round which is out can bring."""
        shown = self.current.shown
        return any(shown.get(key) is asked.request and asked.waiting for key, asked in self._open.items())

    async def _require_unanswered(self) -> None:
        """Our time is over; but another process may have taken the answer, and then the call is its."""
        store, token = self._lot.store, self.current.token
        if not store.durable or not token or self.current.taken or self._is_awaited():
            return
        if not await store.close_round(token):
            self.hand_over()
            raise asyncio.CancelledError(_FORGOTTEN) if self.handler is not None else Withdrawn(_ELSEWHERE)

    def _disown(self) -> None:
        self._lot.live.pop(self.current.token, None)
        self.id, self.current = "", Round(self.current.number)

    def _send_beside(self) -> asyncio.Task[None]:
        """Send in a task of its own: questions that sibling tasks ask in the same breath share the round, and
        whoever asks may be stopped without leaving a round half written."""
        self._sending = True
        return self._lot.spawn(self._send())

    def _send_rest(self) -> None:
        """Send what was asked while another round was out."""
        if self._sending or self.state == "over" or not any(asked.waiting for asked in self._open.values()):
            return
        if self.state == "working" or (self.current.token and not self._is_awaited()):
            self._send_beside()

    async def _send(self) -> None:
        questions = {key: asked.request for key, asked in self._open.items() if asked.waiting}
        try:
            if self.state == "asking" and questions:  # nobody waits any more for the round that is out
                await self._require_unanswered()
                if self.state == "asking":
                    self.state = TRANSITIONS[self.state, "give up"]
            if self.state == "working" and questions:
                await self._end_round(questions)
        except Exception as error:  # noqa: BLE001 - it is raised where each question was asked
            for asked in [self._open[key] for key in questions if key in self._open]:
                asked.fail(error)
        finally:
            self._sending = False
        self._send_rest()

    async def _end_round(self, questions: dict[str, Json]) -> None:
        lot, before = self._lot, self.current
        lot.require_room(before.token)
        after = Round(before.number + 1, TOKEN_PREFIX + os.urandom(16).hex(), questions)
        self.id = self.id or after.token[:16]
        assert self.body is not None
        record = RoundRecord(
            after.token,
            self.id,
            after.number,
            self.body.binding,
            max(map(_UNTIL, self._open.values())),
            questions,
            {key: digest(request) for key, request in questions.items()} if self.handler else _NO_PINS,
            self.journal.for_round() if self.journal is not None else (),
            self.handler,
            self.seed,
        )
        told = () if lot.tell_asked is None else lot.tell_asked(self, questions)
        await lot.store.open_round(record, events=told)
        if self.journal is not None:
            await self._write_missing(self.journal, record.journal)
        if self.state == "over":  # the body was stopped meanwhile
            await lot.store.end(self.id, until=lot.expiry())
            return
        self.current, self.state = after, TRANSITIONS[self.state, "ask"]
        if lot.store.durable and not self._is_awaited():  # their time was over while the round was written
            self.state = TRANSITIONS[self.state, "give up"]
        lot.live[after.token] = (self, after)
        outcome = Outcome("round", lot.wire(questions, after.token))
        try:
            if before.token:
                await self._go_on_from(before, outcome)
        finally:  # whoever waits for it is told also when that fails
            before.finish(outcome)
        if self.body is not None:
            self.body.paused()
        if lot.terms.forget_bodies and self.handler is not None:
            self._let_go()

    async def _go_on_from(self, before: Round, outcome: Outcome) -> None:
        """Keep how a round went on for a retry that comes again."""
        lot = self._lot
        try:
            await lot.store.settle(before.token, outcome, until=lot.expiry())
        except StoreError as failure:  # the question is out all the same
            logger.error("how a round went on could not be kept; it is tried again: %s", failure)
            lot.settle_later(before.token, outcome)
        except BaseException:
            lot.live.pop(before.token, None)
            raise
        else:
            lot.live.pop(before.token, None)

    async def _write_missing(self, journal: Journal, written: tuple[Entry, ...]) -> None:
        """Steps of sibling tasks that ended while the round was written, with the journal as it was before."""
        if len(journal.entries) != len(written):
            known = set(map(id, written))
            await self._lot.store.append(self.id, [e for e in journal.entries if id(e) not in known])

    # Its end.

    async def fail(self, error: BaseException) -> None:
        """The body ended with an error."""
        if isinstance(error, asyncio.CancelledError):
            if error.args == (_FORGOTTEN,):
                self._disown()
            body, error = self.body, Withdrawn()
            if body is not None and self.current.waiters:
                error = body.refusal(error)
        await self.end(Outcome("error", self._lot.describe(error)), error)

    async def end(self, outcome: Outcome, error: BaseException | None = None) -> None:
        """The body is over: tell whoever waits for it, and keep its end for a retry that comes late."""
        lot, last = self._lot, self.current
        self.state = TRANSITIONS[self.state, "end"]
        for asked in self._open.values():  # of tasks that the body left behind
            asked.drop()
        if self._tidying is not None:
            lot.deadlines.drop(self._tidying)
        try:
            if self.id:  # if not, it never asked, or the call is another process's: there is nothing to keep
                until = max(lot.expiry(), self._told_until)
                await lot.store.settle(last.token, outcome, until=until, ends=self.id)
                lot.prune_later()
        except StoreError as failure:
            logger.error("the end of a call could not be kept: %s", failure)
        finally:
            lot.live.pop(last.token, None)
            if self.body is not None:
                lot.bodies.discard(self.body)
                self.body = None
            last.finish(outcome, error)

    def forget(self) -> None:
        """Let the body go, so that the next retry replays it."""
        self._disown()
        if self._task is not None:
            self._task.cancel(_FORGOTTEN)

    def hand_over(self) -> None:
        """The answer was taken by another process, and the call is its. The body ends here, at its question."""
        if self.handler is not None:
            self.forget()
        else:
            self._disown()
            for asked in self._open.values():
                self._give_up(asked, Withdrawn(_ELSEWHERE))

    def withdraw(self) -> None:
        """Tell the body, at its question, that the asker went away; cancel it if it is not at one, nor in a step.

        A replayable body in a store that outlives the process is let go instead: its questions stay open.
        """
        if self.body is None or self.body.is_left:
            return
        waiting = [asked for asked in self._open.values() if asked.waiting]
        if self.handler is not None and self._lot.store.durable and self.state == "asking":
            self._let_go()
            return
        if waiting and self._lot.store.durable:
            # A person who answers until then is told so, by whoever has the store then.
            self._told_until = max(map(_UNTIL, waiting))
        for asked in waiting:
            self._give_up(asked, Withdrawn())
        self._leave(at_work=not waiting and not self._steps)

    # The requests' side.

    def waits_at(self, round_: Round) -> bool:
        """Whether the body is suspended at this round and has not been given its answers."""
        return self.state == "asking" and self.current is round_

    def take(self, answers: Mapping[str, Json]) -> None:
        """Hand the answers of a retry to the questions that were shown."""
        current = self.current
        self.state, self._leaving, current.taken = TRANSITIONS[self.state, "answer"], False, True
        unanswered = len(self._open)
        for key, answer in answers.items():
            # A question that came after one that was given up may have the same key: this is no answer to it.
            asked = self._open.get(key)
            if asked is not None and current.shown.get(key) is asked.request and not asked.future.done():
                asked.future.set_result(answer)
                unanswered -= 1
        if unanswered:
            self._send_rest()

    async def wait(self, round_: Round) -> Json:
        """Wait until the round goes on, and give its wire result. Raises what the body raised."""
        if round_.outcome is None:
            waiter = Waiter(partial(self._abandoned, round_))
            round_.waiters += (waiter,)
            await waiter
        return round_.result()

    def _abandoned(self, round_: Round, waiter: Waiter) -> None:
        """The caller left. A body that used no answer yet ends with it; otherwise it lingers."""
        round_.waiters = tuple(other for other in round_.waiters if other is not waiter)
        if round_.waiters or round_ is not self.current or self.state == "over":
            return
        if round_.number == 0:
            self._leave()
        else:
            self._lot.deadlines.add(self._lot.terms.linger, self._end_if_alone, round_)

    def _end_if_alone(self, round_: Round) -> None:
        if round_ is self.current and not round_.waiters and self.state != "over":
            self._leave()

    def _leave(self, *, at_work: bool = True) -> None:
        """Nobody waits for the body any more. If it is at a question, it has `linger` seconds to tidy up.

        So has a body that somebody else cancels, as the end of an event loop does. Any other is `at_work`, and
        cancelled at once.
        """
        if self.body is None or self.body.is_left:
            return
        if self.body.leave() or (self._task is not None and self._task.cancelling()):
            self._tidying = self._lot.deadlines.add(self._lot.terms.linger, self.body.stop)
        elif at_work:
            self.body.stop()
