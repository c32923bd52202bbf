"""`ask.require`: a call that cannot start before the person has finished a page or a link."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from mcp.shared.exceptions import MCPError

from handraise.errors import HandraiseError
from handraise.server.asking import Manner, pose
from handraise.server.calls import Call
from handraise.server.inquiries import UrlInquiry
from handraise.server.paging import PageInquiry
from handraise.wire import URL_REQUIRED, dump_url_required

Required = UrlInquiry | PageInquiry[Any]

_SENTENCE = "This request needs something from the person first."


async def require_first(call: Call, links: Sequence[Required], timeout: float | None) -> None:
    """Return when every link is finished; before 2026-07-28 end the call with -32042 instead of waiting."""
    try:
        known = [await link.known(call) for link in links]
        missing = [link for link in known if not await link.is_finished(call)]
        if not missing:
            return
        call.require_mode("url")
        for link in missing:
            link.require_askable()
        if call.revision.modern:
            manner = Manner(timeout=timeout)
            for answer in await call.together([pose(call, link, manner) for link in missing]):
                answer.or_stop()
        else:
            limit = timeout or call.runtime.options.timeout
            begun = [(await link.begin(call, limit)).question for link in missing]
            for question in begun:
                await call.announce_when_complete(str(question.elicitation_id), time.monotonic() + limit)
            call.end_with(MCPError(URL_REQUIRED, _SENTENCE, dump_url_required(begun)))
    except HandraiseError as error:
        raise call.raisable(error) from error.__cause__
