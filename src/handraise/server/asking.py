"""One question on its way: defined, sent, sent again when the answer cannot be used, and answered."""

from __future__ import annotations

import asyncio
import contextvars
import warnings
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from mcp.server.session import ServerSession

from handraise.errors import (
    Failed,
    HandraiseError,
    NotSupported,
    UnusableAnswer,
    UsageError,
    WireError,
    Withdrawn,
)
from handraise.questions import Fallback
from handraise.server.calls import CURRENT, Call, current_call, withdraw
from handraise.server.inquiries import Inquiry, Unusable, UrlInquiry
from handraise.server.legacy import SessionCall
from handraise.server.limits import leave_limits, person_time
from handraise.server.refusals import fitting

R = TypeVar("R")


class _NoFallback:
    def __repr__(self) -> str:
        return "NO_FALLBACK"


NO_FALLBACK: Any = _NoFallback()


class Manner(NamedTuple):
    """How a question is to be asked, apart from what it asks."""

    key: str | None = None
    timeout: float | None = None
    fallback: Any = NO_FALLBACK
    session: ServerSession | None = None
    unsafe_preanswer: bool = False


class Unasked:
    """What was made to be asked. It is no answer."""

    __slots__ = ("_used",)
    _used: bool

    def __del__(self) -> None:
        if not self._used:
            warnings.warn("a question was made and never asked: await it", RuntimeWarning, stacklevel=2)

    def __bool__(self) -> NoReturn:
        """Without this, `if ask.confirm("Delete it?")` would delete it."""
        self.use()
        raise fitting(UsageError(_NO_AWAIT))

    def use(self) -> object:
        """Have it asked by somebody else, or by nobody."""
        raise NotImplementedError


class Asking(Unasked, Generic[R]):
    """A question that was made and not asked yet. Awaiting it asks it and gives the answer."""

    __slots__ = ("_inquiry", "_manner")

    def __init__(self, inquiry: Inquiry[Any], manner: Manner) -> None:
        self._inquiry = inquiry
        self._manner = manner
        self._used = False

    def __await__(self) -> Generator[Any, None, R]:
        return self.named(None).__await__()

    def named(self, name: str | None) -> Coroutine[Any, Any, R]:
        """Ask it under the name that it has among others, if there are any."""
        self._used = True
        return pose(self._call(), self._inquiry, self._manner, name)

    @property
    def key(self) -> str | None:
        """The name that its author chose for the wire."""
        return self._manner.key

    @property
    def session(self) -> ServerSession | None:
        """The legacy session that it goes to, if its author chose one."""
        return self._manner.session

    async def begun(self, name: str) -> Callable[[], Coroutine[Any, Any, R]]:
        """Do what takes a while before it can be sent; what asks it then, in the same breath as others."""
        self._used = True
        call, inquiry, manner = self._call(), self._inquiry, self._manner
        if inquiry.mode != "form" and call.can(inquiry.mode):
            with call.told_when_left():
                inquiry = await inquiry.begin(call, manner.timeout or call.runtime.options.timeout)
        return partial(pose, call, inquiry, manner, name)

    def prepare(self) -> Prepared[R]:
        """Send the question without waiting; wait for the answer later by awaiting what this gives."""
        self._used = True
        return Prepared(self._call(), self.ready(), self.named(None), self.coming)

    @property
    def coming(self) -> tuple[asyncio.Event, ...]:
        """What happens until there is something in the request that `ready` gave."""
        return ()

    @property
    def elicitation_id(self) -> str | None:
        """What `complete` takes to say that the link was finished; None where it is none."""
        if not isinstance(self._inquiry, UrlInquiry):
            return None
        self._inquiry = self._inquiry.identified(self._call())
        return self._inquiry.question.elicitation_id

    def ready(self) -> dict[str, Any]:
        """Be about to be sent; the input request, empty where the revision has no words for it."""
        if isinstance(self._inquiry, UrlInquiry):
            self._inquiry = self._inquiry.identified(self._call())
        with suppress(NotSupported):  # raised, or answered by the fallback, where the answer is awaited
            return self.request
        return {}

    @property
    def request(self) -> dict[str, Any]:
        """The input request as this call's client gets it."""
        return self._inquiry.request(self._call().revision)

    def use(self) -> tuple[Inquiry[Any], Manner]:
        """What is asked and how, for somebody who asks it in a round of their own."""
        self._used = True
        return self._inquiry, self._manner

    def _call(self) -> Call:
        if self._manner.session is not None:
            return SessionCall(self._manner.session)
        return CURRENT.get(None) or current_call()


