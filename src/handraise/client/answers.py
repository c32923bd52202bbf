"""What leaves of a decision: only an answer that fits its form and holds no secret, as a server gets it."""

from __future__ import annotations

from typing import Any, Final

from handraise.desks import Decision, Waiting
from handraise.desks.waiting import lacks_passkey
from handraise.forms import check_answer
from handraise.policy.secrets import scan_answer
from handraise.questions import Accepted, Cancelled, FormQuestion
from handraise.wire import WireAnswer, dump_answer

NO_PASSKEY: Final = "it needs a passkey, and none was used"


def checked(waiting: Waiting, decision: Decision) -> Decision:
    """The decision as it may leave, whatever desk it came from."""
    if lacks_passkey(waiting, decision):
        return Decision(Cancelled(), by="policy", desk=decision.desk, reason=NO_PASSKEY)
    question, answer = waiting.question, decision.answer
    if not isinstance(question, FormQuestion) or not isinstance(answer, Accepted):
        return decision
    content = answer.data or {}
    if check_answer(question.form, content):
        return Decision(Cancelled(), by="agent", desk=decision.desk, reason="the answer did not fit the form")
    if any(finding.tier == 1 for finding in scan_answer(content)):
        return Decision(Cancelled(), by="policy", desk=decision.desk, reason="the answer held a secret")
    return decision


def dump_as_answer(decision: Decision) -> dict[str, Any]:
    """A decision as the server gets it."""
    answer = decision.answer
    content = answer.data if isinstance(answer, Accepted) else None
    return dump_answer(WireAnswer(answer.action, content))
