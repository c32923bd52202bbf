"""The last look: exactly what will be sent, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget

from handraise.desks.clerk import Clerk
from handraise.desks.fill import Filled, edited
from handraise.desks.review import ReviewLine, review
from handraise.desks.sheet import Sheet
from handraise.desks.terminal.frame import Act, FrameScreen
from handraise.desks.terminal.writing import LONGEST, Plain, Quoted, Row
from handraise.desks.waiting import Waiting
from handraise.display import for_line
from handraise.forms import Form
from handraise.questions import Accepted


@dataclass(frozen=True, slots=True)
class Sending:
    """A form as it was filled in."""

    waiting: Waiting
    form: Form[Any]
    sheet: Sheet
    filled: Filled


class ReviewScreen(FrameScreen):
    """What will be sent, field by field. Sending has a key of its own, and no button is chosen beforehand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "edit", priority=True),
        Binding("f5", "send", priority=True),
    ]

    def __init__(self, sending: tuple[Sending, ...], clerk: Clerk) -> None:
        super().__init__(tuple(each.waiting for each in sending), clerk)
        self._sending = sending
        self._secrets = tuple(found for each in sending for found in each.filled.secrets)

    def heading(self) -> str:
        return f"{super().heading()} · check what will be sent"

    def content(self) -> Iterator[Widget]:
        for number, each in enumerate(self._sending, 1):
            if len(self._sending) > 1:
                yield Plain(f"Answer {number} of {len(self._sending)}, to this:", classes="part")
                yield Quoted(each.sheet.message, classes="words")
            yield from _lines(each)
        yield Row("Goes to", f"{for_line(self.sheet.asker)} ({for_line(self.sheet.target)})", classes="goes")
        yield Row("", "The model may see it.")
        for found in self._secrets:
            yield Row("Warning", for_line(found.reason), classes="warning")

    def acts(self) -> tuple[Act, ...]:
        every = f" all {len(self._sending)}" if len(self._sending) > 1 else ""
        send = Act("F5", f"Send{every}{' anyway' if self._secrets else ''}", "send")
        ways_out = (act for act in super().acts() if act.action != "take_apart")
        return (send, Act("F2", "Edit", "edit"), *ways_out)

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
        for each in self._sending:
            content = each.filled.content
            changed = edited(each.form, content)
            self.say_why_not(self.clerk.decide(each.waiting, Accepted(content), edited=changed))


def _lines(sending: Sending) -> Iterator[Widget]:
    lines = review(sending.form, sending.sheet, sending.filled)
    for line in lines:
        yield Row(Text(str(line.field.label), "not dim bold"), *_value(line), classes="sent")
    if not lines:
        yield Plain("Accepted, with nothing filled in.")


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
