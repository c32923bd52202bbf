"""Turn a decision into the answer for the server, if it fits its form and contains no secret."""

from __future__ import annotations

from typing import Any, Final

from handraise.desks import Decision, Waiting
from handraise.desks.waiting import Decider, lacks_passkey, noting_no
from handraise.errors import WireError
from handraise.forms import SIZE_RULES, check_answer
from handraise.questions import Accepted, Cancelled, FormQuestion
from handraise.secrets import scan_answer
from handraise.wire import WireAnswer, dump_answer, dump_refusal

NO_PASSKEY: Final = "it needs a passkey, and none was used"


def checked(waiting: Waiting, decision: Decision) -> Decision:
    """The decision, or a cancel if it must not leave, whatever desk it came from."""
    if lacks_passkey(waiting, decision):
        return _kept_back(decision, "policy", NO_PASSKEY)
    decision = noting_no(waiting, decision)
    question, answer = waiting.question, decision.answer
    if not isinstance(question, FormQuestion) or not isinstance(answer, Accepted):
        return decision
    content = answer.data or {}
    if check_answer(question.form, content):
        return _kept_back(decision, "agent", "the answer did not fit the form")
    if any(finding.tier == 1 for finding in scan_answer(content, question.form, question.message)):
        return _kept_back(decision, "policy", "the answer held a secret")
    return decision


def _kept_back(decision: Decision, by: Decider, reason: str) -> Decision:
    return Decision(Cancelled(), by=by, desk=decision.desk, reason=reason, refusal="answer")


def dump_unshown(error: WireError) -> dict[str, Any]:
    """The answer for a question that was not shown. If it was too large, our own servers learn why."""
    dumped = dump_answer(WireAnswer("cancel"))
    return {**dumped, "_meta": dump_refusal("size")} if error.rule in SIZE_RULES else dumped


def dump_unasked() -> dict[str, Any]:
    """The answer when no desk is available."""
    return {**dump_answer(WireAnswer("cancel")), "_meta": dump_refusal("no_desk")}


def dump_as_answer(decision: Decision) -> dict[str, Any]:
    """A decision as the answer for the server."""
    answer = decision.answer
    content = answer.data if isinstance(answer, Accepted) else None
    dumped = dump_answer(WireAnswer(answer.action, content))
    if decision.refusal is not None and isinstance(answer, Cancelled):
        dumped["_meta"] = dump_refusal(decision.refusal)
    return dumped
