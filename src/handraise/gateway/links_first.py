"""A -32042 for a client that cannot open links: its person opens them from our desk, then the call is made anew."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from handraise.gateway.calls import Call
from handraise.gateway.messages import Message

if TYPE_CHECKING:
    from handraise.gateway.asking import Asker, Asking
    from handraise.questions import UrlQuestion

MOST_TIMES: Final = 3
"""How often one call may be told that something is required first."""


class LinksFirst:
    """The browser flows that calls wait for."""

    def __init__(self) -> None:
        self._finished: dict[str, asyncio.Event] = {}

    def noticed(self, message: Message) -> bool:
        """Hear a completion notice; whether somebody here waited for it."""
        finished = self._finished.get(str(message.params.get("elicitationId")))
        if finished is not None:
            finished.set()
        return finished is not None

    async def meet(self, asking: Asking, asker: Asker, call: Call, message: Message) -> bool:
        """Have the person open what is required; True when all of it is done."""
        from handraise.errors import WireError
        from handraise.questions import Accepted
        from handraise.revisions import Revision
        from handraise.wire import parse_url_required

        try:
            questions = parse_url_required(message.body["error"].get("data"))
        except WireError as error:
            await asking.refuse(error, Revision.NOVEMBER_2025, asker, [call])
            return False
        for question in questions:
            finished = self._finished.setdefault(str(question.elicitation_id), asyncio.Event())
            decision = await asking.decide(question, Revision.NOVEMBER_2025, asker, [call])
            if not isinstance(decision.answer, Accepted):
                return False
            if not await self._done(asking, asker, call, question, finished):
                return False
        return True

    async def _done(
        self, asking: Asking, asker: Asker, call: Call, question: UrlQuestion, finished: asyncio.Event
    ) -> bool:
        """Wait for the server's notice or the person's own "done", whichever comes first."""
        noticed = asyncio.ensure_future(finished.wait())
        said = asyncio.ensure_future(asking.wait_in_browser(question, asker, [call]))
        both: set[asyncio.Future[Any]] = {noticed, said}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return noticed.done() or said.result()
        finally:
            noticed.cancel()
            said.cancel()
            self._finished.pop(str(question.elicitation_id), None)
