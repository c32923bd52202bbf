"""Questions and decisions on their way between two processes of one user, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeAlias

from handraise.desks.waiting import Cause, Decision, Waiting, desk_answer
from handraise.policy.secrets import SecretFinding
from handraise.questions import Accepted, FormQuestion, Origin, Person
from handraise.revisions import Revision
from handraise.urls import Inspection
from handraise.wire import dump_question, parse_question

Carried: TypeAlias = dict[str, Any]

_PLAIN = ("id", "asked_at", "deadline", "group", "browsing", "asked_again", "ours", "guard", "passkey")


def dump_waiting(waiting: Waiting) -> Carried:
    """A question with all that a desk shows of it."""
    revision = _revision(isinstance(waiting.question, FormQuestion))
    return {
        **{name: getattr(waiting, name) for name in _PLAIN},
        "question": dump_question(waiting.question, revision),
        "origin": asdict(waiting.origin),
        "person": asdict(waiting.person),
        "cause": None if waiting.cause is None else _dump_cause(waiting.cause),
        "secrets": [asdict(each) for each in waiting.secrets],
        "link": None if waiting.link is None else asdict(waiting.link),
        "warnings": list(waiting.warnings),
    }


def _dump_cause(cause: Cause) -> Carried:
    calls = [[name, dict(arguments)] for name, arguments in cause.calls]
    return {"calls": calls, "certain": cause.certain, "method": cause.method, "call_id": cause.call_id}


def parse_waiting(carried: Carried) -> Waiting:
    """The same question here. Raises what a value of the wrong shape raises: TypeError, KeyError, ValueError."""
    question, link, cause = carried["question"], carried["link"], carried["cause"]
    return Waiting(
        question=parse_question(question, _revision("url" not in question)),
        origin=Origin(**carried["origin"]),
        person=Person(**carried["person"]),
        cause=None if cause is None else Cause(**{**cause, "calls": tuple(map(tuple, cause["calls"]))}),
        secrets=tuple(SecretFinding(**each) for each in carried["secrets"]),
        link=None if link is None else Inspection(**{**link, "reasons": tuple(link["reasons"])}),
        warnings=tuple(carried["warnings"]),
        **{name: carried[name] for name in _PLAIN},
    )


def _revision(form: bool) -> Revision:
    """The one whose questions say the most."""
    return Revision.NOVEMBER_2025 if form else Revision.JULY_2026


def dump_decision(decision: Decision, *, with_content: bool) -> Carried:
    """A decision; what was answered only on the way to who asks."""
    answer = decision.answer
    content = answer.data if with_content and isinstance(answer, Accepted) else None
    return {
        "action": answer.action,
        "content": content,
        "by": decision.by,
        "desk": decision.desk,
        "reason": decision.reason,
        "block": decision.block,
        "edited": list(decision.edited),
    }


def parse_decision(carried: Carried) -> Decision:
    """The same decision here. Raises ValueError or KeyError when it is none."""
    given = carried["content"]
    if given is not None and not isinstance(given, dict):
        raise ValueError("content is an object")
    if carried["block"] not in (None, "session", "always"):
        raise ValueError("block is for the session or for always")
    return Decision(
        desk_answer(carried["action"], given),
        by=carried["by"],
        desk=str(carried["desk"]),
        reason=str(carried["reason"]),
        block=carried["block"],
        edited=tuple(map(str, carried["edited"])),
    )
