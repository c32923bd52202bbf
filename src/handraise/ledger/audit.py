"""Verify a whole ledger: read it through, a part at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from handraise.conversation.recorded import Leaf, Row
from handraise.errors import LedgerError
from handraise.ledger.checkpoints import Note, parse_notes
from handraise.ledger.events import Content
from handraise.ledger.ledger import Ledger
from handraise.ledger.verify import Finding, Report, Verification

_PAGE: Final = 1000


async def verify(
    ledger: Ledger,
    given: Sequence[Note] = (),
    *,
    progress: Callable[[int, int], None] = lambda done, all: None,
) -> Report:
    """Find everything in a ledger that is not as it was; `given` are checkpoints that were kept elsewhere."""
    notes, unreadable = _notes(await ledger.tables.notes())
    verification = Verification(ledger.keys.verifier, notes, given)
    after, state = 0, await ledger.tables.tree()
    while True:
        leaves = await ledger.tables.leaves(after, _PAGE)
        if leaves:
            await _take(ledger, verification, leaves)
            after = leaves[-1].number
            progress(after, max(after, state.size))
        elif (grown := await ledger.tables.tree()) == state:
            break
        else:
            state = grown
    report = verification.end(state, await _waiting(ledger, max(after, state.size)))
    return report if not unreadable else _with(report, unreadable)


async def _take(ledger: Ledger, verification: Verification, leaves: Sequence[Leaf]) -> None:
    said = {leaf.number: contents for leaf in leaves if (contents := _contents(leaf))}
    kept = await ledger.tables.contents([content.ref for each in said.values() for content in each])
    for leaf in leaves:
        verification.read(leaf)
    for number, contents in said.items():
        verification.read_contents(number, contents, kept)


def _contents(leaf: Leaf) -> list[Content]:
    """The contents that an event refers to. One that cannot be read was changed, and its hash tells so."""
    if leaf.body is None or b'"ref"' not in leaf.body:
        return []
    try:
        event = json.loads(leaf.body)
        found = [event[part] for part in ("message", "answer") if part in event]
        return [Content(part["ref"], part["hash"]) for part in found]
    except (ValueError, TypeError, KeyError):
        return []


async def _waiting(ledger: Ledger, after: int) -> list[Row]:
    rows: list[Row] = []
    while page := await ledger.tables.rows(after, _PAGE):
        rows += page
        after = page[-1].number
    return rows


def _notes(texts: Sequence[str]) -> tuple[list[Note], int]:
    notes: list[Note] = []
    unreadable = 0
    for text in texts:
        try:
            notes += parse_notes(text)
        except LedgerError:
            unreadable += 1
    return notes, unreadable


def _with(report: Report, unreadable: int) -> Report:
    sentence = f"{unreadable} of the checkpoints in the ledger cannot be read."
    return replace(report, findings=(*report.findings, Finding("forged", None, sentence)))
