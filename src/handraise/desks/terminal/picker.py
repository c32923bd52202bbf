"""Options to pick from, one or several. Nothing is picked until somebody picks it, and a pick can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import events
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

MOST_ROWS = 8


@dataclass(frozen=True, slots=True)
class Pick:
    """One option: the value (None says "none of these"), and what stands there, made inert before."""

    value: str | None
    text: str


class Picker(Widget, can_focus=True):
    """A list with a cursor. Space picks; Enter only goes on, so that nobody picks by pressing it too often."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "move(-1)", show=False),
        Binding("down,right", "move(1)", show=False),
        Binding("pageup", "move(-7)", show=False),
        Binding("pagedown", "move(7)", show=False),
        Binding("home", "move(-1000)", show=False),
        Binding("end", "move(1000)", show=False),
        Binding("space", "pick", show=False),
    ]

    at = reactive(0)
    chosen: reactive[tuple[str, ...] | None] = reactive(None)
    """The values that are picked; None while nothing is."""

    class Picked(Message):
        """Something was picked or undone."""

    def __init__(self, picks: Sequence[Pick], *, several: bool = False, inline: bool = False) -> None:
        super().__init__()
        self._picks = tuple(picks)
        self._several = several
        self._inline = inline

    def action_move(self, by: int) -> None:
        self.at = max(0, min(len(self._picks) - 1, self.at + by))

    def action_pick(self) -> None:
        """Pick what is under the cursor; picked again, it is undone."""
        value = self._picks[self.at].value
        if value is None:
            self.chosen = None if self.chosen == () else ()
        elif not self._several:
            self.chosen = None if self.chosen == (value,) else (value,)
        else:
            picked = set(self.chosen or ()) ^ {value}
            self.chosen = tuple(pick.value for pick in self._picks if pick.value in picked) or None
        self.post_message(self.Picked())

    def on_key(self, event: events.Key) -> None:
        """A letter goes to the next option that begins with it; where all stand in one line, it picks it."""
        letter = (event.character or "").casefold()
        if not event.is_printable or not letter.strip():
            return
        event.stop()
        places = [*range(self.at + 1, len(self._picks)), *range(self.at + 1)]
        found = next((n for n in places if self._picks[n].text.casefold().startswith(letter)), None)
        if found is not None:
            self.at = found
            if self._inline and not self._is_picked(self._picks[found]):
                self.action_pick()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 if self._inline else min(len(self._picks), MOST_ROWS)

    def render(self) -> RenderResult:
        if self._inline:
            return Text("   ").join(self._row(n) for n in range(len(self._picks)))
        rows = [self._row(n) for n in self._window()]
        first, last = self._window()[0], self._window()[-1]
        if first > 0:
            rows[0] = Text(f"    ↑ {first + 1} more above", "dim")
        if (below := len(self._picks) - 1 - last) > 0:
            rows[-1] = Text(f"    ↓ {below + 1} more below", "dim")
        return Text("\n").join(rows)

    def _window(self) -> range:
        """Which options are in sight. The outermost rows tell of more, so the cursor stays off them."""
        shown = min(len(self._picks), MOST_ROWS)
        start = max(0, min(self.at - shown // 2, len(self._picks) - shown))
        return range(start, start + shown)

    def _row(self, number: int) -> Text:
        pick, here = self._picks[number], self.has_focus and number == self.at
        text = pick.text
        if not self._inline and cell_len(text) > self._room():
            text = set_cell_size(text, self._room() - 1) + "…"
        row = Text("› " if here else "  ", "bold" if here else "")
        row.append(f"{self._box(pick)} ", "bold" if self._is_picked(pick) else "")
        row.append(text, "bold underline" if here else "italic" if pick.value is None else "")
        return row

    def _box(self, pick: Pick) -> str:
        left, mark, right = ("[", "x", "]") if self._several else ("(", "•", ")")
        return f"{left}{mark if self._is_picked(pick) else ' '}{right}"

    def _is_picked(self, pick: Pick) -> bool:
        return self.chosen == () if pick.value is None else pick.value in (self.chosen or ())

    def _room(self) -> int:
        return max(10, self.size.width - 6)
