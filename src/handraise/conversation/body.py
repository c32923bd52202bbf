"""The body of a client request: what runs in a task of its own, and can be suspended there at a question.

Knows neither the SDK nor a transport. The body is any coroutine. It has its own task, because cancel scopes, time
limits, locks and child tasks of the author must outlive the request that began it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from handraise.conversation.cancellation import LEFT
from handraise.conversation.conversation import Conversation
from handraise.conversation.records import Binding, Json, Outcome
from handraise.errors import HandraiseError

if TYPE_CHECKING:
    from handraise.conversation.lot import Lot


class Body:
    """What a request runs."""

    context: contextvars.Context | None = None
    task: asyncio.Task[None] | None = None
    is_open: bool = True
    """Whether its work still goes on."""
    ending: Exception | None = None
    """What was raised to end it, in case somebody hides that."""
    prepared: frozenset[asyncio.Task[Any]] = frozenset()
    """Its questions that are on their way without anybody waiting at them."""
    askers: tuple[asyncio.Task[Any], ...] = ()
    """The tasks that are at a question of it, each as often as it is."""
    swallowed: Mapping[asyncio.Task[Any], int] = MappingProxyType({})
    """How often tasks were cancelled that went on, without telling asyncio so, and asked."""
    is_left: bool = False
    """Whether nobody waits for it any more, or the server stops."""
    was_told: bool = False
    """Whether somebody has heard of that at a question."""
    _conversation: Conversation | None = None

    @property
    def lot(self) -> Lot:
        """Where it is parked."""
        raise NotImplementedError

    @property
    def binding(self) -> Binding:
        """What every round of its conversation is bound to."""
        raise NotImplementedError

    def paused(self) -> None:
        """It is suspended at its question: let go of what belonged to the round."""

    @property
    def conversation(self) -> Conversation:
        """Its questions, across rounds."""
        if self._conversation is None:
            self._conversation = Conversation(self)
        return self._conversation

    def begin(self, work: Awaitable[Json], context: contextvars.Context) -> None:
        """Run in a task of its own."""
        self.context = context
        running = self._run(work, self.conversation)
        self.task = asyncio.get_running_loop().create_task(running, name=_NAME, context=context)

    def run(self, work: Awaitable[Json], context: contextvars.Context) -> Awaitable[Json]:
        """Run in a task of its own; the first round or the end, for the request that began it."""
        self.begin(work, context)
        return self.conversation.wait(self.conversation.current)

    def asks(self, asker: asyncio.Task[Any]) -> None:
        """A task is at a question of it."""
        self.askers += (asker,)
        if asker.cancelling() or self.swallowed:
            self.was_cancelled(asker)

    def was_cancelled(self, asker: asyncio.Task[Any]) -> None:
        """Take note of what a task that asks has swallowed so far."""
        self.swallowed = {**self.swallowed, asker: asker.cancelling()}

    def is_cancelled(self, asker: asyncio.Task[Any]) -> bool:
        """Whether a task was cancelled since it is at a question: it was told, by the end of another one."""
        return asker.cancelling() > self.swallowed.get(asker, 0)

    def has_asked(self, asker: asyncio.Task[Any]) -> None:
        """It is there no more."""
        at = self.askers.index(asker)
        self.askers = self.askers[:at] + self.askers[at + 1 :]

    def hears(self) -> None:
        """Somebody hears at a question that nobody waits any more."""
        self.was_told = True

    def leave(self) -> bool:
        """Raise `Withdrawn` at every open question of the body; whether it hears of that at one, now or before."""
        self.is_left = True
        askers = set(self.askers)
        for asker in askers:
            if not self.is_cancelled(asker):
                asker.cancel(LEFT)
        return self.was_told or bool(askers)

    def stop(self) -> None:
        """Cancel the work."""
        if self.task is not None:
            self.task.cancel()

    def prepare(self, question: asyncio.Task[Any]) -> None:
        """Take note of a question that is sent now and waited for later, if at all."""
        self.prepared |= {question}
        question.add_done_callback(self._forget)

    def _forget(self, question: asyncio.Task[Any]) -> None:
        self.prepared -= {question}
        if not question.cancelled():
            question.exception()  # whoever does not await it does not want to know

    async def stop_asking(self) -> None:
        """Its work is over: nobody waits for the questions that are still open."""
        for question in self.prepared:
            question.cancel()
        for asker in {*self.askers} - self.prepared:
            if not self.is_cancelled(asker):
                asker.cancel(LEFT)

    def returned(self, result: Json) -> Json:
        """What becomes of what the work gave although its `ending` was raised. Raises what the request gets instead."""
        return result

    def raised(self, error: HandraiseError) -> Json:
        """The result that an error of ours becomes. Raises what the request gets when it becomes none."""
        raise self.refusal(error)

    def broke(self, error: Exception) -> Json:
        """What becomes of an error that came although the `ending` was raised. Raises what the request gets."""
        raise error

    def refusal(self, error: HandraiseError) -> Exception:
        """An error of ours as the request gets it."""
        return error

    def forget_endings(self) -> None:
        """Nobody looks at what was raised any more. It knows by its traceback who knows it."""
        self.ending = None

    async def _run(self, work: Awaitable[Json], conversation: Conversation) -> None:
        try:
            try:
                result = await work
                if self.ending is not None:
                    result = self.returned(result)
            except HandraiseError as error:
                result = self.raised(error)
            except Exception as error:
                if self.ending is None:
                    raise
                result = self.broke(error)
            finally:
                self.is_open = False
                if self.prepared or self.askers:
                    await self.stop_asking()
        except BaseException as error:  # whoever waits is told of each, also of what ends the whole server
            await conversation.fail(error)
            if isinstance(error, SystemExit | KeyboardInterrupt):
                raise
        else:
            await conversation.end(Outcome("result", result))
        finally:
            self.context = self.task = None
            if self.ending is not None:
                self.forget_endings()


_NAME = "handraise body"
