"""The call that `ask` uses, the same on every revision."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

from handraise.calls import TOKEN_PREFIX, Call, CallBinding, RoundRecord, SettledError
from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import digest, keyed_id, pin_of
from handraise.errors import (
    CATEGORY,
    DefinitionError,
    HandraiseError,
    Mode,
    NotSupported,
    SetupError,
    StateRefused,
    TooManyQuestions,
    UsageError,
    WireError,
    is_text_of,
    sentence,
)
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.sdk.adapter import IncomingRequest, RequestHandler, Result
from handraise.secrets import CallReading
from handraise.server.channels import Channel, LiveChannel, RoundChannel
from handraise.wire import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    URL_REQUIRED,
    dump_missing_capability,
    parse_input_responses,
)

if TYPE_CHECKING:
    from handraise.ledger.trail import Trail
    from handraise.server.question_record import QuestionRecord
    from handraise.server.runtime import Runtime

logger = logging.getLogger(__name__)

_NO_WAY_BACK: Final = (
    "a client can be asked from 2025-06-18 on, and before 2026-07-28 only by a server without json_response=True and "
    "stateless_http=True"
)

INTERNAL_ERROR: Final = -32603

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=HandraiseError)


class LinksRequired(HandraiseError):
    """The call ends before it starts, with error -32042: the client has to show these links first (2025-11-25)."""

    code = "links_required"
    public = "This request needs something from the person first."

    def __init__(self, elicitations: Mapping[str, Any]) -> None:
        super().__init__(self.public)
        self.fault: dict[str, Any] = {"code": URL_REQUIRED, "message": self.public, "data": elicitations}


class ServedCall(Call):
    """A call of an SDK's server: its live request, its handler, and the channel that carries its questions."""

    def __init__(self, runtime: Runtime, request: IncomingRequest) -> None:
        super().__init__(runtime.calls)
        self.runtime = runtime
        self.request: IncomingRequest = request
        """The request that is live now, or was last."""
        self.method: str = request.method
        self.params: Mapping[str, Any] = request.params
        self.revision: Revision = request.revision
        self.ending: HandraiseError | None = None
        """The last error that `ask` raised: what the framework shows if the author does not catch it."""
        self.responses: Mapping[str, Any] = {}
        """The answers that came with its request: with a retry, or before anything was asked."""
        self.answered: tuple[Trail, ...] = ()
        """The questions of the call that were decided, for the ledger."""
        self.recordings: dict[str, QuestionRecord] = {}
        """The questions of the call that are recorded, by key."""
        self.reading: CallReading = CallReading()
        """Its forms together, for the detector of secrets: three questions may ask for one card."""
        self.prepared: list[asyncio.Task[Any]] = []
        """Questions that were sent early."""
        self._channel: Channel | None = None
        self.replayed_as: str = ""
        """The name of the handler that a replay runs again."""
        self._origin = f"{request.session_id} {request.id!r}"
        self._asked = 0
        self._numbered = 0

    @property
    def person(self) -> Person:
        """The person who answers."""
        return self.request.person

    @cached_property
    def binding(self) -> CallBinding:
        """The binding of every round of the call. Most calls never ask, and need none."""
        arguments = digest(self.params.get("arguments") or {})
        return CallBinding(self.request.principal, self.method, self.target, arguments, self.runtime.name)

    @cached_property
    def handler(self) -> RequestHandler:
        """The SDK's handler of the request that began the call here."""
        return self.request.handler(replay=bool(self.replayed_as))

    @property
    def target(self) -> str:
        """The name of the tool or prompt, or the URI of the resource."""
        return target_of(self.request)

    @property
    def channel(self) -> Channel:
        """Carries the questions. It is made for the first one: most calls never ask."""
        if self._channel is None:
            self._channel = RoundChannel(self) if self.revision.modern else LiveChannel(self)
        return self._channel

    # Serving.

    async def serve(self) -> Result:
        """The next step of the call: a new call runs its handler, a retry goes on with the call of its round."""
        state = self.params.get("requestState") if self.revision.modern else ""
        is_retry = isinstance(state, str) and state.startswith(TOKEN_PREFIX)
        if state is None or is_retry:
            self.responses = parse_input_responses(self.params.get("inputResponses"))
        if is_retry:
            return await self.runtime.calls.resume(self, str(state), self.responses)
        context = self._begin()
        try:
            return await self.wait(self.current)
        except asyncio.CancelledError:
            if self._channel is not None:
                await self._channel.told()
            raise
        finally:
            if self.state == "over":  # as if the handler had run here
                for variable, value in context.items():
                    if variable is not CURRENT and variable.get(None) is not value:
                        variable.set(value)

    def _begin(self) -> contextvars.Context:
        context = contextvars.copy_context()
        context.run(CURRENT.set, self)
        self.start(context)
        return context

    def replay(self, record: RoundRecord) -> None:
        """Run the handler again that asked in a round and is gone."""
        self.replayed_as = record.handler or ""
        self.restore(record)
        self._begin()

    async def may_replay(self, record: RoundRecord) -> bool:
        """Whether the handler of this request is the one that asked, and is replayable."""
        return await self.runtime.may_replay(record)

    async def run(self) -> Result:
        """Run the SDK's handler, and end the call as its result or error says."""
        recorder = self.runtime.recorder
        try:
            try:
                result = await self.handler.run()
            except asyncio.CancelledError:
                if recorder is not None:
                    recorder.call_cancelled(self)
                raise
            except BaseException as error:  # noqa: BLE001 - raised again, or it is the end of the call
                if recorder is not None:
                    await recorder.call_ended(self, failed=True)
                return self._end_by(error)
            if recorder is not None:
                await recorder.call_ended(self, failed=is_error(result))
            return self._end_with(result)
        finally:
            for question in self.prepared:  # nobody awaits them now
                question.cancel()
            if self._channel is not None:
                await self._channel.close()
                self._channel = None  # it refers to us: only the garbage collector would free both

    def _end_with(self, result: Result) -> Result:
        """The handler's result. If the framework made it from our error, end the call with that error."""
        if self.ending is None or not is_made_of(result, self.ending):
            return result
        return {**result, **self._end_by(self.ending)}

    def _end_by(self, error: BaseException) -> Result:
        """The result for an error. Raises if the client gets a JSON-RPC error instead."""
        adapter = self.runtime.adapter
        if not isinstance(error, HandraiseError):
            if self.ending is None or not adapter.is_wrapped(self.ending, error):
                raise error
            error = self.ending
        error.__traceback__ = None
        if (fault := self._fault_for(error)) is not None:
            raise adapter.refusal(fault)
        return adapter.stamp(error_result(error), self.revision)

    def suspended(self) -> None:
        """No request is live."""
        self.handler.detach()

    def attach(self, retry: Call) -> None:
        """Make the request of a retry the live one."""
        assert isinstance(retry, ServedCall)
        self.request = retry.request
        self.handler.attach(retry.request, self.context)

    def refresh(self) -> None:
        """Set the live request's access token in the running task or thread."""
        self.handler.refresh(self.context)

    def context_without_call(self) -> contextvars.Context:
        """The running context, without a reference to this call."""
        context = contextvars.copy_context()
        context.run(CURRENT.set, None)
        return context

    def record_asked(self, keys: Sequence[str]) -> Sequence[Record]:
        """The ledger events that commit with a round."""
        recorder = self.runtime.recorder
        return () if recorder is None else recorder.round_asked(self, keys)

    def record_taken(self, of: Call | RoundRecord, answers: Mapping[str, Any]) -> Sequence[Record]:
        """The ledger events that commit with the use of a round by this retry."""
        recorder = self.runtime.recorder
        return () if recorder is None else recorder.round_taken(self.request, of, answers)

    def record_lost(self, record: RoundRecord) -> Sequence[Record]:
        """The ledger events that commit with the end of a round whose answers nobody can use."""
        recorder = self.runtime.recorder
        return () if recorder is None else recorder.round_lost(self.request, record)

    # Questions.

    def can(self, mode: Mode) -> bool:
        """Whether the live request's client declared this mode."""
        return self.request.capabilities.supports(mode)

    def require_mode(self, mode: Mode) -> None:
        """Raise `NotSupported` unless the client declared this mode."""
        if not self.can(mode):
            if not self.request.can_be_asked:
                raise NotSupported(mode, _NO_WAY_BACK, missing="be asked over this connection")
            raise NotSupported(mode)

    def count(self) -> None:
        """Count a question that is about to be asked; refuse when there were too many."""
        self._asked += 1
        limit = self.runtime.options.max_questions
        if self._asked > limit:
            raise TooManyQuestions(f"this call wants to ask question {self._asked}; {limit} are allowed")

    def next_key(self, content: object) -> str:
        """An id for the next question. It is the same if the request is dispatched twice, or the call is replayed."""
        self._numbered += 1
        if self.replays is None:
            return self._question_id(self._numbered, content)
        self.seed: str = self.seed or self._question_id("seed")
        return keyed_id(self.seed.encode(), self._numbered, content)

    def _question_id(self, *parts: object) -> str:
        """A keyed hash of person, session, JSON-RPC id and these parts."""
        return keyed_id(self.runtime.id_key, self.request.principal, self._origin, *parts)

    # Errors.

    def raisable(self, error: E) -> E:
        """An error in a form that ends this call properly if the author does not catch it.

        The log gets the reason of a mistake in the server: the client learns one sentence, which says less.
        """
        if isinstance(error, DefinitionError | SetupError | UsageError) and error is not self.ending:
            logger.error("%s", error.reason)
        adapter, fault = self.runtime.adapter, self._fault_for(error)
        self.ending = (
            adapter.as_tool_error(error) if fault is None else adapter.as_protocol_error(error, fault)
        )
        return error

    def _fault_for(self, error: HandraiseError) -> dict[str, Any] | None:
        """The JSON-RPC error with which an error ends this call; None when it ends with a tool result."""
        if isinstance(error, LinksRequired):
            return error.fault
        if self.method != "tools/call" or (isinstance(error, NotSupported) and self.revision.modern):
            return fault_of(error, self.revision)
        return None

    def end_with(self, error: HandraiseError) -> NoReturn:
        """End the call with an error that the model can read."""
        raise self.raisable(error) from None

    # The journal.

    async def judge(self, said: object, verdict: Callable[[], Awaitable[str | None]]) -> str | None:
        """The author's verdict on an answer. A replay uses the verdict of the first run."""
        if self.replays is None or self.journal is None:
            return await verdict()
        pin = digest(said)
        if (known := self.journal.verdict(pin)) is not None:
            return known.value  # type: ignore[no-any-return]
        reason = await verdict()
        await self.write(self.journal.add("judged", "", pin, reason))
        return reason

    async def keep_answer(self, key: str, request: Mapping[str, Any], answer: Any) -> None:
        """Keep an answer that came with the call, for a replay."""
        if self.replays is not None and self.journal is not None:
            await self.write(self.journal.add("answer", key, pin_of(request), answer))


