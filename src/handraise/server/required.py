"""`ask.require`: a call that cannot start before the person has finished a page or a link."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from typing import Any

from mcp.shared.exceptions import MCPError

from handraise.errors import HandraiseError
from handraise.server.asking import Manner, Prepared, Unasked, pose
from handraise.server.calls import Call, current_call
from handraise.server.inquiries import UrlInquiry
from handraise.server.paging import PageInquiry
from handraise.wire import URL_REQUIRED, dump_url_required

Required = UrlInquiry | PageInquiry[Any]

_SENTENCE = "This request needs something from the person first."


class Requirement(Unasked):
    """Pages and links that a call cannot do without. Awaiting it goes on when the person has finished all of them."""

    __slots__ = ("_begun", "_links", "_request", "_timeout")

    def __init__(self, links: Sequence[Required], timeout: float | None) -> None:
        self._used = False
        self._links = links
        self._timeout = timeout
        self._request: dict[str, Any] = {}
        self._begun = asyncio.Event()

    def __await__(self) -> Generator[Any, None, None]:
        self.use()
        return self._met(current_call()).__await__()

    def prepare(self) -> Prepared[None]:
        """Ask for what is missing without waiting; wait for it later by awaiting what this gives."""
        self.use()
        call = current_call()
        return Prepared(call, self._request, self._met(call), (self._begun,))

    def use(self) -> None:
        self._used = True

    async def _met(self, call: Call) -> None:
        """Return when every link is finished; before 2026-07-28 end the call with -32042 instead of waiting."""
        limit = self._timeout or call.runtime.options.timeout
        try:
            with call.told_when_left():
                missing = await _missing(call, self._links)
                if missing and call.revision.legacy:
                    call.end_with(MCPError(URL_REQUIRED, _SENTENCE, await self._listed(call, missing, limit)))
                keyed = await self._keyed(call, missing, limit)
            await call.together([_finished(call, link, Manner(key, limit)) for key, link in keyed.items()])
        except HandraiseError as error:
            raise call.raisable(error) from error.__cause__

    async def _listed(self, call: Call, missing: Sequence[Required], limit: float) -> dict[str, Any]:
        """What the error says; the client is told when one of them is finished."""
        begun = [(await link.begin(call, limit)).question for link in missing]
        for question in begun:
            await call.announce_when_complete(str(question.elicitation_id), time.monotonic() + limit)
        self._request.update(dump_url_required(begun))
        self._begun.set()
        return self._request

    async def _keyed(self, call: Call, missing: Sequence[Required], limit: float) -> dict[str, Required]:
        """What goes out in one round."""
        keyed: dict[str, Required] = {}
        for link in missing:
            keyed[call.next_key(link.content)] = await link.begin(call, limit)
        self._request.update({key: link.request(call.revision) for key, link in keyed.items()})
        self._begun.set()
        return keyed


async def _finished(call: Call, link: Required, manner: Manner) -> None:
    """Ask for a link. A "no" to one of several ends the wait for all of them."""
    (await pose(call, link, manner)).or_stop()


async def _missing(call: Call, links: Sequence[Required]) -> list[Required]:
    """Those that the person has not finished, if they can be asked for."""
    known = [await link.known(call) for link in links]
    missing = [link for link in known if not await link.is_finished(call)]
    if missing:
        call.require_mode("url")
    for link in missing:
        link.require_askable()
    return missing
