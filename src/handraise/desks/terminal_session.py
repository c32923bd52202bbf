"""One person at one terminal: which question comes next, what was typed and decided, what is left to say."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TextIO

from handraise.desks.codes import AnswerCode
from handraise.desks.endings import describe_ending, outcome_of
from handraise.desks.language import ENGLISH, Language
from handraise.desks.queue import ARMED_AFTER, Queue, Verdict
from handraise.desks.waiting import Decision, DeskAnswer, Key, Waiting, batch_key, batch_of, noting_no
from handraise.display import for_line
from handraise.questions import FormQuestion
from handraise.urls import HINDRANCES, Inspection, NotOpened, open_url
from handraise.urls.open import Hindrance, known_hindrance

DESK = "terminal"
"""What this desk is called in decisions."""

Block = Literal["session", "always"]


class TerminalSession:
    """The questions of a queue in the order in which one terminal shows them, full screen or line by line."""

    def __init__(
        self,
        queue: Queue,
        *,
        clock: Callable[[], float] = time.monotonic,
        opener: Callable[..., object] = open_url,
        hindered: Callable[[], Hindrance | None] = known_hindrance,
        code: AnswerCode | None = None,
        language: Language = ENGLISH,
    ) -> None:
        """`hindered` tells why no link can be opened here. With a `code`, it says how to answer from elsewhere."""
        self.queue = queue
        self.language = language
        self.type_ahead = TypeAhead(clock)
        self._opener = opener
        self._hindered = hindered
        self._code = code
        self._mine: set[str] = set()
        self._batches: dict[Key, list[str]] = {}
        self._apart: set[Key] = set()
        self._lines: list[str] = []
        self.printed: Callable[[], list[str]] = list
        """The lines that programs printed while a desk had the whole screen."""
        self.farewell = ""
        """A sentence about the last decision at this terminal, shown for a moment."""

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
            said.append(self.language("together", count=len(here)))
        elif len(batch := self._batches.get(batch_key(shown), [shown.id])) > 1:
            said.append(self.language("part_of", number=batch.index(shown.id) + 1, count=len(batch)))
        if more := len(waiting) - len(here):
            said.append(self.language("more_waiting", count=more))
        if shown.deadline is not None:
            said.append(self.language.left(shown.deadline - time.time()))
        return " · ".join(said)

    def elsewhere(self, *shown: Waiting) -> tuple[str, ...]:
        """How to answer from another terminal. The code is for this screen only."""
        if self._code is None:
            return ()
        command = f"handraise answer {for_line(shown[0].id)}" if len(shown) == 1 else "handraise pending"
        return (self.language("from_another_terminal", command=command, code=self._code.shown()),)

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
            outcome = outcome_of(noting_no(waiting, Decision(answer)))
            self.farewell = self.language(f"farewell_{outcome}", name=for_line(waiting.origin.name))
            ended = self.queue.outcome(waiting.id)
            if ended is not None and ended[1].unattended:
                self.farewell += f" {self.language('tell_client')}"
            rule = "" if block is None else f" {self.language(f'blocked_{block}')}"
            self._lines.append(f"handraise: {self.farewell}{rule}")
        return verdict

    def ended(self, waiting: Waiting) -> str:
        """A sentence about a question that ended elsewhere; empty for one that was decided here."""
        outcome = self.queue.outcome(waiting.id)
        if waiting.id in self._mine or outcome is None:
            return ""
        if waiting.browsing and outcome[1].by == "agent":
            return ""  # the call went on by itself, as was said
        told = describe_ending(*outcome, language=self.language)
        said = self.language(
            "question_over", name=waiting.origin.name, how=f"{told.heading}. {told.sentence}"
        )
        self._lines.append(f"handraise: {for_line(said)}")
        return for_line(said)

    async def open(self, link: Inspection) -> str | None:
        """Open a link after consent; why it could not, if it could not. The link is then left to be copied."""
        outcome = await asyncio.to_thread(self._opener, link)
        if not isinstance(outcome, NotOpened):
            return None
        why = self.language.sentence(outcome.sentence)
        self.leave_link(outcome.href, why)
        return why

    def hindrance(self) -> str | None:
        """Why no link can be opened here, if that is known before a try."""
        reason = self._hindered()
        return None if reason is None else self.language.sentence(HINDRANCES[reason])

    def leave_link(self, href: str | None, why: str) -> None:
        """Leave a link on the ordinary screen, where it can be copied."""
        line = "" if href is None else f"{why}\n{for_line(href, limit=len(href))}"
        if line and line not in self._lines:
            self._lines.append(line)

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


def flush_typed(stream: TextIO | None) -> None:
    """Throw away what was typed on a terminal and not read yet. Does nothing for anything else."""
    try:
        import termios
    except ImportError:  # not on Windows
        return
    try:
        if stream is not None and stream.isatty():
            termios.tcflush(stream.fileno(), termios.TCIFLUSH)
    except (OSError, ValueError, termios.error):
        return


class TypeAhead:
    """Ignores keys from the moment a question appears until half a second passes without one.

    A person who is typing when a question appears goes on for longer than that. So every ignored key starts
    the half second again.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = None

    def begin(self) -> None:
        """A question appears."""
        self._since = self._clock()

    def left(self) -> float:
        """Seconds until keys count, if none is pressed."""
        return 0.0 if self._since is None else max(0.0, self._since + ARMED_AFTER - self._clock())

    def counts_now(self) -> bool:
        """Whether a key that is pressed now counts."""
        if self._since is None:
            return True
        if self.left() > 0:
            self._since = self._clock()
            return False
        self._since = None
        return True


class Gone(Exception):
    """The question was answered elsewhere or withdrawn meanwhile."""


class InputClosed(Exception):
    """Nobody can write any more."""


class TypedLines:
    """Reads lines in a thread. A read cannot be undone, so its line goes to the next question."""

    def __init__(self, queue: Queue, stream: TextIO) -> None:
        self._queue = queue
        self._stream = stream
        self._begun: asyncio.Future[str] | None = None

    def flush(self) -> None:
        """Drop typed text that nobody has read: what waits in the terminal, and a finished line."""
        flush_typed(self._stream)
        if self._begun is not None and self._begun.done():
            self._begun = None

    async def line(self, waiting: Waiting) -> str:
        """The next line, unless the question ends before it comes."""
        line = self._begun = self._begun or self._begin()
        ended = asyncio.create_task(self._ended(waiting))
        try:
            await asyncio.wait((line, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self._queue.find(waiting.id) is None:
            raise Gone
        self._begun = None
        if not (text := line.result()):
            raise InputClosed
        return text

    def _begin(self) -> asyncio.Future[str]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            try:
                line = self._stream.readline()
            except (OSError, ValueError):  # closed, or not text
                line = ""
            with suppress(RuntimeError):  # the program ended meanwhile
                loop.call_soon_threadsafe(_settle, future, line)

        threading.Thread(target=read, name="handraise-lines", daemon=True).start()
        return future

    async def _ended(self, waiting: Waiting) -> None:
        async for _ in self._queue.changes():
            if self._queue.find(waiting.id) is None:
                return


def _settle(future: asyncio.Future[str], line: str) -> None:
    if not future.done():
        future.set_result(line)
