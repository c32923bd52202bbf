"""Let a person decide about a call inside the called tool. Nothing runs before a yes."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from handraise.calls.rounds import digest
from handraise.errors import HandraiseError, Stale, Stopped
from handraise.guards.decide import MISTYPED, DeclinePause, Guard
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.secrets import require_no_secrets
from handraise.server.asking import Asking, AskOptions
from handraise.server.client_requests import FormRequest
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
        if (
            digest(intent.arguments()) != pinned
        ):  # last: no other code of the author runs between this and the body
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
