"""The plain line mode: for screen readers, dumb terminals and pipes. The same rules as every desk.

One question at a time, one field at a time, one line at a time. Nothing is sent but by a word written out for
it, after a review.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TextIO

from handraise.desks.clerk import Block, Clerk
from handraise.desks.counter import Code
from handraise.desks.drafts import draft_of, take_draft
from handraise.desks.fill import Entries, edited, fill, suggest
from handraise.desks.line_reader import Gone, InputClosed, LineReader
from handraise.desks.line_words import (
    COMMANDS,
    HELP,
    announce,
    describe_field,
    describe_link,
    entry_in_words,
    read_entry,
    review_lines,
)
from handraise.desks.queue import Queue
from handraise.desks.review import may_leave, review, wrong_with
from handraise.desks.sheet import Sheet, lay_out
from handraise.desks.waiting import DeskAnswer, Waiting
from handraise.display import for_line
from handraise.forms import Form
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.urls import Inspection, open_url

TOO_SOON = "That came before you can have read this. Nothing was sent; write it again."


class _Over(Exception):
    """The question was decided by a command."""


class LineDesk:
    """Asks the questions of a queue over two text streams."""

    def __init__(
        self,
        queue: Queue,
        input: TextIO,
        output: TextIO,
        *,
        clock: Callable[[], float] = time.monotonic,
        opener: Callable[..., object] = open_url,
        code: Code | None = None,
    ) -> None:
        self._queue = queue
        self._clerk = Clerk(queue, clock=clock, opener=opener, code=code)
        self._reader = LineReader(queue, input)
        self._output = output

    async def run(self) -> None:
        """Ask what waits, until cancelled or until the input is closed. Then all that waits is cancelled.

        What waits in another process goes on waiting there.
        """
        async for _ in self._queue.changes():
            try:
                while (waiting := self._clerk.next_after()) is not None:
                    await self._question(waiting)
            except InputClosed:
                if self._queue.elsewhere:
                    return
                for waiting in self._queue.waiting():
                    self._clerk.decide(waiting, Cancelled())
                self._say("The input is closed. What waits is cancelled.")
                return

    async def _question(self, waiting: Waiting) -> None:
        sheet = lay_out(waiting)
        self._reader.flush()
        self._say("", *announce(sheet, self._clerk.place(waiting)), *self._clerk.elsewhere(waiting))
        self._queue.show(waiting.id)
        try:
            if not isinstance(waiting.question, FormQuestion):
                await self._link(waiting, sheet, waiting.question.url)
            elif waiting.question.form.fields:
                await self._form(waiting, sheet, waiting.question.form)
            else:
                self._say("There is nothing to fill in.")
                await self._consent(waiting, "accept", Accepted({}))
        except _Over:
            pass
        except Gone:
            self._say("", self._clerk.ended(waiting))
            return
        finally:
            self._clerk.take_lines()  # said already
        self._say(self._clerk.farewell)

    async def _form(self, waiting: Waiting, sheet: Sheet, form: Form[Any]) -> None:
        entries = take_draft(form, self._queue.draft(waiting.id))
        count = "1 field" if len(form.fields) == 1 else f"{len(form.fields)} fields"
        self._say(f"{count}. Commands: {COMMANDS}, !back, !clear.")
        at, only = 0, False
        while True:
            while at < len(form.fields):
                step = await self._field(waiting, sheet, form, entries, at)
                at = len(form.fields) if only else max(0, at + step)
            filled = fill(form, entries)
            if not may_leave(filled):  # a draft may hold what does not fit
                at = next(n for n, field in enumerate(form.fields) if wrong_with(filled, field.name))
                continue
            lines = review(form, sheet, filled)
            self._say("", *review_lines(lines, filled, sheet))
            self._say("To change a field, write its number.")
            word = "send anyway" if filled.secrets else "send"
            changed = edited(form, filled.content)
            at = await self._send(waiting, word, Accepted(filled.content), changed, len(lines))
            only = True

    async def _send(
        self, waiting: Waiting, word: str, accepted: DeskAnswer, changed: tuple[str, ...], fields: int
    ) -> int:
        """Have the word written that sends it; or the number of a field to go back to."""
        while True:
            written = await self._ask(waiting, f"Write {word}, or {COMMANDS}", consent=True)
            if written == "!back":
                return fields - 1
            if written.isascii() and written.isdigit() and 1 <= int(written[:6]) <= fields:
                return int(written[:6]) - 1
            if written.strip().casefold() == word:
                self._decide(waiting, accepted, edited=changed)
            else:
                self._say("Nothing was sent.")

    async def _field(self, waiting: Waiting, sheet: Sheet, form: Form[Any], entries: Entries, at: int) -> int:
        """Ask for one field until what stands in it fits. How far to go from here: 1, or -1 for back."""
        field, shown = form.fields[at], sheet.fields[at]
        stands = entry_in_words(shown, entries.get(field.name))
        if stands and entries[field.name] == suggest(form).get(field.name):
            stands += ", suggested by the server"
        self._say("", *describe_field(field, shown, at, len(form.fields), stands))
        while True:
            written = await self._ask(waiting, "Answer")
            if written == "!back":
                return -1
            if written == "!clear":
                entries.pop(field.name, None)
            elif written:
                try:
                    entries[field.name] = read_entry(field, shown, written.removeprefix("!"))
                except ValueError as error:
                    self._say(f"PROBLEM: {error}")
                    continue
            self._queue.keep_draft(waiting.id, draft_of(form, entries))
            if problem := wrong_with(fill(form, entries), field.name):
                self._say(f"PROBLEM: {for_line(problem)}")
            else:
                return 1

    async def _link(self, waiting: Waiting, sheet: Sheet, url: str) -> None:
        self._say(*describe_link(sheet.link, url), *sheet.notes)
        if waiting.browsing:
            await self._finish(waiting, sheet.link)
        if sheet.link is None or sheet.link.verdict == "danger" or sheet.link.href is None:
            self._say("DANGER: this link is dangerous. It cannot be opened from here.")
            while True:
                await self._ask(waiting, f"Write one of {COMMANDS}")
        while waiting.passkey:  # not even opened: that would be consent
            self._say(self._queue.needs_passkey)
            await self._ask(waiting, f"Write one of {COMMANDS}")
        await self._word(waiting, "open")
        hindered = await self._clerk.open(sheet.link)
        if hindered is not None:
            self._say(hindered.sentence, for_line(sheet.link.href, limit=100_000))
            await self._consent(waiting, "opened", Accepted(None))
        self._decide(waiting, Accepted(None))
        await self._consent(waiting, "opened", Accepted(None))  # it came too soon, and is open already

    async def _finish(self, waiting: Waiting, link: Inspection | None) -> None:
        """Have it said that the browser is done with; the link can be opened again meanwhile."""
        ways = COMMANDS if waiting.asked_again else "?, !cancel"
        while True:
            word = await self._ask(waiting, f"Write done, open to open it again, or {ways}", consent=True)
            match word.casefold():
                case "done":
                    self._decide(waiting, Accepted(None))
                case "open" if link is not None:
                    hindered = await self._clerk.open(link)
                    self._say("Opened again." if hindered is None else hindered.sentence)
                case _:
                    self._say("Nothing was decided.")

    async def _consent(self, waiting: Waiting, word: str, answer: DeskAnswer) -> None:
        while True:
            await self._word(waiting, word)
            self._decide(waiting, answer)

    async def _word(self, waiting: Waiting, word: str) -> None:
        while (await self._ask(waiting, f"Write {word}, or {COMMANDS}", consent=True)).casefold() != word:
            self._say("Nothing was decided.")

    async def _ask(self, waiting: Waiting, prompt: str, *, consent: bool = False) -> str:
        """The next line that is no command. What was typed before a word of consent is asked for does not count."""
        while True:
            if consent:
                self._reader.flush()
            written = await self._line(waiting, prompt)
            match written.casefold():
                case "?":
                    self._say(*HELP)
                case "!decline" if waiting.can_be_declined:
                    self._decide(waiting, Declined())
                case "!cancel":
                    self._decide(waiting, Cancelled())
                case "!block" if waiting.can_be_declined:
                    await self._block(waiting)
                case "!back" | "!clear":
                    return written.casefold()
                case word if word.startswith("!") and not word.startswith("!!"):
                    self._say("There is no such command. ? lists them.")
                case _:
                    return written

    async def _block(self, waiting: Waiting) -> None:
        lengths: dict[str, Block] = {"session": "session", "always": "always"}
        self._say(
            f"Block {for_line(waiting.origin.name)}? This question is declined, and no other one reaches you."
        )
        length = lengths.get((await self._line(waiting, "Write session, always or back")).casefold())
        if length is not None:
            self._decide(waiting, Declined(), block=length)

    def _decide(
        self,
        waiting: Waiting,
        answer: DeskAnswer,
        *,
        block: Block | None = None,
        edited: tuple[str, ...] = (),
    ) -> None:
        match self._clerk.decide(waiting, answer, block=block, edited=edited):
            case "taken":
                raise _Over
            case "too late":
                raise Gone
            case "too soon":
                self._say(TOO_SOON)
            case "needs passkey":
                self._say(f"{self._queue.needs_passkey} Or decline it here.")

    async def _line(self, waiting: Waiting, prompt: str) -> str:
        self._output.write(f"{prompt}: ")
        self._output.flush()
        return (await self._reader.line(waiting)).strip()

    def _say(self, *lines: str) -> None:
        self._output.writelines(f"{line}\n" for line in lines)
        self._output.flush()
