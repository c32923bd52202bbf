"""How a question reaches the client: on the live request, or in a round. `ask` cannot tell them apart."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from handraise.calls.call import begin_task
from handraise.calls.rounds import OpenQuestion
from handraise.errors import Failed, Mode, NotSupported, UsageError, Withdrawn
from handraise.sdk.adapter import ConnectionLost, RequestFailed
from handraise.server.flows import Notice
from handraise.wire import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from handraise.sdk.adapter import IncomingRequest
    from handraise.server.served import ServedCall


_TELLING = 1.0
"""Seconds to tell the client that its questions are withdrawn."""
_WAITING = "Answer the question in your client."
_IN_BROWSER = "Finish the page in your browser."


Begin = Callable[[], Awaitable[Callable[[], Coroutine[Any, Any, Any]]]]
"""Does the slow work before a question can be sent, and returns a function that asks it."""


class Channel:
    """Carries the questions of one call to its client and brings the answers back."""

    def __init__(self, served: ServedCall) -> None:
        self._served = served

    async def exchange(self, key: str, request: Mapping[str, Any], timeout: float) -> Any:
        """Send an input request; returns the client's raw answer. Raises `NoAnswer`."""
        raise NotImplementedError

    async def ask_all(self, begins: Sequence[Begin]) -> list[Any]:
        """Ask several questions at once, as far as the revision allows."""
        raise NotImplementedError

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        """Wait until a URL question is finished in the browser, as long as the revision allows."""
        served = self._served
        with person_time():
            async with kept_alive(served, _IN_BROWSER):
                return await served.unless_left(
                    self._wait_for_end(elicitation_id, deadline - time.monotonic())
                )

    async def _wait_for_end(self, elicitation_id: str, seconds: float) -> bool:
        raise NotImplementedError

    async def announce(self, elicitation_id: str, deadline: float) -> None:
        """Tell the client later that a URL question is finished for which no handler waits, if there is a notice."""

    def new_elicitation_id(self, url: str) -> str:
        """A random id for a URL question."""
        return secrets.token_urlsafe(18)

    async def close(self) -> None:
        """The handler has ended: withdraw the questions that are still open, unless the client has them."""

    async def told(self) -> None:
        """Wait until the client was told that its questions are withdrawn, if it must be."""


class RoundChannel(Channel):
    """2026-07-28: a question ends the round, and the client's retry brings the answer.

    There is no completion notice. The round that is out stays with the client, and the call's end withdraws the rest.
    """

    async def exchange(self, key: str, request: Mapping[str, Any], timeout: float) -> Any:
        return await self._served.ask_in_round(key, request, timeout)

    async def ask_all(self, begins: Sequence[Begin]) -> list[Any]:
        """In tasks of their own: questions that are asked in the same turn of the event loop share a round."""
        begun = [await begin() for begin in begins]
        tasks = [begin_task(ask()) for ask in begun]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _wait_for_end(self, elicitation_id: str, seconds: float) -> bool:
        # Bounded: a client or a proxy gives up on a request that stays silent. Then the question is shown again.
        runtime = self._served.runtime
        return await runtime.flows.wait(
            elicitation_id, self._served.person, min(runtime.options.hold, seconds)
        )


class LiveChannel(Channel):
    """2025-06-18 and 2025-11-25: a question is a request on the stream of the call, and the handler waits."""

    def __init__(self, served: ServedCall) -> None:
        super().__init__(served)
        self._sending: list[asyncio.Task[None]] = []
        self._links: list[_Link] = []
        self._sent = 0

    async def exchange(self, key: str, request: Mapping[str, Any], timeout: float) -> Any:
        served, live, sending = self._served, self._served.request, None
        question = served.open_question(key, request, timeout)
        under_way: dict[object, list[OpenQuestion]] = live.connection.setdefault(_QUESTIONS, {})
        self._sent += 1
        name = live.principal, live.id, self._sent, key
        if same := under_way.get(name):  # a duplicate of this call has sent it, and shares the answer
            same.append(question)
        else:
            askers = under_way[name] = [question]
            # Without our call: the SDK keeps this context until the next message.
            sending = begin_task(_send(live, request, askers), served.context_without_call())
            sending.add_done_callback(partial(_sent, under_way, name, askers))
            self._sending.append(sending)
        try:
            async with kept_alive(served):
                return await question.future
        finally:
            served.close_question(key)
            if sending is not None:
                sending.cancel()  # no effect on one that was answered; otherwise the SDK tells the client

    async def ask_all(self, begins: Sequence[Begin]) -> list[Any]:
        """One after the other: a client shows one dialog at a time."""
        return [await (await begin())() for begin in begins]

    async def _wait_for_end(self, elicitation_id: str, seconds: float) -> bool:
        served = self._served
        notice = self._notice(elicitation_id, math.inf, {})  # as long as we wait
        return await served.runtime.flows.wait(elicitation_id, served.person, seconds, notice)

    async def announce(self, elicitation_id: str, deadline: float) -> None:
        served = self._served
        keeper = served.request.connection.setdefault(_NOTICES, {})
        await served.runtime.flows.announce(self._notice(elicitation_id, deadline, keeper), served.person)

    def _notice(self, elicitation_id: str, deadline: float, keeper: dict[str, Notice]) -> Notice:
        return Notice(elicitation_id, deadline, self._served.request, weakref.ref(self._served), keeper)

    def new_elicitation_id(self, url: str) -> str:
        """Random, but the same in a duplicate of this call, so that an answer counts for both."""
        request = self._served.request
        known = request.connection.setdefault(_LINKS, weakref.WeakValueDictionary())
        name = (request.principal, request.id, len(self._links), url)
        link: _Link = known.setdefault(name, _Link())
        self._links.append(link)
        return link.elicitation_id

    async def close(self) -> None:
        for question in self._served.questions.values():
            question.fail(Withdrawn("the call has ended, so its question is withdrawn"))
        await self.told()  # cancelling them here, too, would interrupt the SDK while it tells the client

    async def told(self) -> None:
        if untold := [sending for sending in self._sending if not sending.done()]:
            with anyio.move_on_after(_TELLING, shield=True):
                await asyncio.wait(untold)


