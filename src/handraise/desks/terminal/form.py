"""Form questions: all fields on one screen, checked while they are filled in; those of a batch one below the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input

from handraise.desks.clerk import Clerk
from handraise.desks.review import may_leave
from handraise.desks.terminal.about import about, elsewhere
from handraise.desks.terminal.field import FieldBlock
from handraise.desks.terminal.frame import Act, FrameScreen
from handraise.desks.terminal.part import FormPart
from handraise.desks.terminal.review import ReviewScreen, Sending
from handraise.desks.terminal.writing import Row
from handraise.desks.waiting import Waiting
from handraise.questions import Accepted

ONE_BY_ONE = "Each is answered by itself. To decline only one, press F8: they come one by one."


class FormScreen(FrameScreen):
    """The fields of a form, or of all forms that came together; or a plain yes or no when there is none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "review", priority=True),
        Binding("f5", "accept", priority=True),
        Binding("f6", "clear", priority=True),
    ]

    def __init__(self, together: tuple[Waiting, ...], clerk: Clerk) -> None:
        super().__init__(together, clerk)
        self.parts = [FormPart(waiting, clerk) for waiting in together]
        self.blocks = [block for part in self.parts for block in part.blocks]
        self._is_reviewed = bool(self.blocks) or len(self.parts) > 1

    def content(self) -> Iterator[Widget]:
        yield from about(self.sheet)
        if len(self.parts) > 1:
            yield Row("Together", ONE_BY_ONE)
        for number, part in enumerate(self.parts, 1):
            yield from part.content(f"Question {number} of {len(self.parts)}" if len(self.parts) > 1 else "")
        yield from elsewhere(self.clerk, *self.together)

    def acts(self) -> tuple[Act, ...]:
        first = Act("F2", "Review", "review") if self._is_reviewed else Act("F5", "Accept", "accept")
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

    def focus_hint(self) -> str:
        block = self._focused_block()
        if block is None:
            return super().focus_hint()
        return f"Field {self.blocks.index(block) + 1} of {len(self.blocks)} · {block.keys}"

    def has_work(self) -> bool:
        return any(part.worked for part in self.parts)

    def on_field_block_changed(self, event: FieldBlock.Changed) -> None:
        for part in self.parts:
            if event.block in part.blocks:
                part.keep()
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
        if not self._is_reviewed:
            return
        sending = tuple(Sending(part.waiting, part.form, part.sheet, part.filled()) for part in self.parts)
        if all(may_leave(each.filled) for each in sending):
            self.app.push_screen(ReviewScreen(sending, self.clerk))
            return
        wrong = [block for part in self.parts for block in part.wrong()]
        if wrong:
            wrong[0].editor.focus()
            self._keep_in_sight(wrong[0])
        count = "One field needs" if len(wrong) == 1 else f"{len(wrong)} fields need"
        self.say(f"{count} a correction: {', '.join(str(block.shown.label) for block in wrong)}")

    def action_accept(self) -> None:
        """Accept a form without fields. One with fields is sent from its review."""
        if not self._is_reviewed:
            self.decide(Accepted({}))

    def _keep_in_sight(self, block: FieldBlock) -> None:
        """All of a field, with what is said about it."""
        self.call_after_refresh(block.scroll_visible, animate=False)

    def _check(self) -> None:
        for part in self.parts:
            part.check()

    def _focused_block(self) -> FieldBlock | None:
        return next((block for block in self.blocks if block.editor is self.focused), None)
