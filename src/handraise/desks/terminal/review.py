"""The last look: exactly what will be sent, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget

from handraise.desks.clerk import Clerk
from handraise.desks.fill import Filled, edited
from handraise.desks.review import ReviewLine, review
from handraise.desks.terminal.frame import Act, FrameScreen
from handraise.desks.terminal.writing import LONGEST, Row
from handraise.desks.waiting import Waiting
from handraise.display import for_line
from handraise.forms import Form
from handraise.questions import Accepted


class ReviewScreen(FrameScreen):
    """What will be sent, field by field. Sending has a key of its own, and no button is chosen beforehand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "edit", priority=True),
        Binding("f5", "send", priority=True),
    ]

    def __init__(self, waiting: Waiting, clerk: Clerk, form: Form[Any], filled: Filled) -> None:
        super().__init__(waiting, clerk)
        self._form = form
        self._filled = filled

    def heading(self) -> str:
        return f"{super().heading()} · check what will be sent"

    def content(self) -> Iterator[Widget]:
        for line in review(self._form, self.sheet, self._filled):
            yield Row(Text(str(line.field.label), "not dim bold"), *_value(line), classes="sent")
        yield Row("Goes to", f"{for_line(self.sheet.asker)} ({for_line(self.sheet.target)})", classes="goes")
        yield Row("", "The model may see it.")
        for found in self._filled.secrets:
            yield Row("Warning", for_line(found.reason), classes="warning")

    def acts(self) -> tuple[Act, ...]:
        send = Act("F5", "Send anyway" if self._filled.secrets else "Send", "send")
        return (send, Act("F2", "Edit", "edit"), *super().acts())

    def focus_hint(self) -> str:
        if self.focused is self.query_one("#body", VerticalScroll):
            return "Nothing has been sent yet · PgUp PgDn to read · Tab to go on"
        return super().focus_hint()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#body", VerticalScroll).focus()

    def has_work(self) -> bool:
        return True

    def action_edit(self) -> None:
        self.dismiss()

    def action_send(self) -> None:
        content = self._filled.content
        self.decide(Accepted(content), edited=edited(self._form, content))


def _value(line: ReviewLine) -> Iterator[Text]:
    if line.sent is None:
        value = Text("nothing is sent", "dim italic")
    else:
        value = Text(for_line(line.sent.raw, limit=LONGEST), overflow="fold")
    if line.note:
        value.append(f"  {line.note}", "not bold dim italic")
    yield value
    if line.read_as:
        yield Text(f"reads {', '.join(map(str, line.read_as))}", "dim")