_QUESTIONS = "handraise questions"
_NOTICES = "handraise notices"
_LINKS = "handraise links"


class _Link:
    """The id of a URL question, alive while a call has it."""

    def __init__(self) -> None:
        self.elicitation_id = secrets.token_urlsafe(18)


@asynccontextmanager
async def kept_alive(served: ServedCall, message: str = _WAITING) -> AsyncIterator[None]:
    """Send progress with the caller's token, so that the client's timer does not run out while a person thinks."""
    if served.request.progress_token is None:
        yield
        return
    ticking = begin_task(_tick(served, message))
    try:
        yield
    finally:
        ticking.cancel()


async def _tick(served: ServedCall, message: str) -> None:
    while True:
        await asyncio.sleep(served.runtime.options.keep_awake)
        await served.handler.keep_alive(message)


async def _send(live: IncomingRequest, request: Mapping[str, Any], askers: list[OpenQuestion]) -> None:
    """Send a question, and give the answer to everybody who asks it. Nobody joins them afterwards."""
    try:
        answer = await live.send_request(request["method"], request.get("params"))
    except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
        for question in askers:
            question.fail(_meaning(error, request))
    else:
        for question in askers:
            question.answer(answer)
    askers.clear()


def _sent(
    under_way: dict[object, list[OpenQuestion]], name: object, askers: list[OpenQuestion], _: object
) -> None:
    """The request is over. Those without an answer get none: it was given up."""
    if under_way.get(name) is askers:
        del under_way[name]
    for question in askers:
        question.fail(Withdrawn())


def _meaning(error: Exception, request: Mapping[str, Any]) -> Exception:
    """The `NoAnswer` for a failed request."""
    if isinstance(error, ConnectionLost):
        return Withdrawn()
    if not isinstance(error, RequestFailed):
        return error
    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
        return NotSupported(_mode_of(request))
    said = error.message if error.code is None else f"the client answered {error.code}: {error.message}"
    return Failed(said, error_code=error.code)


_MODES: dict[str, Mode] = {"sampling/createMessage": "sampling", "roots/list": "roots"}


def _mode_of(request: Mapping[str, Any]) -> Mode:
    method = request["method"]
    if method in _MODES:
        return _MODES[method]
    return "url" if request["params"].get("mode") == "url" else "form"


class _Limit:
    """A time limit that pauses while a question is open."""

    def __init__(self, seconds: float) -> None:
        self.timeout: asyncio.Timeout = asyncio.timeout(seconds)
        self.is_over = False
        self._left = 0.0
        self._questions = 0

    def pause(self) -> None:
        end = self.timeout.when()
        if not self._questions and end is not None and self._runs():
            self._left = end - asyncio.get_running_loop().time()
            self.timeout.reschedule(None)
        self._questions += 1

    def go_on(self) -> None:
        self._questions -= 1
        if not self._questions and self.timeout.when() is None and self._runs():
            self.timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _runs(self) -> bool:
        """Whether it can still be moved. A task may outlive the limit in which it started."""
        return not self.is_over and not self.timeout.expired()


_LIMITS: ContextVar[tuple[_Limit, ...]] = ContextVar("handraise_working_time", default=())
"""The limits around the running code. Tasks and threads that start inside inherit them."""


@asynccontextmanager
async def working_time(seconds: float) -> AsyncIterator[None]:
    """Limit what the handler does itself: raise `TimeoutError` when it takes longer than these seconds.

    The limit pauses while a question that was asked inside it is open, also by a task or a thread. Any
    other time limit (`asyncio.timeout`, `anyio.fail_after`, a FastMCP tool's `timeout=`) counts the person's time.
    """
    if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:  # type: ignore[redundant-expr]
        raise UsageError(f"working_time takes seconds, as in working_time(10), not {seconds!r}")
    limit = _Limit(seconds)
    before = _LIMITS.set((*_LIMITS.get(), limit))
    try:
        async with limit.timeout:
            yield
    finally:
        limit.is_over = True
        _LIMITS.reset(before)


@contextmanager
def person_time() -> Iterator[None]:
    """Pause the `working_time` limits while a person thinks."""
    limits = _LIMITS.get()
    for limit in limits:
        limit.pause()
    try:
        yield
    finally:
        for limit in limits:
            limit.go_on()


def leave_limits() -> None:
    """Leave all limits: for a question that is sent early, while the handler keeps working."""
    _LIMITS.set(())
