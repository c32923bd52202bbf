"""`ask.require`: a call that cannot start before the person has finished a link."""

from __future__ import annotations

from collections.abc import Sequence

from mcp.shared.exceptions import MCPError

from handraise.errors import HandraiseError
from handraise.questions import UrlQuestion
from handraise.server.asking import Manner, pose
from handraise.server.calls import Call
from handraise.server.inquiries import UrlInquiry
from handraise.wire import URL_REQUIRED, dump_url_required

_SENTENCE = "This request needs something from the person first."


async def require_first(call: Call, questions: Sequence[UrlQuestion], timeout: float | None) -> None:
    """Return when every link is finished; before 2026-07-28 end the call with -32042 instead of waiting."""
    try:
        missing = [question for question in questions if not await _is_finished(call, question)]
        if not missing:
            return
        call.require_mode("url")
        for question in missing:
            UrlInquiry(question).require_askable()
        if call.revision.modern:
            manner = Manner(timeout=timeout)
            for answer in await call.together([pose(call, UrlInquiry(link), manner) for link in missing]):
                answer.or_stop()
        else:
            limit = timeout or call.runtime.options.timeout
            begun = [(await UrlInquiry(question).begin(call, limit)).question for question in missing]
            call.end_with(MCPError(URL_REQUIRED, _SENTENCE, dump_url_required(begun)))
    except HandraiseError as error:
        raise call.raisable(error) from error.__cause__


async def _is_finished(call: Call, question: UrlQuestion) -> bool:
    chosen = question.elicitation_id
    return chosen is not None and await call.runtime.flows.is_complete(chosen, call.person)
