"""Fields to type into: a line, a date with help, several lines. What is in them is shown inert while it is edited."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, TextArea

from handraise.desks.terminal.dates import stepped
from handraise.desks.terminal.writing import visible

UNANSWERED = "(not answered)"


class LeftOut(Message):
    """More than one line was pasted where one line fits."""


class _Visible(Highlighter):
    """Shows what is typed without anything that moves or hides text: also a suggestion is somebody else's words."""

    def __call__(self, text: str | Text) -> Text:
        plain = text if isinstance(text, str) else text.plain
        return Text(visible(plain), no_wrap=True, overflow="ignore", end="")

    def highlight(self, text: Text) -> None:
        """Nothing is coloured."""


class LineInput(Input):
    """One line of text."""

    def __init__(self, value: str) -> None:
        super().__init__(value, UNANSWERED, highlighter=_Visible(), select_on_focus=False, compact=True)

    def _on_paste(self, event: events.Paste) -> None:
        if len(event.text.splitlines()) > 1:
            self.post_message(LeftOut())
        super()._on_paste(event)


class DateInput(LineInput):
    """A date. Arrows go by days, page keys by months, `t` is today."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(1, 0)", show=False),
        Binding("down", "step(-1, 0)", show=False),
        Binding("pageup", "step(0, 1)", show=False),
        Binding("pagedown", "step(0, -1)", show=False),
    ]

    def __init__(self, value: str, *, with_time: bool, now: Callable[[], datetime]) -> None:
        super().__init__(value)
        self._with_time = with_time
        self._now = now

    def action_step(self, days: int, months: int) -> None:
        start = stepped("", self._now(), with_time=self._with_time)
        stands = self.value.strip()
        self.value = stepped(stands, self._now(), days=days, months=months) if stands else start
        self.cursor_position = len(self.value)

    def on_key(self, event: events.Key) -> None:
        if event.key == "t" and not (self._with_time and self.value):  # 2026-07-28t14:30:00Z is a date-time
            event.prevent_default().stop()
            self.value = stepped("", self._now(), with_time=self._with_time)
            self.cursor_position = len(self.value)


class LinesInput(TextArea):
    """Several lines of text."""

    def __init__(self, value: str) -> None:
        super().__init__(
            value, compact=True, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False
        )

    def get_line(self, line_index: int) -> Text:
        return Text(visible(self.document.get_line(line_index)), end="", no_wrap=True)
