"""Who comes next at a terminal, what was decided there, and what is left to be told. Shows nothing itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from handraise.desks.batch import Key, batch_key, batch_of
from handraise.desks.counter import Code
from handraise.desks.queue import Queue, Verdict
from handraise.desks.telling import VERBS, short_left, tell
from handraise.desks.typeahead import Quiet
from handraise.desks.waiting import Decision, DeskAnswer, Waiting
from handraise.display import for_line
from handraise.questions import FormQuestion
from handraise.urls import Inspection, NotOpened, open_url

DESK = "terminal"
"""What this desk is called in decisions."""

Block = Literal["session", "always"]
_FAREWELL = {
    "accept": "{} has your answer.",
    "decline": "{} is told no.",
    "cancel": "{} is told that nothing was decided.",
}


class Clerk:
    """Stands between the queue and the screen."""

    def __init__(
        self,
        queue: Queue,
        *,
        clock: Callable[[], float] = time.monotonic,
        opener: Callable[..., object] = open_url,
        code: Code | None = None,
    ) -> None:
        self.queue = queue
        self.quiet = Quiet(clock)
        self._opener = opener
        self._code = code
        self._mine: set[str] = set()
        self._batches: dict[Key, list[str]] = {}
        self._apart: set[Key] = set()
        self._lines: list[str] = []
        self.farewell = ""
        """What the last decision at this terminal means, for a moment after it."""

    def next_after(self, shown: tuple[Waiting, ...] = ()) -> Waiting | None:
        """The question to show now: what is left of the same batch first, then whatever waits longest."""
        waiting = self._noticed()
        rest = batch_of(shown[0], waiting) if shown else ()
        return next(iter((*rest, *waiting)), None)

    def together(self, shown: Waiting) -> tuple[Waiting, ...]:
        """The questions on one screen with this one: the forms of its batch. A link always stands alone."""
        if not isinstance(shown.question, FormQuestion) or self.is_apart(shown):
            return (shown,)
        batch = batch_of(shown, self.queue.waiting())
        return tuple(other for other in batch if isinstance(other.question, FormQuestion)) or (shown,)

    def take_apart(self, shown: Waiting) -> None:
        """Show the questions of a batch one by one; done again, as one."""
        self._apart ^= {batch_key(shown)}

    def is_apart(self, shown: Waiting) -> bool:
        """Whether the person wants to see the questions of this batch one by one."""
        return batch_key(shown) in self._apart

    def turn(self, shown: Waiting) -> Waiting:
        """The question behind this one, round and round; what is shown as one counts as one."""
        waiting = [other for other in self._noticed() if self.together(other)[0].id == other.id]
        ids = [other.id for other in waiting]
        return waiting[(ids.index(shown.id) + 1) % len(ids)] if shown.id in ids else shown

    def place(self, shown: Waiting, *, as_one: bool = False) -> str:
        """Where a question stands: its part of a batch, how many more wait, how long it can.

        `as_one` is for a screen that shows all of its batch.
        """
        waiting = self._noticed()
        said = []
        here = self.together(shown) if as_one else (shown,)
        if len(here) > 1:
            said.append(f"{len(here)} together")
        elif len(batch := self._batches.get(batch_key(shown), [shown.id])) > 1:
            said.append(f"part {batch.index(shown.id) + 1} of {len(batch)}")
        if more := len(waiting) - len(here):
            said.append(f"{more} more waiting")
        if shown.deadline is not None:
            said.append(short_left(shown.deadline - time.time()))
        return " · ".join(said)

    def elsewhere(self, *shown: Waiting) -> tuple[str, ...]:
        """How to answer from another terminal. The code is for this screen only."""
        if self._code is None:
            return ()
        command = f"answer {for_line(shown[0].id)}" if len(shown) == 1 else "pending"
        return (f"From another terminal: handraise {command}, code {self._code.shown()}",)

    def decide(
        self,
        waiting: Waiting,
        answer: DeskAnswer,
        *,
        block: Block | None = None,
        edited: tuple[str, ...] = (),
    ) -> Verdict:
        """Decide a question as the person at this terminal."""
        verdict = self.queue.decide(waiting.id, Decision(answer, desk=DESK, block=block, edited=edited))
        if verdict == "taken":
            self._mine.add(waiting.id)
            self.farewell = _FAREWELL[answer.action].format(for_line(waiting.origin.name))
            rule = "" if block is None else f"; blocked{'' if block == 'always' else ' for this session'}"
            self._lines.append(f"{_asked(waiting)}: {VERBS[answer.action]}{rule}")
        return verdict

    def ended(self, waiting: Waiting) -> str:
        """What to say about a question that ended elsewhere; nothing about one that was decided here."""
        outcome = self.queue.outcome(waiting.id)
        if waiting.id in self._mine or outcome is None:
            return ""
        if waiting.browsing and outcome[1].by == "agent":
            return ""  # the call went on by itself, as was said
        said = for_line(tell(outcome[1]).sentence)
        self._lines.append(f"{_asked(waiting)}: {said}")
        return f"The question of {for_line(waiting.origin.name)} is over. {said}"

    async def open(self, link: Inspection) -> NotOpened | None:
        """Open a link after consent; what hindered it, if something did. The link is then left to be copied."""
        outcome = await asyncio.to_thread(self._opener, link)
        if not isinstance(outcome, NotOpened):
            return None
        if outcome.href is not None:
            self._lines.append(f"{outcome.sentence}\n{for_line(outcome.href, limit=len(outcome.href))}")
        return outcome

    def take_lines(self) -> list[str]:
        """What to leave on the ordinary screen, once."""
        lines, self._lines = self._lines, []
        return lines

    def _noticed(self) -> tuple[Waiting, ...]:
        waiting = self.queue.waiting()
        here = {batch_key(question) for question in waiting}
        self._batches = {key: batch for key, batch in self._batches.items() if key in here}
        self._apart &= here
        for question in waiting:
            batch = self._batches.setdefault(batch_key(question), [])
            if question.id not in batch:
                batch.append(question.id)
        return waiting


def _asked(waiting: Waiting) -> str:
    return f"handraise: question of {for_line(waiting.origin.name)}"
