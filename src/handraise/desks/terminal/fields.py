"""One field on the screen: its label, where to answer, how the answer is read, and what is wrong with it."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import ClassVar, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea

from handraise.desks.fill import NO, YES, Entry, as_typed, may_be_none, read_field, spoken
from handraise.desks.language import Language
from handraise.desks.present import ShownField
from handraise.desks.terminal.widgets import LONGEST, Plain, Quoted, is_visible, visible
from handraise.display import for_line
from handraise.forms import Choices, Field
from handraise.forms import Text as TextField

MOST_ROWS = 8
MOST_INLINE = 56
"""Cells of yes and no that stand beside each other at 80 columns."""


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

    def __init__(self, value: str, placeholder: str) -> None:
        super().__init__(value, placeholder, highlighter=_Visible(), select_on_focus=False, compact=True)

    def on_paste(self, event: events.Paste) -> None:
        """Say what is left out. Textual calls the handler of `Input` as well, and that one inserts the text."""
        if len(event.text.splitlines()) > 1:
            self.call_later(self.post_message, LeftOut())  # after the change, which takes back older notes


class DateInput(LineInput):
    """A date. Arrows go by days, page keys by months, `t` in an empty field is today."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(1, 0)", show=False),
        Binding("down", "step(-1, 0)", show=False),
        Binding("pageup", "step(0, 1)", show=False),
        Binding("pagedown", "step(0, -1)", show=False),
    ]

    def __init__(
        self, field: Field, value: str, placeholder: str, language: Language, now: Callable[[], datetime]
    ) -> None:
        super().__init__(value, placeholder)
        self._field = field
        self._language = language
        self._now = now

    def action_step(self, days: int, months: int) -> None:
        stands, _ = read_field(self._field, self.value.strip(), self._language)
        self._put(str(stands), days if stands else 0, months if stands else 0)

    def on_key(self, event: events.Key) -> None:
        if event.key == "t" and not self.value:
            event.prevent_default().stop()
            self._put("")

    def _put(self, stands: str, days: int = 0, months: int = 0) -> None:
        with_time = isinstance(self._field, TextField) and self._field.format == "date-time"
        entry = stepped(stands, self._now(), days=days, months=months, with_time=with_time)
        self.value = str(as_typed(self._field, entry, self._language, dates=True))
        self.cursor_position = len(self.value)


class LinesInput(TextArea):
    """Several lines of text."""

    def __init__(self, value: str) -> None:
        super().__init__(
            value, compact=True, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False
        )

    def get_line(self, line_index: int) -> Text:
        return Text(visible(self.document.get_line(line_index)), end="", no_wrap=True)


def stepped(text: str, now: datetime, *, days: int = 0, months: int = 0, with_time: bool = False) -> str:
    """The date in a field, some days or months further. An empty field starts at today."""
    try:
        day, rest = date.fromisoformat(text[:10]), text[10:]
    except ValueError:
        if text.strip():
            return text
        return now.replace(microsecond=0).isoformat() if with_time else now.date().isoformat()
    try:
        year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
        moved = day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))
        return (moved + timedelta(days=days)).isoformat() + rest
    except (OverflowError, ValueError):
        return text


@dataclass(frozen=True, slots=True)
class Pick:
    """One option: the value (None says "none of these"), and what stands there, made inert before."""

    value: str | None
    text: str