class Prepared(Generic[R]):
    """A question that is on its way. Awaiting it gives the answer."""

    __slots__ = ("_call", "_coming", "_is_late", "_task", "request")

    def __init__(
        self,
        call: Call,
        request: dict[str, Any],
        asked: Coroutine[Any, Any, R],
        coming: tuple[asyncio.Event, ...] = (),
    ) -> None:
        self.request: dict[str, Any] = request
        """The input request that was sent, of several one for each of their keys; a page's is empty until `sent`."""
        self._call = call
        self._coming = coming
        self._is_late = call.is_left
        try:
            context = contextvars.copy_context()
            context.run(leave_limits)
            self._task: asyncio.Task[R] = asyncio.get_running_loop().create_task(asked, context=context)
        except RuntimeError:
            asked.close()
            raise fitting(UsageError(_NO_LOOP)) from None
        call.prepare(self._task)
        if coming:
            self._task.add_done_callback(self._stop_coming)

    def _stop_coming(self, _task: asyncio.Task[R]) -> None:
        for event in self._coming:
            event.set()

    async def sent(self) -> dict[str, Any]:
        """Wait until the question is on its way, for a page that is until it has a link; the input request.

        It is empty where nobody has to be asked, or can be.
        """
        with self._call.told_when_left():
            for event in self._coming:
                await event.wait()
        return self.request

    def __await__(self) -> Generator[Any, None, R]:
        return self._answer().__await__()

    async def _answer(self) -> R:
        try:
            with person_time():
                return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            withdrawn = self._task.cancelled() and (waiting is None or not waiting.cancelling())
            self.withdraw()
            if not withdrawn or self._is_late:
                raise
        except HandraiseError as error:
            self._call.raisable(error)  # it ends the call here, if the author lets it
            raise
        raise self._call.raisable(Withdrawn())

    def __bool__(self) -> NoReturn:
        """No answer either."""
        self.withdraw()
        raise fitting(UsageError(_NO_AWAIT))

    def withdraw(self) -> None:
        """Stop asking. Whoever awaits the answer gets `Withdrawn`."""
        withdraw(self._task)


_NO_AWAIT = (
    "a question is neither true nor false: `await` is missing, as in `answer = await ask.confirm(...)`"
)


_NO_LOOP = "a plain `def` tool cannot send a question early: write an `async def`, or ask with ask.sync(...)"


def give_up(asking: object) -> None:
    """Nobody will ask it, and that is told already: it need not warn about it."""
    if isinstance(asking, Unasked):
        asking.use()
    elif isinstance(asking, Coroutine):
        asking.close()


async def pose(call: Call, inquiry: Inquiry[Any], manner: Manner, name: str | None = None) -> Any:
    """Ask, and ask again while the answer cannot be used; the result.

    On the wire a question has its `key`, the name that it was given among others, or an id of its own. What is
    raised fits the call, if the author lets it pass. Everything is in one frame: thousands of them wait at once.
    """
    if call.is_left:  # nobody is there to be asked
        raise call.tell_left()
    recorder = call.runtime.recorder
    if recorder is not None and not recorder.observes(inquiry):
        return await recorder.pose(pose, call, inquiry, manner, name)
    asker = asyncio.current_task()
    assert asker is not None
    call.askers += (asker,)
    if asker.cancelling() or call.swallowed:
        call.was_cancelled(asker)
    try:
        if not call.is_open:
            raise UsageError("the call that this question belongs to is over: ask before its handler returns")
        if not call.can(inquiry.mode):
            raise NotSupported(inquiry.mode)
        key = manner.key or name or call.next_key(inquiry.content)
        if recorder is not None:
            recorder.name(inquiry, key)
        if manner.unsafe_preanswer and (given := await _given_before(call, key, inquiry)) is not None:
            return given
        timeout = manner.timeout or call.runtime.options.timeout
        if inquiry.mode != "form":  # a form has nothing to begin
            inquiry = await inquiry.begin(call, timeout)
        tries = call.runtime.options.max_reasks
        reasons: tuple[str, ...] = ()
        call.count()
        while True:
            with person_time():
                raw = await call.exchange(key, inquiry.request(call.revision, reasons), timeout)
            call.refresh()
            try:
                result = await inquiry.read(raw, call)
            except WireError as error:
                raise Failed(f"the client's answer is none: {error}") from error
            if not isinstance(result, Unusable):
                return result
            reasons = result.reasons
            if result.counts:
                if tries == 0:
                    raise UnusableAnswer("; ".join(reasons))
                tries -= 1
                call.count()
    except asyncio.CancelledError as cancelled:
        raise call.meaning(cancelled) from cancelled.__cause__
    except HandraiseError as error:
        # Some clients declare that they can be asked and then say otherwise; and a revision may lack a kind of field.
        if isinstance(error, NotSupported) and manner.fallback is not NO_FALLBACK:
            return Fallback(manner.fallback)
        if isinstance(error, Withdrawn):
            call.hears()
        raise call.raisable(error) from error.__cause__
    finally:
        if len(call.askers) == 1:
            call.askers = ()
        else:
            call.has_asked(asker)


async def _given_before(call: Call, key: str, inquiry: Inquiry[Any]) -> Any:
    """A valid answer that came with the call itself, or None."""
    if key not in call.answered_before:
        return None
    try:
        result = await inquiry.read(call.answered_before[key], call)
    except HandraiseError:
        return None
    if isinstance(result, Unusable):
        return None
    await call.keep_answer(key, inquiry.request(call.revision), call.answered_before[key])
    return result
