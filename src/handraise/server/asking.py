"""One question: it is made, sent, sent again while the answer is unusable, and answered."""

from __future__ import annotations

import asyncio
import contextvars
import time
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import anyio.from_thread
import anyio.to_thread

from handraise.calls.call import begin_task
from handraise.errors import (
    Expired,
    Failed,
    HandraiseError,
    NotSupported,
    TooManyQuestions,
    UnusableAnswer,
    UsageError,
    WireError,
    Withdrawn,
)
from handraise.forms.values import NO_UNICODE, is_unicode
from handraise.questions import FASTER_THAN_READING, Cancelled, Declined, Fallback
from handraise.secrets import require_none
from handraise.server.channels import leave_limits, person_time
from handraise.server.client_requests import ClientRequest, FormRequest, Unusable, UrlRequest
from handraise.server.question_arguments import NO_FALLBACK, AskOptions, OutgoingRequest
from handraise.server.runtime import session_call
from handraise.server.served import CURRENT, ServedCall, current_call, fitting
from handraise.wire import REFUSALS, parse_refusal

R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")

_MAX_WAITING_THREADS = 200
_NO_AWAIT = (
    "a question is neither true nor false: `await` is missing, as in `answer = await ask.confirm(...)`"
)
_NOT_AN_ANSWER = (
    "a question has no `{name}`, only its answer has one: `await` is missing, as in "
    "`(await ask.confirm(...)).{name}`"
)
_NO_LOOP = "a plain `def` tool cannot send a question early: write an `async def`, or ask with ask.sync(...)"
_NO_WORKER = (
    "ask.sync waits in the worker thread of a plain `def` tool, or of anyio.to_thread.run_sync, and this is none: in "
    "an `async def` write `await` instead, as in `answer = await ask.confirm(...)`"
)


def _refuse_name(question: object, name: str) -> NoReturn:
    raise AttributeError(_NOT_AN_ANSWER.format(name=name), name=name, obj=question)


class Unasked:
    """A question that is not asked yet. It is not an answer."""

    __slots__ = ("_used",)
    _used: bool

    def __del__(self) -> None:
        if not self._used:
            warnings.warn("a question was made and never asked: await it", RuntimeWarning, stacklevel=2)

    def __bool__(self) -> NoReturn:
        """Without this, `if ask.confirm("Delete it?")` would delete it."""
        self.use()
        raise fitting(UsageError(_NO_AWAIT))

    if not TYPE_CHECKING:  # a type checker finds the missing name by itself
        __getattr__ = _refuse_name

    def __repr__(self) -> str:
        """Python and pydantic show this where somebody takes the question for its answer."""
        return "<a question that is not asked: await it>"

    def use(self) -> None:
        """Mark it as used, so that it does not warn that nobody awaited it."""
        self._used = True


class Asking(Unasked, Generic[R_co]):
    """A question that is not asked yet. Awaiting it asks it and returns the answer."""

    __slots__ = ("_request", "options")

    def __init__(self, request: ClientRequest[Any], options: AskOptions) -> None:
        self._request = request
        self.options: AskOptions = options
        self._used = False

    def __await__(self) -> Generator[Any, None, R_co]:
        return self._asked().__await__()

    def _asked(self) -> Coroutine[Any, Any, R_co]:
        self.use()
        return ask_until_valid(self.call(), self._request, self.options)

    async def begun(self, name: str) -> Callable[[], Coroutine[Any, Any, R_co]]:
        """Do the slow work before sending; returns a function that asks it, together with others."""
        self.use()
        call, request, options = self.call(), self._request, self.options
        try:
            async with call.at_question():
                timeout = options.timeout or call.runtime.options.timeout
                request = await request.begin(call, options.key or name, timeout)
        except HandraiseError as error:
            raise call.raisable(error) from error.__cause__
        return partial(ask_until_valid, call, request, options, name)

    def is_supported(self, call: ServedCall) -> bool:
        """Whether the client of this call can be asked this."""
        if self._request.mode == "form":
            try:
                self._request.dump(call.revision)
            except NotSupported:
                return False
        return call.can(self._request.mode)

    def prepare(self) -> Prepared[R_co]:
        """Send the question without waiting; wait for the answer later by awaiting the result."""
        self.use()
        outgoing = self.outgoing()
        return Prepared(self.call(), outgoing.request, self._asked(), [outgoing])

    def outgoing(self) -> OutgoingRequest:
        """The input request to send. That of a page is known when the page has a link."""
        outgoing = OutgoingRequest()
        self.options = replace(self.options, outgoing=outgoing)
        if isinstance(self._request, UrlRequest):
            self._request = self._request.identified(self.call())
        if self._request.question is not None or self._request.mode != "url":
            try:
                outgoing.fill(self._request.dump(self.call().revision))
            except NotSupported:  # raised, or answered by the fallback, where the answer is awaited
                outgoing.fill({})
        return outgoing

    @property
    def elicitation_id(self) -> str | None:
        """The id that `complete` takes; None if this is not a link."""
        if not isinstance(self._request, UrlRequest):
            return None
        self._request = self._request.identified(self.call())
        return self._request.question.elicitation_id

    def call(self) -> ServedCall:
        """The call in which it is asked."""
        session = self.options.session
        return current_call() if session is None else session_call(session)


