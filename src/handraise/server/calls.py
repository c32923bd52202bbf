"""The call that is being served: what `ask` talks to, the same on every revision."""

from __future__ import annotations

import asyncio
import contextvars
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

from handraise.conversation import Body, Lot
from handraise.conversation.cancellation import is_left_by
from handraise.conversation.journal import Journal
from handraise.errors import (
    HandraiseError,
    Mode,
    NotSupported,
    StepNotKept,
    TooManyQuestions,
    UsageError,
    Withdrawn,
)
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.server.declared import serves
from handraise.server.endings import (
    Ending,
    as_protocol_error,
    as_tool_error,
    describe,
    ending_in_error,
    ending_in_result,
    error_result,
    protocol_error,
)

if TYPE_CHECKING:
    from mcp_types import RequestId

    from handraise.ledger.trail import Trail
    from handraise.server.observing import Recording
    from handraise.server.runtime import Runtime

Context = ServerRequestContext[Any, Any]
Wire = Mapping[str, Any]
Begin = Callable[[Awaitable[HandlerResult], contextvars.Context], Any]

_ENDINGS = 7


class Call(Body):
    """One request that is being served, on any revision. Its handler is the body, in a task of its own."""

    # Most calls never ask: what only a question changes has its beginning here, for all of them.
    journal: Journal | None = None
    replayable: bool = False
    ending: Exception | None = None
    """The error that was raised to end the call, in case the framework hides it."""
    answered_before: Mapping[str, Any] = MappingProxyType({})
    """Answers that came with the call, before anything was asked."""
    answered: tuple[Trail, ...] = ()
    """The questions of the call that were decided, for the ledger."""
    recordings: Mapping[str, Recording] = MappingProxyType({})
    """The questions of the call that are recorded, by their keys."""
    brought: frozenset[str] = frozenset()
    """What the request answers that has the body run again."""
    _endings: tuple[Ending, ...] = ()
    """The last ones: questions that were asked at once may all end the call, and one of them does."""
    _steps: frozenset[str] = frozenset()
    _asked = 0
    _numbered = 0

    def __init__(self, runtime: Runtime, ctx: Context, revision: Revision) -> None:
        self.runtime = runtime
        self.ctx = ctx
        self.revision = revision
        self.request_id: RequestId | None = ctx.request_id
        """Of the request that began it."""
        self._scope = anyio.CancelScope()

    @property
    def lot(self) -> Lot:
        return self.runtime.lot

    def start(
        self, call_next: CallNext, context: contextvars.Context, begin: Begin | None = None
    ) -> Awaitable[HandlerResult]:
        """Run the handler; what its request gets."""
        context.run(CURRENT.set, self)
        if self.runtime.recorder is not None:
            call_next = self.runtime.recorder.observing(self, call_next)
        return (begin or self.run)(self._in_scope(context.run(call_next, self.ctx)), context)

    async def _in_scope(self, work: Awaitable[HandlerResult]) -> HandlerResult:
        with self._scope:
            return await work
        raise asyncio.CancelledError  # it was stopped

    def stop(self) -> None:
        """Cancel the handler as the SDK does: what it shields, a worker thread too, is finished first."""
        self._scope.cancel()

    def returned(self, result: HandlerResult) -> HandlerResult:
        """What becomes of the handler's result: what ended the call instead, if the framework hid that in it."""
        if not isinstance(result, dict) or not result.get("isError"):
            return result
        ending = ending_in_result(self._endings, result)
        if ending is None:
            return result
        ending.__traceback__ = None
        if isinstance(ending, HandraiseError) and not isinstance(ending, MCPError):
            return self.runtime.stamped({**result, **error_result(ending)}, self.revision)
        raise ending

    def broke(self, error: Exception) -> HandlerResult:
        """What becomes of an error that left the handler: what ended the call, if the framework wrapped that."""
        ending = ending_in_error(self._endings, error)
        if ending is None:
            raise error
        if isinstance(ending, HandraiseError):
            return self.raised(ending)
        raise MCPError(**describe(ending)) from error

    def raised(self, error: HandraiseError) -> HandlerResult:
        """The result that an error of ours becomes which left the author's code. Raises what it is on the wire."""
        if self.ctx.method != "tools/call" or isinstance(error, MCPError):
            raise self.refusal(error) from error
        return self.runtime.stamped(error_result(error), self.revision)

    def refusal(self, error: HandraiseError) -> MCPError:
        """An error of ours as the protocol has it."""
        return protocol_error(error, self.revision)

    # What differs between the revisions.

    def next_key(self, content: object) -> str:
        """An id for the next question: the same when the same request is dispatched twice."""
        raise NotImplementedError

    def exchange(self, key: str, request: Wire, timeout: float) -> Awaitable[Any]:
        """Send an input request and give back what the client answered to it, as it came."""
        raise NotImplementedError

    async def together(self, askings: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Ask several things at once, as far as this revision lets a server."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Bring what belongs to the request that is live now to whoever runs: a task or thread of the body's, too."""

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        """Wait for a URL question to be finished in the browser, as long as this revision lets a call wait."""
        raise NotImplementedError

    def new_elicitation_id(self, url: str) -> str:
        """A random id for a URL question, where the author chose none."""
        return secrets.token_urlsafe(18)

    async def withdrawn_questions_told(self) -> None:
        """The request is cancelled, and so are its questions: wait until the client was told, where it has to be."""

    async def announce_when_complete(self, elicitation_id: str, deadline: float) -> None:
        """Have the client told when a URL question is finished that no body waits for, where there is a notice."""

    @property
    def person(self) -> Person:
        """Who will answer."""
        raise NotImplementedError

    @property
    def seed(self) -> str:
        """What makes the ids of this call's questions its own."""
        raise NotImplementedError

    def conversation_id(self) -> str | None:
        """What makes the ids of questions in the ledger the same when the body is run again, where it can be."""
        return None

    @property
    def goes_on_elsewhere(self) -> bool:
        """Whether the body ends here at its question, and the call does not."""
        return False

    # What does not.

    def can(self, mode: Mode) -> bool:
        """Whether the client of the request that is live now declared that it can be asked this.

        `elicitation: {}` means form only, and URL mode needs 2025-11-25 or later.
        """
        declared = self.ctx.session.client_capabilities
        if declared is None:
            return False
        modes = declared.elicitation
        if mode == "form":
            return modes is not None and (modes.form is not None or modes.url is None)
        if mode == "url":
            return modes is not None and modes.url is not None and self.revision.url_mode
        return (declared.roots if mode == "roots" else declared.sampling) is not None

    def require_mode(self, mode: Mode) -> None:
        """Raise `NotSupported` unless the client can be asked this."""
        if not self.can(mode):
            raise NotSupported(mode)

    def count(self) -> None:
        """Take note of a question that is about to be asked; refuse when there were too many."""
        self._asked += 1
        limit = self.runtime.options.max_questions
        if self._asked > limit:
            raise TooManyQuestions(f"this call wants to ask question {self._asked}; {limit} are allowed")

    def forget_endings(self) -> None:
        super().forget_endings()
        self._endings = ()

    def tell_left(self) -> BaseException:
        """What a body gets that asks when nobody waits for it: once that nobody is there, and then its end."""
        return asyncio.CancelledError() if self.was_told else self.withdrawn()

    def withdrawn(self) -> HandraiseError:
        """What a body gets at a question when nobody waits for it any more."""
        self.hears()
        return self.raisable(Withdrawn())

    def meaning(self, cancelled: asyncio.CancelledError) -> BaseException:
        """What whoever is at a question and cancelled gets: that nobody waits, unless it is somebody else's doing."""
        asker = asyncio.current_task()
        if asker is None or not is_left_by(cancelled):
            return cancelled
        asker.uncancel()
        return self.withdrawn()

    @contextmanager
    def told_when_left(self) -> Iterator[None]:
        """Be at a question: have whoever runs now told, as long as they are in here, when nobody waits any more."""
        asker = asyncio.current_task()
        assert asker is not None
        self.asks(asker)
        try:
            yield
        except asyncio.CancelledError as cancelled:
            raise self.meaning(cancelled) from cancelled.__cause__
        finally:
            self.has_asked(asker)

    def raisable(self, error: HandraiseError) -> HandraiseError:
        """An error as it has to be raised so that it leaves this call well, if the author lets it."""
        self._end_by(error)
        tool_error = self.runtime.tool_error
        if self.ctx.method != "tools/call":
            return as_protocol_error(error, self.revision, tool_error)
        if isinstance(error, NotSupported) and self.revision.modern:
            return as_protocol_error(error, self.revision)
        return as_tool_error(error, tool_error)

    def end_with(self, error: MCPError) -> NoReturn:
        """End the call with a JSON-RPC error, also where the framework would hide it."""
        self._end_by(error)
        raise error

    def _end_by(self, error: Exception) -> None:
        ending = Ending.of(error)
        if ending.task in self.prepared:  # its error is the body's once that awaits it
            ending = Ending(error, None)
        self.ending = error
        self._endings = (*self._endings[-_ENDINGS:], ending)

    async def declare_replayable(self, name: str) -> None:
        """The function of this name may run again from the top. If it is the handler, so may the call."""
        params = self.ctx.params or {}
        target = str(params.get("uri" if self.ctx.method == "resources/read" else "name", ""))
        if not self.replayable and await serves(self.runtime.tools, self.ctx.method, target, name):
            self.journal = self.journal or Journal()
            self.replayable = True

    @contextmanager
    def step(self, key: str) -> Iterator[None]:
        """While a `once` step runs."""
        if key in self._steps:
            raise UsageError(f"the step {key!r} is running already; a key names one step of a call")
        self._steps |= {key}
        try:
            yield
        except StepNotKept as error:
            raise self.raisable(error) from error.__cause__
        finally:
            self._steps -= {key}

    async def judge(self, said: object, verdict: Callable[[], Awaitable[str | None]]) -> str | None:
        """What the author's own code has against an answer."""
        return await verdict()

    async def keep_answer(self, key: str, request: Wire, answer: Any) -> None:
        """Have an answer told again that came with the call, when the body is run again."""

    async def remember(self, key: str, value: Any) -> None:
        """Write a `once` result to the journal, safely, before the body goes on."""
        self.journal = self.journal or Journal()
        self.journal.done(key, value)


CURRENT: ContextVar[Call] = ContextVar("handraise_call")


def withdraw(question: asyncio.Task[Any]) -> None:
    """Stop asking. Once: the client is being told of it, which another cancellation would cut off."""
    if not question.cancelling():
        question.cancel()


def current_call() -> Call:
    """The call that the running code serves. Raises `UsageError` outside of one."""
    call = CURRENT.get(None)
    if call is None:
        raise UsageError(
            "ask was used outside of a request. Ask inside a tool, prompt or resource template of a server on which "
            "Handraise().install(server) was called; on a legacy session of your own, pass session=…"
        )
    return call
