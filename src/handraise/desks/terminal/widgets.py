"""Text on the screen: ours plain, theirs inert and framed. Nothing is ever read as markup."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.app import ComposeResult, RenderResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from handraise.display import UntrustedText, for_terminal, inert

LONGEST = 100_000
"""For what has to be shown in full: a link, and what will be sent."""
_UNSEEN = "\N{REPLACEMENT CHARACTER}"


class Plain(Static):
    """Our own words."""

    def __init__(self, text: str | Text = "", *, classes: str = "", id: str | None = None) -> None:
        self._said = _text(text)
        super().__init__(self._said, classes=classes, id=id, markup=False)

    def say(self, text: str | Text) -> None:
        """Show something else."""
        if (said := _text(text)) != self._said or said.style != self._said.style:
            self._said = said
            self.update(said)


class Bar(Widget):
    """The first line, over the whole width: something on the left, something on the right."""

    right = reactive("")

    def __init__(self, left: str, right: str) -> None:
        super().__init__(id="head")
        self._left = left
        self.set_reactive(Bar.right, right)

    def render(self) -> RenderResult:
        right = f" {self.right} " if self.right else ""
        left = set_cell_size(f" {self._left}", max(0, self.size.width - cell_len(right)))
        return Text.assemble((left, "bold reverse"), (right, "reverse"), no_wrap=True, overflow="crop")


class Quoted(Widget):
    """Somebody else's words, every line behind a bar that they cannot write over."""

    def __init__(self, text: UntrustedText, *, classes: str = "") -> None:
        super().__init__(classes=classes)
        self._raw = text.raw

    def render(self) -> RenderResult:
        return Text("\n".join(self._lines(self.size.width)), no_wrap=True, overflow="crop")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def _lines(self, width: int) -> list[str]:
        return for_terminal(self._raw, columns=max(8, width), limit=LONGEST)


class Row(Horizontal):
    """A word of ours in the margin, and beside it what it is about."""

    def __init__(self, margin: str | Text, *parts: str | Text, classes: str = "") -> None:
        super().__init__(classes=f"row {classes}")
        self._margin = margin
        self._parts = parts

    def compose(self) -> ComposeResult:
        yield Plain(self._margin, classes="margin")
        yield Plain(Text("\n").join(_text(part) for part in self._parts), classes="beside")


def visible(text: str) -> str:
    """Text for a field in which it can be edited: what cannot be seen stands as �, one for one."""
    if is_visible(text):
        return text
    return "".join(c if c == " " or (inert(f"a{c}") == f"a{c}" and c != "\n") else _UNSEEN for c in text)


def is_visible(text: str) -> bool:
    """Whether everything in a text can be seen."""
    return inert(text, limit=LONGEST) == text


def _text(text: str | Text) -> Text:
    return text if isinstance(text, Text) else Text(text)