class Picker(Widget, can_focus=True):
    """A list with a cursor. Nothing is picked until somebody picks it, and a pick can be undone.

    Enter picks what is highlighted, and goes on. Typing searches where there are many options.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "move(-1)", show=False),
        Binding("down,right", "move(1)", show=False),
        Binding("pageup", "move(-7)", show=False),
        Binding("pagedown", "move(7)", show=False),
        Binding("home", "move(-100000)", show=False),
        Binding("end", "move(100000)", show=False),
        Binding("space", "pick", show=False),
        Binding("enter", "choose", show=False),
        Binding("backspace", "shorten", show=False),
    ]

    at = reactive(0, layout=True)
    search = reactive("", layout=True)
    chosen: reactive[tuple[str, ...] | None] = reactive(None)
    """The values that are picked; None while nothing is."""

    class Picked(Message):
        """Something was picked or undone."""

    class GoOn(Message):
        """The person is done with this field."""

    def __init__(
        self, picks: Sequence[Pick], language: Language, *, several: bool = False, inline: bool = False
    ) -> None:
        super().__init__()
        self._all = tuple(picks)
        self._language = language
        self._several = several
        self._inline = inline

    @property
    def picks(self) -> tuple[Pick, ...]:
        """The options that the search finds."""
        words = self.search.casefold().split()
        return tuple(pick for pick in self._all if all(word in pick.text.casefold() for word in words))

    def action_move(self, by: int) -> None:
        self.at = max(0, min(len(self.picks) - 1, self.at + by))

    def action_choose(self) -> None:
        """Pick what is highlighted, if it is not picked, and go on. A search that finds nothing stays."""
        if not self.picks:
            return
        if not self._several and not self._is_picked(self.picks[self.at]):
            self.action_pick()
        self.post_message(self.GoOn())

    def action_pick(self) -> None:
        """Pick what is under the cursor; picked again, it is undone."""
        if not self.picks:
            return
        value = self.picks[self.at].value
        if value is None:
            self.chosen = None if self.chosen == () else ()
        elif not self._several:
            self.chosen = None if self.chosen == (value,) else (value,)
        else:
            picked = set(self.chosen or ()) ^ {value}
            self.chosen = tuple(pick.value for pick in self._all if pick.value in picked) or None
        self.post_message(self.Picked())

    def action_shorten(self) -> None:
        self.search, self.at = self.search[:-1], 0

    def on_blur(self) -> None:
        """A search ends when the person leaves the field: all options are in sight again."""
        highlighted = self.picks[self.at] if self.picks else self._all[0]
        self.search, self.at = "", self._all.index(highlighted)

    def on_key(self, event: events.Key) -> None:
        """Typing searches; where all options stand in one line, a letter picks."""
        if not event.is_printable or not event.character or event.character == " ":
            return
        event.stop()
        if not self._inline:
            self.search, self.at = self.search + event.character, 0
            return
        letter = event.character.casefold()
        answers = {
            YES: (self._language("yes")[0].casefold(), "y"),
            NO: (self._language("no")[0].casefold(), "n"),
        }
        found = next(
            (n for n, pick in enumerate(self._all) if letter in answers.get(pick.value or "", ())), None
        )
        if found is not None:
            self.at = found
            if not self._is_picked(self._all[found]):
                self.action_pick()

    def on_click(self, event: events.Click) -> None:
        """A click picks the option under it."""
        self.focus()
        if self._inline:
            width, found = 0, 0
            for number in range(len(self._all)):
                if event.x >= width:
                    found = number
                width += cell_len(self._row(number).plain) + 3
            self.at = found
        else:
            row = event.y - (1 if self.search else 0)
            if not 0 <= row < len(self._window()):
                return
            self.at = self._window()[row]
        self.action_pick()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return 1 if self._inline else max(1, min(len(self.picks), MOST_ROWS)) + bool(self.search)

    def render(self) -> RenderResult:
        if self._inline:
            return Text("   ").join(self._row(n) for n in range(len(self._all)))
        rows = [self._row(n) for n in self._window()]
        if rows:
            first, last = self._window()[0], self._window()[-1]
            if first > 0:
                rows[0] = Text(f"    ↑ {self._language('more_above', count=first + 1)}", "dim")
            if (below := len(self.picks) - 1 - last) > 0:
                rows[-1] = Text(f"    ↓ {self._language('more_below', count=below + 1)}", "dim")
        if self.search:
            word = "searching" if self.picks else "search_finds_nothing"
            said = self._language(word, text=self.search, count=len(self.picks))
            rows.insert(0, Text(f"  {said}", "italic"))
        return Text("\n").join(rows)

    def _window(self) -> range:
        """Which options are in sight. The outermost rows tell of more, so the cursor stays off them."""
        shown = min(len(self.picks), MOST_ROWS)
        start = max(0, min(self.at - shown // 2, len(self.picks) - shown))
        return range(start, start + shown)

    def _row(self, number: int) -> Text:
        pick, here = self.picks[number], self.has_focus and number == self.at
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


Editor: TypeAlias = LineInput | LinesInput | Picker


class FieldBlock(Vertical):
    """A field of the form. `entry` is what stands in it; None when that is nothing, and nothing is sent."""

    class Changed(Message):
        """The answer changed."""

        def __init__(self, block: FieldBlock) -> None:
            super().__init__()
            self.block = block

    def __init__(
        self,
        field: Field,
        shown: ShownField,
        entry: Entry | None,
        suggestion: Entry | None,
        language: Language,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(classes="field")
        self.field = field
        self.shown = shown
        self.entry = entry
        self.touched = False
        self._language = language
        self._suggestion = suggestion
        self._problem = ""
        self._note = ""
        self._read_as = ""
        self.editor = self._make_editor(now)

    def compose(self) -> ComposeResult:
        with Horizontal(classes="caption"):  # a long label goes on beside the mark, never below it
            yield Plain(self._mark(), classes="mark")
            yield Plain(self._label(), classes="label")
        if self.shown.description is not None:
            yield Quoted(self.shown.description, classes="about")
        yield self.editor
        yield Plain(self._status(), classes="status")

    @property
    def keys(self) -> str:
        """Which keys do something here."""
        clear = ""
        if self._suggestion is not None and self.entry != self._suggestion:
            clear = self._language("f6_suggests")
        elif self.entry is not None:
            clear = self._language("f6_clears")
        kind = "lines" if isinstance(self.editor, LinesInput) else self.shown.kind
        known = {"lines", "date", "flag", "choice", "choices"}
        key = "date" if kind == "date-time" else kind if kind in known else "text"
        return f"{self._language(f'keys_{key}')}{clear}"

    def say_problem(self, problem: str) -> None:
        """Say what is wrong with the answer, or that nothing is any more."""
        self._problem = problem
        self.set_class(bool(problem), "wrong")
        self._refresh_words()

    def clear_or_restore(self) -> None:
        """Leave the field unanswered; where it is already, bring the server's suggestion back."""
        entry = None if self.entry == self._suggestion else self._suggestion
        with self.prevent(Input.Changed, TextArea.Changed):
            self._put(entry)
        self._read_as = ""
        self._changed_to(entry)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._typed(event.value)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._typed(event.text_area.text)

    def on_picker_picked(self, event: Picker.Picked) -> None:
        event.stop()
        self._changed_to(self._picked())

    def on_descendant_focus(self) -> None:
        self._refresh_words()

    def on_descendant_blur(self) -> None:
        self._refresh_words()

    def on_left_out(self, event: LeftOut) -> None:
        event.stop()
        self._note = self._language("first_line_only")
        self._refresh_words()

    def _typed(self, text: str) -> None:
        entry, self._read_as = read_field(self.field, text, self._language) if text else (None, "")
        self._changed_to(entry)
        self._refresh_words()

    def _changed_to(self, entry: Entry | None) -> None:
        if entry != self.entry:
            self.entry, self.touched, self._note = entry, True, ""
            self._refresh_words()
            self.post_message(self.Changed(self))

    def _refresh_words(self) -> None:
        if not self.is_mounted:
            return
        self.query_one(".mark", Plain).say(self._mark())
        self.query_one(".label", Plain).say(self._label())
        self.query_one(".status", Plain).say(self._status())

    def _mark(self) -> Text:
        return Text("›" if self.editor.has_focus else "", "bold")

    def _label(self) -> Text:
        label = Text(str(self.shown.label), "bold")
        required = "" if self.shown.required else self._language("optional")
        said = [required, self.shown.hint]
        if self._suggestion is not None and self.entry == self._suggestion:
            said.append(self._language("last_answer" if self.shown.answered else "suggested"))
        return label.append(f"  {' · '.join(filter(None, said))}", "not bold dim")

    def _status(self) -> Text:
        if self._problem:
            return Text(f"✗ {for_line(self._problem)}", "bold")
        if self.shown.objection is not None and not self.touched:
            return Text(f"✗ {self._language('server_objects')} “{self.shown.objection}”", "bold")
        said = [self._note]
        words = "" if self.entry is None else self._read_as or spoken(self.field, self.entry, self._language)
        if words:
            said.append(f"{self._language('read_as')} {words}")
        if isinstance(self.entry, str) and not isinstance(self.editor, Picker) and not is_visible(self.entry):
            said.append(f"{self._language('cannot_be_seen')} {for_line(self.entry, limit=LONGEST)}")
        return Text(" · ".join(filter(None, said)), "dim")

    def _make_editor(self, now: Callable[[], datetime]) -> Editor:
        language, shown, field = self._language, self.shown, self.field
        typed = "" if self.entry is None else as_typed(field, self.entry, language, dates=True)
        text = typed if isinstance(typed, str) else ""
        placeholder = language("not_answered")
        match shown.kind:
            case "flag":
                picks = [Pick(YES, language("yes")), Pick(NO, language("no"))]
                if shown.answers:
                    picks = [Pick(each.act, for_line(str(each))) for each in shown.answers]
                fits = sum(cell_len(pick.text) for pick in picks) <= MOST_INLINE
                picker = Picker(picks, language, inline=fits)
            case "choice" | "choices":
                picks = [Pick(option.value, for_line(option.label.raw)) for option in shown.options]
                if may_be_none(field):
                    picks.append(Pick(None, language("none_of_these")))
                picker = Picker(picks, language, several=shown.kind == "choices")
            case "date" | "date-time":
                return DateInput(field, text, placeholder, language, now)
            case _:
                return LinesInput(text) if shown.long or "\n" in text else LineInput(text, placeholder)
        picker.chosen = _chosen(self.entry)
        return picker

    def _put(self, entry: Entry | None) -> None:
        match self.editor:
            case Picker():
                self.editor.chosen = _chosen(entry)
            case LinesInput():
                self.editor.text = entry if isinstance(entry, str) else ""
            case LineInput():
                typed = "" if entry is None else as_typed(self.field, entry, self._language, dates=True)
                self.editor.value = typed if isinstance(typed, str) else ""

    def _picked(self) -> Entry | None:
        chosen = self.editor.chosen if isinstance(self.editor, Picker) else None
        if chosen is None:
            return None
        # an option may be the empty text; a text alone would be no answer
        return list(chosen) if isinstance(self.field, Choices) or chosen == ("",) else chosen[0]


def _chosen(entry: Entry | None) -> tuple[str, ...] | None:
    return (entry,) if isinstance(entry, str) else None if entry is None else tuple(entry)
