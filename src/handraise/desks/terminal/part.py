"""One form on a screen, which may show several: its fields, what stands in them, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from textual.widget import Widget

from handraise.desks.clerk import Clerk
from handraise.desks.drafts import draft_of, take_draft
from handraise.desks.fill import Entries, Filled, fill, suggest
from handraise.desks.review import wrong_with
from handraise.desks.sheet import lay_out
from handraise.desks.terminal.about import message, warnings
from handraise.desks.terminal.field import FieldBlock
from handraise.desks.terminal.writing import Plain
from handraise.desks.waiting import Waiting
from handraise.forms import Form
from handraise.questions import FormQuestion


class FormPart:
    """A form question with the blocks of its fields."""

    def __init__(self, waiting: Waiting, clerk: Clerk) -> None:
        assert isinstance(waiting.question, FormQuestion)
        self.waiting = waiting
        self.sheet = lay_out(waiting)
        self.form: Form[Any] = waiting.question.form
        self._queue = clerk.queue
        suggested = suggest(self.form)
        draft = clerk.queue.draft(waiting.id)
        entries = take_draft(self.form, draft)
        self.blocks = [
            FieldBlock(field, shown, entries.get(field.name), suggested.get(field.name), _now)
            for field, shown in zip(self.form.fields, self.sheet.fields, strict=True)
        ]
        self.worked = bool(draft)
        """Whether something was entered that cancelling would lose."""

    def content(self, part: str = "") -> Iterator[Widget]:
        """The server's words, what is odd about them, and the fields."""
        yield from message(self.sheet, part)
        yield from warnings(self.sheet)
        if not self.blocks:
            yield Plain("There is nothing to fill in: the answer is yes, no, or neither.", classes="says")
        yield from self.blocks

    def filled(self) -> Filled:
        """What would be sent as it stands."""
        return fill(self.form, self._entries())

    def keep(self) -> None:
        """Keep what was entered, so that an interruption loses nothing."""
        self.worked = True
        self._queue.keep_draft(self.waiting.id, draft_of(self.form, self._entries()))

    def check(self) -> None:
        """Say under each field that was touched what is wrong with it."""
        filled = self.filled()
        for block in self.blocks:
            block.say_problem(wrong_with(filled, block.shown.name) if block.touched else "")

    def wrong(self) -> list[FieldBlock]:
        """The fields that keep it from being sent. From now on they say so."""
        filled = self.filled()
        for block in self.blocks:
            block.touched = True
        self.check()
        return [block for block in self.blocks if wrong_with(filled, block.shown.name)]

    def _entries(self) -> Entries:
        return {block.shown.name: block.entry for block in self.blocks if block.entry is not None}


def _now() -> datetime:
    return datetime.now().astimezone()