class Prepared(Generic[R_co]):
    """A question that was sent. Awaiting it returns the answer."""

    __slots__ = ("_call", "_coming", "_task", "request")

    def __init__(
        self,
        call: ServedCall,
        request: dict[str, Any],
        asked: Coroutine[Any, Any, R_co],
        coming: Sequence[OutgoingRequest],
    ) -> None:
        self.request: dict[str, Any] = request
        """The input request that was sent; for several questions, one by key. A page's is empty until `sent`."""
        self._call = call
        self._coming = coming
        try:
            context = contextvars.copy_context()
            context.run(leave_limits)
            self._task: asyncio.Task[R_co] = begin_task(asked, context)
        except RuntimeError:
            asked.close()
            raise fitting(UsageError(_NO_LOOP)) from None
        call.prepared.append(self._task)
        self._task.add_done_callback(self._is_done)

    def _is_done(self, task: asyncio.Task[R_co]) -> None:
        self._call.prepared.remove(task)
        if not task.cancelled():
            task.exception()  # an author who does not await it does not need the error
        for outgoing in self._coming:
            outgoing.is_known.set()

    if not TYPE_CHECKING:
        __getattr__ = _refuse_name

    async def sent(self) -> dict[str, Any]:
        """Wait until the question is sent, or a page has its link; returns the input request.

        It is empty when nobody must or can be asked.
        """
        async with self._call.at_question():
            for outgoing in self._coming:
                await outgoing.is_known.wait()
        return self.request

    def __await__(self) -> Generator[Any, None, R_co]:
        return self._answer().__await__()

    async def _answer(self) -> R_co:
        try:
            with person_time():
                return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            withdrawn = self._task.cancelled() and (waiting is None or not waiting.cancelling())
            self.withdraw()
            if not withdrawn:
                raise
        except HandraiseError as error:
            raise self._call.raisable(error) from error.__cause__
        raise self._call.raisable(Withdrawn())

    def __bool__(self) -> NoReturn:
        """A sent question is not an answer either."""
        self.withdraw()
        raise fitting(UsageError(_NO_AWAIT))

    def withdraw(self) -> None:
        """Stop asking. A task that awaits the answer gets `Withdrawn`."""
        self._task.cancel()


class Several(Unasked, Generic[R_co]):
    """Questions that are not asked yet. Awaiting them asks all and returns the answers by name."""

    __slots__ = ("_askings",)

    def __init__(self, askings: Mapping[str, Asking[R_co]]) -> None:
        self._used = True  # each of them warns by itself
        self._askings = askings
        wrong = _wrong_among(askings)
        if wrong is not None:
            self.use()
            raise fitting(UsageError(wrong))

    def __await__(self) -> Generator[Any, None, dict[str, R_co]]:
        return self._answers().__await__()

    def prepare(self) -> Prepared[dict[str, R_co]]:
        """Send the questions without waiting; wait for the answers later by awaiting the result."""
        self.use()
        coming = {asking.options.key or name: asking.outgoing() for name, asking in self._askings.items()}
        requests = {key: outgoing.request for key, outgoing in coming.items()}
        return Prepared(self._call(), requests, self._answers(), [*coming.values()])

    def use(self) -> None:
        for asking in self._askings.values():
            give_up(asking)

    def _call(self) -> ServedCall:
        """The call of the chosen session, else the running call."""
        sessions = [asking.options.session for asking in self._askings.values()]
        session = sessions[0] if sessions and all(each is sessions[0] for each in sessions) else None
        return current_call() if session is None else session_call(session)

    async def _answers(self) -> dict[str, R_co]:
        call, begins = self._call(), {}
        self.use()
        answers: dict[str, R_co] = {}
        for name, asking in self._askings.items():
            begins[name] = partial(asking.begun, name)
            if not asking.is_supported(call):  # it raises now, so that nobody answers the others in vain
                answers[name] = await (await begins.pop(name)())()
        answers |= zip(begins, await call.channel.ask_all([*begins.values()]), strict=True)
        return {name: answers[name] for name in self._askings}


def _wrong_among(askings: Mapping[str, object]) -> str | None:
    names: dict[str, str] = {}
    for name, asking in askings.items():
        if not isinstance(asking, Asking):
            return (
                f"{name} has to be a question that is not awaited, as in {name}=ask.text(...), not {asking!r}"
            )
        key = asking.options.key or name
        if not is_unicode(key):
            return f"the key {key!r}: {NO_UNICODE}"
        if (other := names.setdefault(key, name)) != name:
            return f"{other} and {name} have the same key {key!r}; give each one of its own"
    return None


