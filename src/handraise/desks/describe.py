"""A question as one JSON object, for programs: a hook, the parked desk, `handraise pending`."""

from __future__ import annotations

from typing import Any

from handraise.desks.waiting import Cause, Waiting
from handraise.questions import FormQuestion
from handraise.revisions import Revision
from handraise.wire import dump_question


def describe(waiting: Waiting) -> dict[str, Any]:
    """Who asks, because of what, and the question as on the wire. Nothing in it suffices to answer."""
    form = isinstance(waiting.question, FormQuestion)
    origin = waiting.origin
    return {
        "version": 1,
        "id": waiting.id,
        "server": {"name": origin.name, "target": origin.target, "calls_itself": origin.claimed_name},
        "cause": _describe_cause(waiting.cause),
        "question": dump_question(waiting.question, Revision.NOVEMBER_2025 if form else Revision.JULY_2026),
        "words_of": "host" if waiting.ours else "server",
        "warnings": list(waiting.warnings),
        "deadline": waiting.deadline,
        "passkey": waiting.passkey,
    }


def _describe_cause(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    calls = [{"name": name, "arguments": dict(arguments)} for name, arguments in cause.calls]
    return {"calls": calls, "certain": cause.certain}
