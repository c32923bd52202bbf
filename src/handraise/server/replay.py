"""`once` and `replayable`: the author's declarations for running a handler again."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar, cast

import anyio

from handraise.errors import UsageError
from handraise.server.replayable_registry import declare, mark
from handraise.server.served import CURRENT, ServedCall, current_call

P = ParamSpec("P")
R = TypeVar("R")


def replayable(handler: Callable[P, R]) -> Callable[P, R]:
    """Declare that a handler may run again from the top when its suspended task is gone.

    Its questions and its `once` steps are then answered from the journal; everything else in it runs again.
    Put it next to the function, below the server's own decorator. A handler that calls the function is not replayable.
    """
    name = declare(handler)

    if inspect.iscoroutinefunction(handler):

        @functools.wraps(handler)
        async def replayable_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            if (call := CURRENT.get()) is not None:
                await call.declare_replayable(name)
            return await cast("Awaitable[Any]", handler(*args, **kwargs))

        mark(replayable_async, name)
        return cast("Callable[P, R]", replayable_async)

    @functools.wraps(handler)
    def replayable_sync(*args: P.args, **kwargs: P.kwargs) -> Any:
        call = CURRENT.get()
        if call is None:
            return handler(*args, **kwargs)
        if _is_in_worker_thread():
            anyio.from_thread.run(call.declare_replayable, name)
            return handler(*args, **kwargs)
        result = handler(*args, **kwargs)
        return _declared_first(call, name, result) if inspect.isawaitable(result) else result

    mark(replayable_sync, name)
    return cast("Callable[P, R]", replayable_sync)


def _is_in_worker_thread() -> bool:
    """Whether a plain function runs where it can ask."""
    try:
        anyio.from_thread.check_cancelled()
    except RuntimeError:
        return False
    return True


async def _declared_first(call: ServedCall, name: str, result: Awaitable[R]) -> R:
    await call.declare_replayable(name)
    return await result


async def once(key: str, step: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a step once in this call, however often the handler runs. Its result is kept under the key.

    The same key returns the same result, so a loop needs a key for each iteration. In a replayable handler the result
    goes through JSON, the same on the first run and on every later one.
    """
    call = current_call()
    journal = call.call.journal
    if journal is not None and journal.has_done(key):
        return _given(call, key, journal.result_of(key))
    with call.step(key):
        result = step(*args, **kwargs)
        if inspect.isawaitable(result):
            result = await result
        await call.remember(key, _given(call, key, result))
    return _given(call, key, result)


def _given(call: ServedCall, key: str, result: Any) -> Any:
    """A result for the handler. A replayable handler gets a copy, because a replay must see it unchanged."""
    return _through_json(key, result) if call.call.replays is not None else result


def _through_json(key: str, result: Any) -> Any:
    try:
        return json.loads(json.dumps(result, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"the step {key!r} of a replayable handler gave a {type(result).__name__}, which is no JSON value; "
            "return what is needed of it as text, numbers, lists and dictionaries"
        ) from error
