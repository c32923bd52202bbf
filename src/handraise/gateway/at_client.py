"""The client as a desk: the person answers in its own dialog, and what comes from there is checked like any answer."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from handraise.desks import Decision, Waiting
from handraise.desks.waiting import desk_answer
from handraise.errors import WireError
from handraise.gateway.json_text import plain
from handraise.gateway.messages import Message
from handraise.questions import Cancelled, FormQuestion, Question
from handraise.wire import parse_answer

CLIENT = "client"
"""What the client's own dialog is called in decisions."""
NO_DESK = "it needs a passkey, and the gateway runs without a desk"


class AtClient:
    """The client as a desk: its person answers there, in its own dialog."""

    def __init__(self) -> None:
        self.shown = asyncio.Event()
        """Set when the policy let the question through, so that it may be sent."""
        self.reply: Message | None = None
        """What the client sent, as it wrote it."""
        self._answered: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def put(self, waiting: Waiting) -> Decision:
        if waiting.passkey:  # the client could not accept it
            return Decision(Cancelled(), by="policy", reason=NO_DESK)
        self.shown.set()
        if waiting.on_shown is not None:
            waiting.on_shown()
        left = None if waiting.deadline is None else waiting.deadline - time.time()
        try:
            async with asyncio.timeout(left):
                raw = await asyncio.shield(self._answered)
        except TimeoutError:
            return Decision(Cancelled(), by="timeout", desk=CLIENT, reason="nobody answered in time")
        return _decision(waiting.question, raw)

    async def join(self, question_id: str) -> Decision | None:
        return None

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        """A client has no place for it; the model is told with the result."""

    def answer(self, raw: object) -> None:
        """Take the result that the client sent; None for an error, or nothing."""
        if not self._answered.done():
            self._answered.set_result(plain(raw))

    async def is_shown(self, deciding: asyncio.Future[Decision]) -> bool:
        """Wait until the policy let the question through, or decided it: then False."""
        shown = asyncio.ensure_future(self.shown.wait())
        both: set[asyncio.Future[Any]] = {shown, deciding}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            shown.cancel()
        return self.shown.is_set()


def _decision(question: Question, raw: object) -> Decision:
    form = question.form if isinstance(question, FormQuestion) else None
    try:
        answer = parse_answer(raw, question.mode, form)
    except WireError as error:
        return Decision(
            Cancelled(), by="agent", desk=CLIENT, reason=f"the client sent no answer ({error.rule})"
        )
    return Decision(desk_answer(answer.action, answer.content), desk=CLIENT)
