"""Nobody sits here: each question is decided as the policy's rule for such runs says."""

from __future__ import annotations

import asyncio
from typing import TextIO

from handraise.desks.hook import decide_headless
from handraise.desks.queue import Queue
from handraise.desks.waiting import Waiting
from handraise.display import for_line
from handraise.policy import CancelIt, RunHook


class HeadlessDesk:
    """Has the user's command answer what waits, or cancels it with the reason. To park it there is another desk."""

    def __init__(self, queue: Queue, rule: RunHook | CancelIt, output: TextIO) -> None:
        self._queue = queue
        self._rule = rule
        self._output = output

    async def run(self) -> None:
        """Decide what waits, until cancelled."""
        begun: dict[str, asyncio.Task[None]] = {}
        ending: set[asyncio.Task[None]] = set()
        try:
            async for waiting in self._queue.changes():
                here = {question.id for question in waiting}
                for gone in [known for known in begun if known not in here]:
                    task = begun.pop(gone)
                    task.cancel()
                    ending.add(task)
                    task.add_done_callback(ending.discard)
                for question in waiting:
                    if question.id not in begun:
                        begun[question.id] = asyncio.create_task(self._decide(question))
        finally:
            for task in begun.values():
                task.cancel()
            # each was cancelled once only: a second time would leave its command behind
            await asyncio.gather(*begun.values(), *ending, return_exceptions=True)

    async def _decide(self, waiting: Waiting) -> None:
        decision = await decide_headless(self._rule, waiting)
        if decision is None:
            return
        asker = for_line(waiting.origin.name)
        match self._queue.decide(waiting.id, decision):
            case "taken" if decision.reason:
                print(f"handraise: a question of {asker} was cancelled: {decision.reason}", file=self._output)
            case "needs passkey":
                print(
                    f"handraise: a question of {asker} waits. {self._queue.needs_passkey}", file=self._output
                )
