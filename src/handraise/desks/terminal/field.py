"""One field on the screen: its label, where to answer, and what there is to say about the answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, TextArea

from handraise.desks.fill import NO, YES
from handraise.desks.sheet import SheetField
from handraise.desks.terminal.dates import spoken
from handraise.desks.terminal.inputs import DateInput, LeftOut, LineInput, LinesInput
from handraise.desks.terminal.picker import Pick, Picker
from handraise.desks.terminal.writing import LONGEST, Plain, Quoted, is_visible
from handraise.display import for_line
from handraise.forms import Choices, Field
from handraise.forms import Text as TextField

Entry: TypeAlias = str | list[str]
Editor: TypeAlias = LineInput | LinesInput | Picker

_LONG = 300
"""From this many characters on a text gets several lines."""


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
        shown: SheetField,
        entry: Entry | None,
        suggestion: Entry | None,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(classes="field")
        self.field = field
        self.shown = shown
        self.entry = entry
        self.touched = False
        self.editor = _editor(field, shown, entry, now)
        self._suggestion = suggestion
        self._problem = ""
        self._note = ""

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
            clear = " · F6 suggestion again"
        elif self.entry is not None:
            clear = " · F6 clears"
        return f"{_KEYS.get(self._kind(), _KEYS['text'])}{clear}"

    def say_problem(self, problem: str) -> None:
        """Say what is wrong with the answer, or that nothing is any more."""
        self._problem = problem
        self.set_class(bool(problem), "wrong")
        self._refresh_words()

    def clear_or_restore(self) -> None:
        """Leave the field unanswered; where it is already, bring the server's suggestion back."""
        self.put(None if self.entry == self._suggestion else self._suggestion)

    def put(self, entry: Entry | None) -> None:
        """Have this stand in the field."""
        with self.prevent(Input.Changed, TextArea.Changed):
            _put(self.editor, entry)
        self._changed_to(entry)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._changed_to(event.value or None)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._changed_to(event.text_area.text or None)

    def on_picker_picked(self, event: Picker.Picked) -> None:
        event.stop()
        self._changed_to(_picked(self.editor, several=isinstance(self.field, Choices)))

    def on_descendant_focus(self) -> None:
        self._refresh_words()

    def on_descendant_blur(self) -> None:
        self._refresh_words()

    def on_left_out(self, event: LeftOut) -> None:
        event.stop()
        self._note = "Only the first line of what you pasted fits here."
        self._refresh_words()

    def _changed_to(self, entry: Entry | None) -> None:
        if entry != self.entry:
            self.entry, self.touched, self._note = entry, True, ""
            self._refresh_words()
            self.post_message(self.Changed(self))

    def _kind(self) -> str:
        return "lines" if isinstance(self.editor, LinesInput) else self.shown.kind

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
        required = "required" if self.shown.required else "optional"
        label.append(f"  {' · '.join(filter(None, (required, self.shown.hint)))}", "not bold dim")
        if self._suggestion is not None and self.entry == self._suggestion:
            label.append(" · suggested by the server", "not bold italic")
        return label

    def _status(self) -> Text:
        if self._problem:
            return Text(f"✗ {for_line(self._problem)}", "bold")
        said = [self._note]
        if (
            self.entry is not None
            and self.shown.kind in ("date", "date-time")
            and (day := spoken(str(self.entry)))
        ):
            said.append(day)
        if isinstance(self.entry, str) and not isinstance(self.editor, Picker) and not is_visible(self.entry):
            said.append(f"holds what cannot be seen: {for_line(self.entry, limit=LONGEST)}")
        return Text(" · ".join(filter(None, said)), "dim")


_KEYS = {
    "text": "type the answer · Tab goes on",
    "lines": "type the answer, Enter starts a line · Tab goes on",
    "date": "↑ ↓ day, PgUp PgDn month, t today · Tab goes on",
    "date-time": "↑ ↓ day, PgUp PgDn month, t now · Tab goes on",
    "flag": "y or n, or ← → and Space · Tab goes on",
    "choice": "↑ ↓ or a letter, Space picks · Tab goes on",
    "choices": "↑ ↓ or a letter, Space picks · Tab goes on",
}


def _editor(field: Field, shown: SheetField, entry: Entry | None, now: Callable[[], datetime]) -> Editor:
    text = entry if isinstance(entry, str) else ""
    match shown.kind:
        case "flag":
            picker = Picker([Pick(YES, "Yes"), Pick(NO, "No")], inline=True)
            _put(picker, entry)
            return picker
        case "choice" | "choices":
            picks = [Pick(option.value, _option(option.value, option.label.raw)) for option in shown.options]
            if isinstance(field, Choices) and not field.min_items and (field.required or field.default == ()):
                picks.append(Pick(None, "None of these"))
            picker = Picker(picks, several=shown.kind == "choices")
            _put(picker, entry)
            return picker
        case "date" | "date-time":
            return DateInput(text, with_time=shown.kind == "date-time", now=now)
        case _:
            long = isinstance(field, TextField) and (field.max_length or 0) > _LONG
            return LinesInput(text) if long or "\n" in text else LineInput(text)


def _option(value: str, label: str) -> str:
    return for_line(label) if value == label else f"{for_line(label)}  = {for_line(value)}"


def _put(editor: Editor, entry: Entry | None) -> None:
    match editor:
        case Picker():
            editor.chosen = (entry,) if isinstance(entry, str) else None if entry is None else tuple(entry)
        case LinesInput():
            editor.text = entry if isinstance(entry, str) else ""
        case LineInput():
            editor.value = entry if isinstance(entry, str) else ""


def _picked(editor: Editor, *, several: bool) -> Entry | None:
    chosen = editor.chosen if isinstance(editor, Picker) else None
    if chosen is None:
        return None
    if several or chosen == ("",):  # an option may be the empty text; a text alone would be no answer
        return list(chosen)
    return chosen[0]
