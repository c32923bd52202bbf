"""Questions as plain lines, and what a person wrote as entries of a form. Pure: reads and writes nothing.

Made for screen readers and dumb terminals: no control codes, no drawing, every section announced, and every
line of somebody else's words behind a bar.
"""

from __future__ import annotations

from collections.abc import Iterator

from handraise.desks.fill import NO, YES, Filled
from handraise.desks.review import ReviewLine
from handraise.desks.sheet import Sheet, SheetField
from handraise.display import UntrustedText, for_line, for_terminal
from handraise.forms import Choices, Field
from handraise.urls import Inspection

LONGEST = 100_000
COMMANDS = "?, !decline, !cancel, !block"
HELP = (
    "Write an answer and press Enter. An empty line keeps what stands, or leaves an optional field unanswered.",
    "!back goes to the field before. !clear leaves a field unanswered, also one with a suggestion.",
    "!decline tells the server no. !cancel says that nothing was decided.",
    "!block declines, and lets no other question of this server reach you.",
    "An answer that begins with ! is written with two of them: !!like this.",
)
_KINDS = {
    "text": "Text",
    "email": "Text",
    "uri": "Text",
    "date": "Text",
    "date-time": "Text",
    "number": "Number",
    "integer": "Number",
    "flag": "Yes or no",
    "choice": "One of {} options",
    "choices": "Any of {} options",
}


def announce(sheet: Sheet, place: str) -> Iterator[str]:
    """Who asks, because of what, what happens then, and the server's own words."""
    asker = for_line(sheet.asker)
    yield f"QUESTION from {asker}{f', {place}' if place else ''}."
    yield f"Asked by: {asker} ({for_line(sheet.target)})."
    if sheet.claim is not None:
        yield f'It calls itself "{sheet.claim}".'
    yield from _cause(sheet)
    yield from (for_line(sentence) for sentence in sheet.consequences)
    yield from _message(sheet, asker)
    yield from (f"WARNING: {for_line(sentence)}" for sentence in sheet.warnings)


def _message(sheet: Sheet, asker: str) -> Iterator[str]:
    if sheet.ours:
        yield "In Handraise's own words:"
        yield for_line(sheet.message.raw, limit=LONGEST)
        return
    yield f"MESSAGE of {asker}, each line behind a bar:"
    yield from quoted(sheet.message)
    yield "End of the message."


def quoted(text: UntrustedText) -> Iterator[str]:
    """Somebody else's words, every line behind a bar."""
    return (f"| {line}" for line in for_terminal(text.raw, columns=76))


def describe_link(link: Inspection | None, written: str) -> Iterator[str]:
    """The link in full, and where it leads."""
    if link is None or link.href is None:
        yield "LINK, as the server wrote it:"
        yield from quoted(UntrustedText(written))
        return
    yield "LINK, in full:"
    yield for_line(link.href, limit=LONGEST)
    yield f"It leads to: {link.registrable_domain or link.host}"
    if link.host_display != link.host:
        yield f"A browser may show it as: {link.host_display}"


def describe_field(field: Field, shown: SheetField, at: int, total: int, stands: str) -> Iterator[str]:
    """A field, its hint, its options, and what stands in it."""
    required = "required" if shown.required else "optional"
    kind = _KINDS[shown.kind].format(len(shown.options))
    yield f'FIELD {at + 1} of {total}: "{shown.label}". {"; ".join(filter(None, (kind, required, shown.hint)))}.'
    if shown.description is not None:
        yield from quoted(shown.description)
    for number, option in enumerate(shown.options, 1):
        value = "" if option.value == option.label.raw else f" (sends {for_line(option.value)})"
        yield f"  {number}. {option.label}{value}"
    if shown.options:
        yield _how_to_choose(field)
    if stands:
        yield f"Stands now: {stands}. An empty line keeps it, !clear sends nothing."


def review_lines(lines: tuple[ReviewLine, ...], filled: Filled, sheet: Sheet) -> Iterator[str]:
    """Exactly what will be sent."""
    yield "REVIEW. This will be sent, and nothing has been sent yet:"
    for number, line in enumerate(lines, 1):
        value = "nothing" if line.sent is None else for_line(line.sent.raw, limit=LONGEST)
        titles = f", which reads {', '.join(map(str, line.read_as))}" if line.read_as else ""
        yield f'  {number}. "{line.field.label}": {value}{titles}{f" ({line.note})" if line.note else ""}'
    yield f"It goes to {for_line(sheet.asker)} ({for_line(sheet.target)}). The model may see it."
    yield from (f"WARNING: {for_line(found.reason)}" for found in filled.secrets)


def read_entry(field: Field, shown: SheetField, written: str) -> str | list[str]:
    """What was written, as an entry. ValueError says what to write instead."""
    if shown.kind == "flag":
        return _yes_or_no(written)
    if shown.kind == "choice":
        value = _option(shown, written)
        return [value] if value == "" else value
    if shown.kind == "choices":
        if written.strip().casefold() == "none" and _may_be_none(field):
            return []
        return [_option(shown, part) for part in written.split(",") if part.strip()]
    return written


def entry_in_words(shown: SheetField, entry: str | list[str] | None) -> str:
    """What stands in a field, for a person."""
    if entry is None:
        return ""
    if entry in ("", []):
        return "an empty text" if entry == "" else "none of them"
    values = entry if isinstance(entry, list) else [entry]
    titles = {option.value: str(option.label) for option in shown.options}
    return ", ".join(titles.get(value, for_line(value)) for value in values)


def _cause(sheet: Sheet) -> Iterator[str]:
    if not sheet.cause:
        yield "It is not known which call asks."
    elif sheet.cause_is_certain:
        yield from (f"Because of: {call}" for call in sheet.cause)
    else:
        yield "Because of one of these calls; it is not known which:"
        yield from (f"  {call}" for call in sheet.cause)


def _how_to_choose(field: Field) -> str:
    if not isinstance(field, Choices):
        return "Write the number of one."
    none = ", or none" if _may_be_none(field) else ""
    return f"Write the numbers, with commas between them{none}."


def _may_be_none(field: Field) -> bool:
    return isinstance(field, Choices) and not field.min_items and (field.required or field.default == ())


def _yes_or_no(written: str) -> str:
    word = written.strip().casefold()
    if word in ("y", "yes"):
        return YES
    if word in ("n", "no"):
        return NO
    raise ValueError("Write yes or no.")


def _option(shown: SheetField, written: str) -> str:
    """An option by its number, or by its exact value or title where that is no number."""
    word = written.strip()
    if word.isascii() and word.isdigit() and len(word) < 6:
        if 1 <= int(word) <= len(shown.options):
            return shown.options[int(word) - 1].value
    else:
        for option in shown.options:
            if word in (option.value, option.label.raw):
                return option.value
    raise ValueError(f"Write a number from 1 to {len(shown.options)}.")
