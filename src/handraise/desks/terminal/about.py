"""The upper part of a question: who asks, because of what, what happens then, and the server's own words."""

from __future__ import annotations

from collections.abc import Iterator

from textual.containers import Vertical
from textual.widget import Widget

from handraise.desks.clerk import Clerk
from handraise.desks.sheet import Sheet
from handraise.desks.terminal.writing import LONGEST, Plain, Quoted, Row
from handraise.desks.waiting import Waiting
from handraise.display import for_line


def about(sheet: Sheet) -> Iterator[Widget]:
    """What we know: who asks, because of what, what happens then."""
    claim = () if sheet.claim is None else (f"It calls itself “{sheet.claim}”.",)
    yield Row("Asked by", f"{for_line(sheet.asker)} ({for_line(sheet.target)})", *claim)
    yield Row("Because", *_cause(sheet))
    yield Row("Then", *(for_line(sentence) for sentence in sheet.consequences))


def message(sheet: Sheet, part: str = "") -> Iterator[Widget]:
    """What the server says, or what we say about it; in a batch, as which part of it."""
    says = "In Handraise's own words:" if sheet.ours else f"{for_line(sheet.asker)} says:"
    yield Plain(f"{part}: {says}", classes="part") if part else Plain(says, classes="says")
    if sheet.ours:
        yield Plain(for_line(sheet.message.raw, limit=LONGEST), classes="own-words")
    else:
        yield Quoted(sheet.message, classes="words")


def warnings(sheet: Sheet) -> Iterator[Widget]:
    """What is odd about it, each with a word and not with a colour alone."""
    rows = (Row("Warning", for_line(sentence), classes="warning") for sentence in sheet.warnings)
    yield Vertical(*rows, classes="warnings" if sheet.warnings else "nothing")


def elsewhere(clerk: Clerk, *shown: Waiting) -> Iterator[Widget]:
    """How to answer from another terminal, after everything else."""
    yield from (Plain(line, classes="says elsewhere") for line in clerk.elsewhere(*shown))


def _cause(sheet: Sheet) -> tuple[str, ...]:
    if not sheet.cause:
        return ("It is not known which call asks.",)
    calls = tuple(str(call) for call in sheet.cause)
    return calls if sheet.cause_is_certain else ("One of these calls; it is not known which:", *calls)
