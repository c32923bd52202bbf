"""The user's own guards: a question at our desk in front of the tools of a server that never asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handraise.gateway.calls import Call
from handraise.gateway.messages import Message, response
from handraise.gateway.sentences import stamp
from handraise.guards.decide import Guard
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.server.endings import CATEGORY

if TYPE_CHECKING:
    from handraise.desks import Decision
    from handraise.policy.settings import GuardSettings


@dataclass(frozen=True, slots=True)
class Rule:
    """A guard for the tools of some servers; of all, if none is named."""

    name: str
    guard: Guard
    servers: tuple[str, ...] = field(default=())


def rules_of(settings: Mapping[str, GuardSettings]) -> tuple[Rule, ...]:
    """The rules of the configuration file."""
    return tuple(
        Rule(
            name,
            Guard(
                message=each.message.replace("{", "{{").replace("}", "}}"),
                tools=each.tools,
                hint=each.hint,
                arguments=dict(pair.split("=", 1) for pair in each.arguments),
            ),
            each.servers,
        )
        for name, each in settings.items()
    )


def question_for(
    rules: tuple[Rule, ...],
    server: str,
    names: Iterable[str],
    call: Call,
    annotations: Mapping[str, Any] | None,
) -> FormQuestion[Any] | None:
    """What has to be answered before a call goes to its server; the first rule that applies asks.

    `names` are those of the tool: the server's own, and the one under which the client knows it.
    """
    meant = [rule for rule in rules if not rule.servers or server in rule.servers]
    asked = (rule.guard.applies(name, annotations, call.arguments) for rule in meant for name in names)
    return next((question for question in asked if question is not None), None)


def refusal(decision: Decision | None, call: Call) -> Message | None:
    """What the client gets instead of a result; None when the person said yes. No decision: nobody could be asked."""
    match None if decision is None else decision.answer:
        case Accepted({"confirm": True}):
            return None
        case Accepted() | Declined():
            return _told(call, "user_declined", f"the user declined this call of {call.name}")
        case Cancelled() if decision is not None and decision.desk and not decision.reason:
            return _told(call, "user_cancelled", "the user dismissed the question without deciding")
        case _:
            reason = "nobody could be asked" if decision is None else decision.reason or "nobody answered"
            return _told(
                call, "no_answer", f"a guard of the user's asks first, and there is no answer ({reason})"
            )


def unguarded(call: Call) -> Message:
    """What a call is told whose guard is gone, while the person never said yes."""
    why = "the guard that asked the user about this call is not there any more, and they had not answered"
    return _told(call, "no_answer", why)


def _told(call: Call, category: str, why: str) -> Message:
    text = f"{category}: {why}. The call did not reach the server; nothing was done."
    content = [{"type": "text", "text": text}]
    return response(
        call.message.id, {**stamp(call), "content": content, "isError": True, "_meta": {CATEGORY: category}}
    )
