"""Verification: is the ledger still what it was when its checkpoints were signed?

Every record is hashed again and put into the tree again. Each finding names the record, from 1, and what happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from handraise.conversation.recorded import Kept, Leaf, Row, TreeState
from handraise.errors import LedgerError
from handraise.ledger.checkpoints import Note, Verifier
from handraise.ledger.contents import matches, reveal
from handraise.ledger.events import Content
from handraise.ledger.tree import Tree, leaf_hash

What = Literal["changed", "removed", "swapped", "cut", "rebuilt", "forged", "content"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was."""

    what: What
    number: int | None
    """The record, from 1; None when it is not about a single one."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found out."""

    records: int
    """How many have a place in the tree."""
    waiting: int
    """How many have none yet. Nothing is known about them but that they are there."""
    removed: int
    """How many were removed because their time was over; their hashes are still in the tree."""
    checkpoints: int
    """How many signed checkpoints the tree agrees with."""
    root: bytes
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


class Verification:
    """Takes the places of a ledger in order, then says what it found."""

    def __init__(self, verifier: Verifier, kept: Sequence[Note], given: Sequence[Note] = ()) -> None:
        self._tree = Tree()
        self._whole = True
        """Whether no place is missing so far: behind a missing one roots mean nothing."""
        self._findings: list[Finding] = []
        self._misfits: dict[int, tuple[bytes, bytes]] = {}
        self._agreed = 0
        self._doubt_from = 1
        self._broken: set[int] = set()
        known = [note for note in kept if self._signed(verifier, note, "in the ledger")]
        known += [note for note in given if self._signed(verifier, note, "that was given")]
        self._due: dict[int, list[Note]] = {}
        for note in known:
            self._due.setdefault(note.checkpoint.size, []).append(note)
        self.cut: int = max((n.checkpoint.size for n in known if n.checkpoint.cut), default=0)
        self._compare()

    def read(self, leaf: Leaf) -> None:
        """Take the next place."""
        expected = self._tree.size + 1
        if leaf.number != expected:
            self._missing(expected, leaf.number - 1)
            self._tree = self._tree.grown([leaf.hash] * (leaf.number - expected))
        if leaf.body is None:
            if leaf.number > self.cut:
                self._broken.add(leaf.number)
                self._find("removed", leaf.number, f"Record {leaf.number} was removed.")
        elif (found := leaf_hash(leaf.body)) != leaf.hash:
            self._broken.add(leaf.number)
            self._misfits[leaf.number] = (found, leaf.hash)
        self._tree = self._tree.grown([leaf.hash])
        self._compare()

    def read_contents(self, number: int, contents: Iterable[Content], kept: Mapping[str, Kept]) -> None:
        """Compare the contents of a record, where they are not erased, with what it says about them."""
        for content in contents:
            if (found := kept.get(content.ref)) is not None and not _fits(content, found):
                self._find("content", number, f"A content of record {number} is not the one it had.")

    def end(self, state: TreeState, waiting: Iterable[Row]) -> Report:
        """Everything was read; `state` is the tree as it was left, `waiting` are the events without a place."""
        size = self._tree.size
        last = max([state.size, *self._due])
        if last > size:
            self._find("cut", size + 1, f"The end was cut off: {_records(size + 1, last)} missing.")
        elif self._whole and state.size != size:
            self._find("rebuilt", None, f"The tree has {size} records, and was left with {state.size}.")
        elif self._whole and state.peaks != b"".join(self._tree.peaks) and not self._findings:
            self._find("rebuilt", None, "The tree is not the one that was left.")
        count, expected = 0, max(size, state.size) + 1
        for row in waiting:
            if row.number != expected:
                self._missing(expected, row.number - 1)
            count, expected = count + 1, row.number + 1
        self._tell_misfits()
        return Report(
            size,
            count,
            min(self.cut, size),
            self._agreed,
            self._tree.root,
            tuple(sorted(self._findings, key=_order)),
        )

    def _compare(self) -> None:
        size = self._tree.size
        due = self._due.get(size, ())
        differ = [note for note in due if not self._whole or note.checkpoint.root != self._tree.root]
        self._agreed += len(due) - len(differ)
        if differ and not any(self._doubt_from <= number <= size for number in self._broken):
            self._find("rebuilt", None, _rebuilt(differ[0], self._doubt_from))
        elif due and not differ:
            self._doubt_from = size + 1

    def _missing(self, first: int, last: int) -> None:
        self._whole = False
        self._broken.update(range(first, last + 1))
        self._find("removed", first, f"{_records(first, last, 'was', 'were')} removed.")

    def _tell_misfits(self) -> None:
        """A record in another's place was moved; one that belongs nowhere was changed."""
        belongs = {leaf: number for number, (_, leaf) in self._misfits.items()}
        told: set[int] = set()
        for number, (found, _) in self._misfits.items():
            home = belongs.get(found)
            if number in told:
                continue
            if home is None:
                self._find("changed", number, f"Record {number} was changed.")
            elif self._misfits[home][0] == self._misfits[number][1]:
                told.add(home)
                self._find("swapped", number, f"Records {number} and {home} were swapped.")
            else:
                self._find("swapped", number, f"Record {home} stands in the place of record {number}.")

    def _signed(self, verifier: Verifier, note: Note, where: str) -> bool:
        signed = verifier.signed(note)
        if not signed:
            when = f"of {_when(note.checkpoint.time)}, {note.checkpoint.size} records"
            self._find("forged", None, f"A checkpoint {where} ({when}) is not signed by this ledger's key.")
        return signed

    def _find(self, what: What, number: int | None, sentence: str) -> None:
        self._findings.append(Finding(what, number, sentence))


def _fits(content: Content, kept: Kept) -> bool:
    try:
        plain = reveal(kept)
    except LedgerError:
        return False
    return plain is None or matches(content, plain, kept.key)


def _rebuilt(note: Note, doubt_from: int) -> str:
    size, signed = note.checkpoint.size, _when(note.checkpoint.time)
    return (
        f"{_records(doubt_from, size, 'is', 'are')} not what was signed on {signed}: the ledger was rebuilt."
    )


def _records(first: int, last: int, one: str = "is", many: str = "are") -> str:
    return f"Record {first} {one}" if first >= last else f"Records {first} to {last} {many}"


def _when(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _order(finding: Finding) -> tuple[int, str]:
    return finding.number or 0, finding.sentence