def give_up(asking: object) -> None:
    """Drop a question without a warning: its author gets another error."""
    if isinstance(asking, Unasked):
        asking.use()
    elif isinstance(asking, Coroutine):
        asking.close()


async def ask_until_valid(
    call: ServedCall, request: ClientRequest[Any], options: AskOptions, name: str | None = None
) -> Any:
    """Ask, and ask again while the answer is unusable; returns the result.

    The key on the wire is `key`, the name among several questions, or a new id. An error that the author does not catch
    ends the call properly.
    """
    recorder = call.runtime.recorder
    record = None if recorder is None else recorder.question(call, request)
    try:
        async with call.at_question():
            try:
                return await _ask(call, request, options, name, record)
            except asyncio.CancelledError:
                if record is not None:
                    record.withdrawn()
                raise
            except HandraiseError as error:
                # Some clients declare that they can be asked, and then refuse.
                falls_back = isinstance(error, NotSupported) and options.fallback is not NO_FALLBACK
                if record is not None:
                    await record.ended(error, fell_back=falls_back)
                if falls_back:
                    return Fallback(options.fallback)
                raise
    except HandraiseError as error:
        raise call.raisable(error) from error.__cause__


async def _ask(
    call: ServedCall, request: ClientRequest[Any], options: AskOptions, name: str | None, record: Any
) -> Any:
    runtime = call.runtime
    key = options.key or name or call.next_key(request.content)
    timeout = options.timeout or runtime.options.timeout
    request = await request.begin(call, key, timeout)
    if request.known is not None:
        return request.known
    if record is not None:
        record.request = request
    call.require_mode(request.mode)
    if isinstance(request, FormRequest):
        require_none(call.reading.judge_together(request.question.message, request.question.form))
    if options.outgoing is not None and not options.outgoing.is_known.is_set():
        options.outgoing.fill(request.dump(call.revision))
    if options.unsafe_preanswer and (given := await _given_before(call, key, request, record)) is not None:
        return given
    tries = runtime.options.max_reasks
    again: Unusable | None = None
    call.count()
    while True:
        wire = request.dump(call.revision, timeout, again)
        if record is not None:
            await record.sending(key, wire)
        asked_at = time.monotonic()
        with person_time():
            raw = await call.channel.exchange(key, wire, timeout)
        call.refresh()
        if (refusal := parse_refusal(raw)) == "expired":  # the desk was a moment faster than our own timer
            raise Expired
        if refusal is not None:
            raise Failed(f"nobody was asked: {REFUSALS[refusal]}")
        if record is not None:
            await record.decided(raw)
        try:
            result = await request.read(raw, call)
        except WireError as error:
            raise Failed(f"the client's answer is none: {error}") from error
        if record is not None:
            await record.read(result)
        if not isinstance(result, Unusable):
            seconds = time.monotonic() - asked_at
            if isinstance(result, Declined | Cancelled) and seconds < FASTER_THAN_READING:
                return replace(result, seconds=seconds)
            return result
        again = result
        if result.counts:
            if tries == 0:
                raise UnusableAnswer("; ".join(result.reasons))
            tries -= 1
            call.count()


async def _given_before(call: ServedCall, key: str, request: ClientRequest[Any], record: Any) -> Any:
    """A valid answer that came with the call itself, or None."""
    if call.replayed_as or key not in call.responses:
        return None
    raw = call.responses[key]
    try:
        result = await request.read(raw, call)
    except HandraiseError:
        return None
    if isinstance(result, Unusable):
        return None
    if record is not None:
        await record.preanswered(raw)
    await call.keep_answer(key, request.dump(call.revision), raw)
    return result


def wait_in_thread(asking: Awaitable[T]) -> T:
    """Ask from the worker thread of a plain `def` tool, and wait for the answer there."""
    began = False

    async def begin() -> T:
        nonlocal began
        began = True
        return await _with_a_thread_more(asking)

    try:
        answer = anyio.from_thread.run(begin)
    except RuntimeError:
        if began:
            raise
        give_up(asking)
        raise fitting(UsageError(_NO_WORKER)) from None
    if (call := CURRENT.get()) is not None:
        call.refresh()
    return answer


async def _with_a_thread_more(asking: Awaitable[T]) -> T:
    """Wait without occupying a worker thread that other tools need."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    if limiter.total_tokens - limiter.available_tokens > _MAX_WAITING_THREADS:
        give_up(asking)
        raise current_call().raisable(
            TooManyQuestions("too many plain `def` tools wait for a person at once")
        )
    limiter.total_tokens += 1
    try:
        return await asking
    finally:
        limiter.total_tokens -= 1