CURRENT: ContextVar[ServedCall | None] = ContextVar("handraise_call", default=None)


def current_call() -> ServedCall:
    """The call that the running code serves. Raises `UsageError` outside of one."""
    call = CURRENT.get()
    if call is None:
        raise UsageError(
            "ask or once was used outside of a request. Use them inside a tool, prompt or resource template of a "
            "server on which Handraise().install(server) was called; on a legacy session of your own, pass session=…"
        )
    return call


def fitting(error: E) -> E:
    """An error in the form for the running call, if there is one."""
    call = CURRENT.get()
    return error if call is None else call.raisable(error)


def fits_call(make: Callable[P, R]) -> Callable[P, R]:
    """Raise the errors of a function that makes a question in the form for the running call."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return make(*args, **kwargs)
        except (DefinitionError, UsageError) as error:
            raise fitting(error) from None

    return made


def target_of(request: IncomingRequest) -> str:
    """The name of the tool or prompt, or the URI of the resource."""
    return str(request.params.get("uri" if request.method == "resources/read" else "name", ""))


# Our errors on the wire: as a JSON-RPC error, or as a tool result that the model can read.


def fault_of(error: BaseException, revision: Revision = Revision.JULY_2026) -> dict[str, Any]:
    """The JSON-RPC error object for an error; -32021 is known on 2026-07-28 only."""
    if isinstance(error, SettledError):
        return dict(error.error)
    if isinstance(error, NotSupported) and revision.modern:
        return {
            "code": MISSING_CAPABILITY,
            "message": error.public,
            "data": dump_missing_capability((error.mode,)),
        }
    if isinstance(error, StateRefused):
        # The SDK's own words for any requestState that it refuses, so that nobody learns whose it was.
        return {
            "code": INVALID_PARAMS,
            "message": "Invalid or expired requestState",
            "data": {"reason": "invalid_request_state"},
        }
    if isinstance(error, WireError):
        return {"code": INVALID_PARAMS, "message": error.public, "data": {"rule": error.rule}}
    if isinstance(error, HandraiseError):
        return {"code": INTERNAL_ERROR, "message": sentence(error), "data": {"reason": error.code}}
    return {"code": INTERNAL_ERROR, "message": "Internal server error"}


def error_result(error: HandraiseError) -> dict[str, Any]:
    """The tool result for an error: a sentence for the model, a category for programs."""
    text = {"type": "text", "text": sentence(error)}
    return {"content": [text], "isError": True, "_meta": {CATEGORY: error.category}}


def is_error(result: object) -> bool:
    """Whether a tool result says that the tool failed."""
    return isinstance(result, Mapping) and bool(result.get("isError"))


def is_made_of(result: object, error: HandraiseError) -> bool:
    """Whether a framework made a tool result from this error: its sentence, perhaps after the framework's own words.

    Only the text is left: frameworks turn the exception into a result before we see it.
    """
    if not isinstance(result, Mapping) or not is_error(result):
        return False
    blocks = result.get("content") or ()
    texts = [str(block.get("text")) for block in blocks if isinstance(block, Mapping)]
    return len(texts) == 1 and is_text_of(texts[0], error)
