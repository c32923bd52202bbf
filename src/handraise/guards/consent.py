"""Let a person decide about a call inside the called tool: `@guard(...)`, and its parts. Nothing runs before a yes."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, ParamSpec

import anyio.to_thread
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from handraise.calls.rounds import digest
from handraise.errors import DefinitionError, HandraiseError, Stale, Stopped
from handraise.guards.decide import IF_DECLINED, MISTYPED, DeclinePause, Guard, Hint
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.sdk.adapter import stand_in_for
from handraise.secrets import require_no_secrets
from handraise.server.asking import Asking
from handraise.server.client_requests import FormRequest
from handraise.server.question_arguments import AskOptions
from handraise.server.served import current_call

Count = Callable[[], Awaitable[int]]
IfChanged = Literal["ask", "refuse"]


@dataclass(frozen=True, slots=True)
class GuardedCall:
    """A call that is about to run: the tool, its annotations, and its arguments as plain data."""

    tool: str
    annotations: Mapping[str, Any] | None
    arguments: Callable[[], dict[str, Any]]
    """Read again each time, to notice changes."""


async def require_consent(
    guard: Guard,
    intent: GuardedCall,
    *,
    count: Count | None,
    still: Callable[[], Any] | None,
    if_changed: IfChanged,
    quiet: DeclinePause,
) -> None:
    """Return when the call may run: no question was needed, or a person answered it with yes.

    Raises `Stopped` after a decline or a cancel, a `NoAnswer` when nobody answered, `Stale` when the call is no
    longer the one that was approved.
    """
    arguments = intent.arguments()
    if not guard.concerns(intent.tool, intent.annotations, arguments):
        return
    pinned = digest(arguments)
    number = None if count is None else await count()
    while True:
        question = guard.applies(intent.tool, intent.annotations, arguments, number)
        if question is None:
            return
        await _ask(guard, question, arguments, number, intent.tool, still, quiet)
        now = None if count is None else await count()
        # Last: no other code of the author runs between this check and the body.
        if digest(intent.arguments()) != pinned:
            end_with(Stale("the arguments changed while the person decided"))
        if now == number:
            return
        if if_changed == "refuse":
            end_with(Stale(f"{number} were counted when the person was asked, {now} afterwards"))
        number = now


async def _ask(
    guard: Guard,
    question: FormQuestion[Any],
    arguments: Mapping[str, Any],
    number: int | None,
    tool: str,
    still: Callable[[], Any] | None,
    quiet: DeclinePause,
) -> None:
    call = current_call()
    try:
        quiet.require_over(call.person.key, tool)
    except HandraiseError as error:
        end_with(error)
    typing = guard.to_type(arguments, number) is not None
    decision = await ask_for_consent(
        question,
        check=(lambda content: guard.agreed(content, arguments, number) or MISTYPED) if typing else None,
        declined_when=lambda content: not guard.agreed(content, arguments, number),
        still=still,
    )
    if isinstance(decision, Declined):
        quiet.begin(call.person.key, tool)
    require_accepted(decision, tool)


async def ask_for_consent(
    question: FormQuestion[Any],
    *,
    check: Callable[[Any], Any] | None = None,
    declined_when: Callable[[Any], bool] | None = None,
    still: Callable[[], Any] | None = None,
) -> Accepted[Any] | Declined | Cancelled:
    """Ask a guard's question in the running call. An answer that came before it was asked is never taken."""
    try:
        require_no_secrets(question.message, question.form)
    except HandraiseError as error:
        end_with(error)
    marked = replace(question, hints=replace(question.hints, guard=True))
    request: FormRequest[Any] = FormRequest(marked, None, check, still, declined_when)
    asking: Asking[Any] = Asking(request, AskOptions())
    answer: Accepted[Any] | Declined | Cancelled = await asking
    return answer


def require_accepted(answer: Accepted[Any] | Declined | Cancelled, what: str) -> None:
    """End the call unless the person said yes; the model is told which of the three it was."""
    match answer:
        case Accepted():
            return
        case Declined():
            end_with(
                Stopped(
                    f"user_declined: the person declined {what}. Nothing was done. Do not try it another way; "
                    "ask them what they want instead.",
                    action="decline",
                )
            )
        case Cancelled():
            end_with(
                Stopped(
                    f"user_cancelled: the person dismissed the question about {what} without deciding. Nothing was "
                    "done. Ask whether they still want it.",
                    action="cancel",
                )
            )


def end_with(error: HandraiseError) -> NoReturn:
    """End the running call with an error that the model can read."""
    current_call().end_with(error)


async def awaited_value(value: Any) -> Any:
    """The result of an author's function, plain or async."""
    return await value if inspect.isawaitable(value) else value


P = ParamSpec("P")


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
