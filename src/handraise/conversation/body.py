"""The body of a client request: what runs in a task of its own, and can be suspended there at a question.

Knows neither the SDK nor a transport. The body is any coroutine. It has its own task, because cancel scopes, time
limits, locks and child tasks of the author must outlive the request that began it.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from handraise.conversation.conversation import Conversation
from handraise.conversation.eagerness import begin_now, running_in
from handraise.conversation.records import Binding, Json, Outcome
from handraise.errors import HandraiseError, Withdrawn

if TYPE_CHECKING:
    from handraise.conversation.lot import Lot


class Body:
    """What a request runs. Most bodies never ask: a conversation is made for one that does, or has to be waited for."""

    context: contextvars.Context | None = None
    task: asyncio.Task[Json] | None = None
    is_open: bool = True
    """Whether its work still goes on."""
    ending: Exception | None = None
    """What was raised to end it, in case somebody hides that."""
    prepared: frozenset[asyncio.Task[Any]] = frozenset()
    """Its questions that are on their way without anybody waiting at them."""
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
        """Run in a task of its own, from the next turn of the event loop on."""
        self.context = context
        self.task = asyncio.get_running_loop().create_task(self._run(work), name=_NAME, context=context)

    def run(self, work: Awaitable[Json], context: contextvars.Context) -> Awaitable[Json]:
        """Run in a task of its own, at once until it waits for something; what the request gets that began it."""
        self.context = context
        task = begin_now(self._run(work), name=_NAME, context=context)
        if not task.done():
            self.task = task
        elif self._conversation is None:
            return task
        return self.conversation.begun()

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

    async def _run(self, work: Awaitable[Json]) -> Json:
        self.task = running_in(asyncio.get_running_loop())
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
                for question in self.prepared:
                    question.cancel()
        except BaseException as error:  # whoever waits is told of each, also of what ends the whole server
            if self._conversation is not None:
                await self._conversation.fail(error)
            elif isinstance(error, asyncio.CancelledError):
                raise self.refusal(Withdrawn()) from error
            if self._conversation is None or not isinstance(error, Exception | asyncio.CancelledError):
                raise
        else:
            if self._conversation is not None:
                await self._conversation.end(Outcome("result", result))
            return result
        finally:
            self.context = self.task = None


_NAME = "handraise body"
