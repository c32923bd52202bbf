"""A form question: all fields on one screen, checked while they are filled in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input

from handraise.desks.clerk import Clerk
from handraise.desks.drafts import draft_of, take_draft
from handraise.desks.fill import Entries, Filled, fill, suggest
from handraise.desks.review import may_leave, wrong_with
from handraise.desks.terminal.about import about, elsewhere, warnings
from handraise.desks.terminal.field import FieldBlock
from handraise.desks.terminal.frame import Act, FrameScreen
from handraise.desks.terminal.review import ReviewScreen
from handraise.desks.terminal.writing import Plain
from handraise.desks.waiting import Waiting
from handraise.forms import Form
from handraise.questions import Accepted


class FormScreen(FrameScreen):
    """The fields of a form, or a plain yes or no when it has none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "review", priority=True),
        Binding("f5", "accept", priority=True),
        Binding("f6", "clear", priority=True),
    ]

    def __init__(self, waiting: Waiting, clerk: Clerk, form: Form[Any]) -> None:
        super().__init__(waiting, clerk)
        self.form = form
        suggested = suggest(form)
        draft = clerk.queue.draft(waiting.id)
        entries = take_draft(form, draft)
        self.blocks = [
            FieldBlock(field, shown, entries.get(field.name), suggested.get(field.name), _now)
            for field, shown in zip(form.fields, self.sheet.fields, strict=True)
        ]
        self._worked = bool(draft)

    def content(self) -> Iterator[Widget]:
        yield from about(self.sheet)
        yield from warnings(self.sheet)
        if not self.blocks:
            yield Plain("There is nothing to fill in: accept, decline or cancel.", classes="says")
        yield from self.blocks
        yield from elsewhere(self.clerk, self.waiting)

    def acts(self) -> tuple[Act, ...]:
        first = Act("F2", "Review", "review") if self.blocks else Act("F5", "Accept", "accept")
        return (first, *super().acts())

    def on_mount(self) -> None:
        super().on_mount()
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        """Begin at the first field, unless that would scroll the server's words out of sight."""
        body = self.query_one("#body", VerticalScroll)
        first = self.blocks[0] if self.blocks else None
        if first is not None and first.virtual_region.bottom <= body.size.height:
            first.editor.focus(scroll_visible=False)
        else:
            body.focus()

    def filled(self) -> Filled:
        """What would be sent as it stands."""
        return fill(self.form, self._entries())

    def focus_hint(self) -> str:
        block = self._focused_block()
        if block is None:
            return super().focus_hint()
        return f"Field {self.blocks.index(block) + 1} of {len(self.blocks)} · {block.keys}"

    def has_work(self) -> bool:
        return self._worked

    def on_field_block_changed(self, event: FieldBlock.Changed) -> None:
        self._worked = True
        self.clerk.queue.keep_draft(self.waiting.id, draft_of(self.form, self._entries()))
        self._check()
        self.refresh_notice()
        self._keep_in_sight(event.block)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.focus_next()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._check()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        super().on_descendant_focus(event)
        if (block := self._focused_block()) is not None:
            self._keep_in_sight(block)

    def action_clear(self) -> None:
        if (block := self._focused_block()) is not None:
            block.clear_or_restore()

    def action_review(self) -> None:
        """Go on to what will be sent; or to the first field that keeps it from being sent."""
        if not self.blocks:
            return
        filled = self.filled()
        if may_leave(filled):
            self.app.push_screen(ReviewScreen(self.waiting, self.clerk, self.form, filled))
            return
        for block in self.blocks:
            block.touched = True
        self._check()
        wrong = [block for block in self.blocks if wrong_with(filled, block.shown.name)]
        if wrong:
            wrong[0].editor.focus()
            self._keep_in_sight(wrong[0])
        count = "One field needs" if len(wrong) == 1 else f"{len(wrong)} fields need"
        self.say(f"{count} a correction: {', '.join(str(block.shown.label) for block in wrong)}")

    def action_accept(self) -> None:
        """Accept a form without fields. One with fields is sent from its review."""
        if not self.blocks:
            self.decide(Accepted({}))

    def _keep_in_sight(self, block: FieldBlock) -> None:
        """All of a field, with what is said about it."""
        self.call_after_refresh(block.scroll_visible, animate=False)

    def _check(self) -> None:
        filled = self.filled()
        for block in self.blocks:
            block.say_problem(wrong_with(filled, block.shown.name) if block.touched else "")

    def _focused_block(self) -> FieldBlock | None:
        return next((block for block in self.blocks if block.editor is self.focused), None)

    def _entries(self) -> Entries:
        return {block.shown.name: block.entry for block in self.blocks if block.entry is not None}


def _now() -> datetime:
    return datetime.now().astimezone()
