"""`once` and `replayable`: the author's declarations for running a handler again.

A replayable function is known by a name, made from its module and position. The name is kept with every round of its
calls, so that another process finds the function.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar, cast

import anyio

from handraise.calls.rounds import Journal
from handraise.errors import Ambiguous, StepNotKept, UsageError
from handraise.sdk.adapter import Adapter
from handraise.server.question_arguments import refuse, require_text
from handraise.server.served import CURRENT, ServedCall, current_call, fitting

P = ParamSpec("P")
R = TypeVar("R")

_MARK: Final = "__handraise_replayable__"
"""The name under which a function is replayable. `functools.wraps` copies it."""
_DECLARED: set[str] = set()
"""The names of all replayable functions in the running code."""


def replayable(handler: Callable[P, R]) -> Callable[P, R]:
    """Declare that a handler may run again from the top when its suspended task is gone.

    Its questions and its `once` steps are then answered from the journal; everything else in it runs again.
    Put it next to the function, below the server's own decorator. A handler that calls the function is not replayable.
    """
    if not callable(handler):
        raise UsageError("@replayable belongs directly above the function, below the server's own decorator")
    name = _name_of(handler)
    _DECLARED.add(name)

    if inspect.iscoroutinefunction(handler):

        @functools.wraps(handler)
        async def replayable_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            if (call := CURRENT.get()) is not None:
                await _declare(call, name)
            return await cast("Awaitable[Any]", handler(*args, **kwargs))

        setattr(replayable_async, _MARK, name)
        return cast("Callable[P, R]", replayable_async)

    @functools.wraps(handler)
    def replayable_sync(*args: P.args, **kwargs: P.kwargs) -> Any:
        call = CURRENT.get()
        if call is None:
            return handler(*args, **kwargs)
        try:
            anyio.from_thread.check_cancelled()
        except RuntimeError:  # in the event loop, where a plain function cannot ask
            result = handler(*args, **kwargs)
            return _declared_first(call, name, result) if inspect.isawaitable(result) else result
        anyio.from_thread.run(_declare, call, name)
        return handler(*args, **kwargs)

    setattr(replayable_sync, _MARK, name)
    return cast("Callable[P, R]", replayable_sync)


async def _declared_first(call: ServedCall, name: str, result: Awaitable[R]) -> R:
    await _declare(call, name)
    return await result


async def _declare(call: ServedCall, name: str) -> None:
    """Note that a function may run again. If it is the handler, the call may be replayed."""
    if call.replays is not None:  # a replayable function that another one calls
        return
    if not await serves(call.runtime.adapter, call.method, call.target, name):
        return
    if call.replayed_as not in ("", name):  # another tool of a lowlevel server
        raise call.raisable(Ambiguous(f"{call.replayed_as} is now {name}"))
    call.replays = name
    call.journal = call.journal or Journal()


async def once(key: str, step: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a step once in this call, however often the handler runs. Its result is kept under the key.

    The same key returns the same result, so a loop needs a key for each iteration. In a replayable handler the result
    goes through JSON, the same on the first run and on every later one.
    """
    call = current_call()
    try:
        require_text("key", key)
        if not callable(step):
            if isinstance(step, Coroutine):
                step.close()
            refuse("step", "a function, with its arguments after it, as in once('pay', pay, amount)", step)
    except UsageError as error:
        raise fitting(error) from None
    if call.journal is not None and key in call.journal.steps:
        return _given(call, key, call.journal.steps[key])
    try:
        with call.step(key):
            result = step(*args, **kwargs)
            if inspect.isawaitable(result):
                result = await result
            call.journal = call.journal or Journal()
            entry = call.journal.add("once", key, "", _given(call, key, result))
            if call.replays is not None:  # written before the handler continues
                await call.write(entry)
    except StepNotKept as error:
        raise call.raisable(error) from error.__cause__
    return _given(call, key, result)


def _given(call: ServedCall, key: str, result: Any) -> Any:
    """A result for the handler. A replayable handler gets a copy, because a replay must see it unchanged."""
    return _through_json(key, result) if call.replays is not None else result


def _through_json(key: str, result: Any) -> Any:
    try:
        return json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise fitting(
            UsageError(
                f"the step {key!r} of a replayable handler gave a {type(result).__name__}, which is no JSON value; "
                "return what is needed of it as text, numbers, lists and dictionaries"
            )
        ) from error


def is_declared(name: str | None) -> bool:
    """Whether a function of this name is replayable in the running code."""
    return name in _DECLARED


async def serves(adapter: Adapter, method: str, target: str, name: str | None) -> bool:
    """Whether the function that serves a request is the replayable one of this name.

    A marked function that the handler calls does not count: the whole handler would run again. The one handler
    of a lowlevel server cannot be told from its tools, and may call any function that is declared. FastMCP wraps a
    prompt that takes a Context: the wrapper has its name, and not its mark.
    """
    function = await adapter.handler_of(method, target)
    if (marked := _mark_of(function)) is not None:
        return marked == name
    return is_declared(name) and (adapter.one_handler or _name_of(function) == name)


def _name_of(function: object) -> str:
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"


def _mark_of(function: object) -> str | None:
    while function is not None:
        if isinstance(name := getattr(function, _MARK, None), str):
            return name
        function = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
    return None
