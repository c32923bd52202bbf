"""`@guard(...)`: a question in front of a tool's body."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from handraise.errors import DefinitionError
from handraise.guards.consent import GuardedCall, IfChanged, awaited_value, require_consent
from handraise.guards.decide import IF_DECLINED, DeclinePause, Guard, Hint
from handraise.sdk.stand_ins import stand_in_for
from handraise.server.served import current_call

P = ParamSpec("P")
R = TypeVar("R")


def guard(
    message: str,
    *,
    count: Callable[..., Any] | None = None,
    above: int | None = None,
    typed: str | None = None,
    typed_above: int | None = None,
    when: Callable[..., Any] | None = None,
    arguments: Mapping[str, str] | None = None,
    hint: Hint = "any",
    annotations: Any = None,
    consequence: str | None = None,
    if_declined: str | None = IF_DECLINED,
    still: Callable[..., Any] | None = None,
    if_changed: IfChanged = "ask",
    cooldown: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[Callable[P, Any]], Callable[P, Awaitable[Any]]]:
    """Ask a person before a tool runs. Put it below `@server.tool()`; above works too.

    - `message`: the question. `{count}` and the names of the tool's arguments are filled in.
    - `count`, `when`, `still`: plain or async functions of those tool arguments that they name. `count` gives the
      number for the question; it runs before the question and again after the answer. `when` says whether to ask at
      all. `still` runs after the answer; False or a sentence means that the situation has changed.
    - `above`, `typed`, `typed_above`, `arguments`, `hint`, `consequence`, `if_declined`: see `Guard`.
    - `annotations`: the tool's annotations, for `hint`; the default is the annotations of its registration.
    - `if_changed`: ask again when the count changed meanwhile, or refuse.
    - `cooldown`: seconds for which a person who declined this tool is not asked again.

    The guarded tool is a coroutine function; a plain `def` body runs in a worker thread.
    """
    rule = Guard(
        message=message,
        hint=hint,
        arguments=dict(arguments or {}),
        above=above,
        typed=typed,
        typed_above=typed_above,
        consequence=consequence,
        if_declined=if_declined,
    )
    if rule.needs_count and count is None:
        raise DefinitionError("this guard speaks of a count; give it count=, a function that counts")
    quiet = DeclinePause(cooldown, clock)
    said = to_jsonable_python(annotations, by_alias=True)

    def decorate(body: Callable[P, Any]) -> Callable[P, Awaitable[Any]]:
        signature = inspect.signature(body)

        @functools.wraps(body)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given, called = bound.arguments, _tool_name(body)
            if when is None or await awaited_value(_call(when, given)):
                await require_consent(
                    rule,
                    GuardedCall(
                        called,
                        said or await _said_where_registered(hint, called),
                        lambda: _plain(signature, given),
                    ),
                    count=None if count is None else _counter(count, given),
                    still=None if still is None else lambda: _call(still, given),
                    if_changed=if_changed,
                    quiet=quiet,
                )
            if inspect.iscoroutinefunction(body):
                return await body(*bound.args, **bound.kwargs)
            return await anyio.to_thread.run_sync(functools.partial(body, *bound.args, **bound.kwargs))

        stand_in_for(body, guarded)
        return guarded

    return decorate


async def _said_where_registered(hint: Hint, tool: str) -> Mapping[str, Any] | None:
    return None if hint == "any" else await current_call().runtime.adapter.annotations(tool)


def _tool_name(body: Callable[..., Any]) -> str:
    """The tool as the client called it."""
    called = current_call().params.get("name")
    return called if isinstance(called, str) else body.__name__


def _plain(signature: inspect.Signature, given: Mapping[str, Any]) -> dict[str, Any]:
    """The tool's own arguments as plain data, with the author's defaults."""
    sent = current_call().params.get("arguments") or {}
    return {
        name: to_jsonable_python(value, fallback=repr)
        for name, value in given.items()
        if name in sent or _is_own(value, signature.parameters[name].default)
    }


def _is_own(value: Any, default: Any) -> bool:
    """Whether an argument is the tool's own, not a context or a dependency from the framework."""
    if isinstance(value, _PLAIN) and (default is inspect.Parameter.empty or isinstance(default, _PLAIN)):
        return True
    return isinstance(default, FieldInfo) or type(value) is type(default)


_PLAIN = (str, int, float, list, dict, type(None))


def _counter(count: Callable[..., Any], given: Mapping[str, Any]) -> Callable[[], Awaitable[int]]:
    async def counted() -> int:
        number = await awaited_value(_call(count, given))
        if type(number) is not int or number < 0:
            raise DefinitionError(f"count= has to give a whole number from 0 up, not {number!r:.80}")
        return number

    return counted


def _call(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Call the author's function with those tool arguments that it names."""
    parameters = inspect.signature(function).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return function(**given)
    return function(**{name: given[name] for name in parameters if name in given})
