"""Verification: is the ledger still what was written to it? Pure.

Every record is hashed again and put into the tree again. The tree, the chain of notes and the contents are compared
with the authenticated head, with the anchor, and with checkpoints that were kept elsewhere. Each finding names the
record, from 1, and what happened to it. `handraise.ledger.proof` explains how it works.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Literal

from handraise.calls.ledger_tables import Anchor, EventColumns, Head, LedgerPlace, Snapshot
from handraise.errors import LedgerError
from handraise.ledger.proof import (
    HASH,
    NO_NOTE,
    LedgerKeys,
    Note,
    Tree,
    Verifier,
    is_authentic,
    is_authentic_event,
    is_authentic_head,
    leaf_data,
    leaf_hash,
    parse_notes,
)

What = Literal[
    "changed", "removed", "added", "swapped", "cut", "rebuilt", "restored", "forged", "content", "unreadable"
]


class LedgerVerdict(Enum):
    """The result of a verification."""

    SOUND = "sound"
    """Every record is proved to be what was written, and none is missing."""
    BROKEN = "broken"
    """Something was changed. The findings say what and where."""
    UNPROVEN = "unproven"
    """Nothing was found, but not everything can be proved. The doubts say why, and what to do next."""


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """Something that is not as it was."""

    what: What
    number: int | None
    """The record, from 1; None when it is not about a single one."""
    sentence: str


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The result of a verification, and what it rests on."""

    verdict: LedgerVerdict
    records: int
    """How many have a place in the tree."""
    proven: int
    """The first records up to this number are proved to be what was written; 0 when the ledger is broken."""
    by_key: bool
    """Whether the ledger's key proves it. Without it, checkpoints that were kept elsewhere do."""
    waiting: int
    """How many wait for a place in the tree, in a database. Each is authentic, but a removed one is not missed."""
    removed: int
    """How many were removed because they were too old; their hashes are still in the tree."""
    checkpoints: int
    """How many signed checkpoints the tree agrees with."""
    root: bytes
    findings: tuple[LedgerFinding, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why not everything is proved, and what to do next."""


@dataclass(frozen=True, slots=True)
class ExpectedContent:
    """A content that a record says it has."""

    ref: str
    digest: str
    owner: str
    number: int | None


class Verification:
    """Takes the notes, the places and the contents of a ledger in order, then says what it found."""

    def __init__(self, keys: LedgerKeys | None, given: Sequence[Note] = ()) -> None:
        self._keys = keys
        self._given = given
        self._verifier = Verifier.of_kept(given) if keys is None else keys.verifier
        self._findings: list[LedgerFinding] = []
        self._head: Head | None = None
        self._anchored = False
        self._anchor: Anchor | None = None
        self._anchor_root: bytes | None = None
        """The root of our tree when it had the size of the anchor."""
        self._chain: list[bytes] = [NO_NOTE]
        """The hashes of the notes, behind the one that stands for none. Empty for a note that cannot be read."""
        self._due: dict[int, list[Note]] = {}
        self._cut = 0
        self._erased: set[str] = set()
        self.size = 0
        """How many places were read."""
        self._tree = Tree()
        self._whole = True
        """Whether no place is missing so far: behind a missing one roots mean nothing."""
        self._broken: list[tuple[int, int]] = []
        self._misfits: dict[int, tuple[bytes, bytes]] = {}
        self._agreed = 0
        self._doubt_from = 1
        self._contents = self._waiting = 0

    @property
    def expected_size(self) -> int:
        """How many places there should be, as the head and the notes say."""
        return max([0 if self._head is None else self._head.size, *self._due])

    # Notes, head and anchor.

    def begin(self, snapshot: Snapshot) -> None:
        """Take everything but the records and the contents."""
        for sentence in snapshot.problems:
            self._find("changed", None, sentence)
        notes = self._read_notes(snapshot.notes)
        for note in self._given:
            if self._verifier is None or not self._verifier.signed(note):
                self._find(
                    "forged", None, f"{_named(note, 'A')} that was given is not signed by this ledger's key."
                )
            elif not _is_in_chain(note, notes):
                self._find("removed", None, f"{_named(note, 'The')} that was given is not in the ledger.")
        known = {note: None for note in (*notes, *self._given) if note is not None and self._counts(note)}
        for note in known:
            self._due.setdefault(note.checkpoint.size, []).append(note)
        self._cut = max((n.checkpoint.size for n in known if n.checkpoint.word == "cut"), default=0)
        self._erased = {
            ref for note in known if note.checkpoint.word == "erased" for ref in note.checkpoint.names
        }
        for note in known:
            if note.checkpoint.word == "missing":
                count, when = len(note.checkpoint.names), _when(note.checkpoint.time)
                self._find(
                    "removed", None, f"{count} events were removed before they had a place, as of {when}."
                )
        self._read_heads(snapshot.heads, len(snapshot.notes))
        self._anchored, self._anchor = snapshot.anchored, snapshot.anchor
        self._compare()

    def _read_notes(self, texts: Sequence[tuple[int, str]]) -> list[Note | None]:
        """The notes of the ledger, each at its place in the chain; None for one that was removed or changed."""
        notes: list[Note | None] = []
        for at, (number, text) in enumerate(texts, 1):
            note = _parse(text)
            if number != at:
                self._find("removed", None, f"Note {at} in the ledger was removed.")
                return notes
            if note is None or note.checkpoint.number != number:
                self._find("forged", None, f"Note {number} in the ledger was changed.")
                note = None
            elif not self._counts(note):
                self._find(
                    "forged", None, f"{_named(note, 'A')} in the ledger is not signed by this ledger's key."
                )
            elif self._chain[-1] and note.checkpoint.previous != self._chain[-1]:
                self._find("forged", None, f"Note {number} in the ledger does not follow the note before it.")
            notes.append(note)
            self._chain.append(b"" if note is None else note.hash)
        return notes

    def _counts(self, note: Note) -> bool:
        """Whether a note is the ledger's own. Without key and checkpoint nobody knows, and nothing is proved by it."""
        return self._verifier is None or self._verifier.signed(note)

    def _read_heads(self, heads: Sequence[Head], notes: int) -> None:
        if len(heads) > 1:
            self._find("added", None, "There are two heads of the ledger.")
        if not heads:
            return
        head = heads[0]
        if not _is_well_formed(head):
            self._find("forged", None, "The head of the ledger was changed.")
            return
        self._head = head
        if self._keys is not None and not is_authentic_head(self._keys, head):
            self._find("forged", None, "The head of the ledger was not written with this ledger's key.")
        elif head.notes > notes:
            self._find("removed", None, f"Notes were removed: there were {head.notes}, there are {notes}.")
        elif head.notes < notes:
            self._find("added", None, f"Notes were added: there were {head.notes}, there are {notes}.")
        elif self._chain[-1] and head.last != self._chain[-1]:
            self._find("forged", None, "The last note is not the one that the head of the ledger names.")

    # Records.

    def read(self, place: LedgerPlace) -> list[ExpectedContent]:
        """Take the next place of the tree; the contents that its record has."""
        number, row = place.number or 0, place.row
        leaf = place.hash if isinstance(place.hash, bytes) and len(place.hash) == HASH else bytes(HASH)
        if number <= self.size:
            self._find("added", number, f"Record {number} was added.")
            return []
        if number > self.size + 1:
            self._missing(self.size + 1, number - 1)
        self.size = number
        contents: list[ExpectedContent] = []
        if row is None:
            if number > self._cut:
                self._broken.append((number, number))
                self._find("removed", number, f"Record {number} was removed.")
        elif number <= self._cut:
            self._find("restored", number, f"Record {number} was removed as too old, and is there again.")
        elif (found := _leaf_of(row)) != leaf:
            self._broken.append((number, number))
            self._misfits[number] = (found, leaf)
        else:
            contents = _contents_of(row, place.owner, number)
        if self._whole:
            self._tree = self._tree.grown([leaf])
        self._compare()
        return contents

    def read_unplaced(self, place: LedgerPlace) -> list[ExpectedContent]:
        """Take an event that has no place in the tree; the contents that it has."""
        number, row = place.number, place.row
        name = "A record" if number is None else f"Record {number}"
        if number is not None and any(first <= number <= last for first, last in self._broken):
            if (number, number) in self._broken:  # only its place looked as if it was removed
                self._findings = [each for each in self._findings if each.number != number]
            self._find("changed", number, f"{name} is still there: only its hash was removed from the tree.")
            return [] if row is None else _contents_of(row, place.owner, number)
        if row is None or not place.waits:  # in this store every event has its place
            self._find("added", number, f"{name} was added.")
            return []
        if self._keys is not None and not _is_authentic_event(self._keys, row):
            self._find("added", number, f"{name}, which waits for its place, was changed or added.")
            return []
        self._waiting += 1
        if number is not None and number != max(self.size, self.expected_size) + self._waiting:
            self._find("removed", number, f"A record before record {number} was removed.")
        return _contents_of(row, place.owner, number)

    # Contents.

    def read_content(self, expected: ExpectedContent, there: tuple[str, str] | None) -> None:
        """Compare a content with what its record says of it. `there` are its owner and its digest, if it is kept."""
        number, is_erased = expected.number, expected.ref in self._erased
        if there is None:
            if not is_erased:
                self._find(
                    "content",
                    number,
                    f"A content of record {number} was removed, and no signed note says so.",
                )
            return
        self._contents += 1
        if is_erased:
            self._find("content", number, f"A content of record {number} was erased, and is there again.")
        elif there != (expected.owner, expected.digest):
            self._find("content", number, f"A content of record {number} is not the one it had.")

    # The end.

    def end(self, contents: int) -> VerificationReport:
        """Everything was read; `contents` are the rows of their table."""
        size, head = self.size, self._head
        if self.expected_size > size:
            missing = _records(size + 1, self.expected_size)
            self._find("cut", size + 1, f"The end was cut off: {missing} missing.")
        elif head is None and (size or self._waiting or len(self._chain) > 1) and not self._findings:
            self._find("removed", None, "The head of the ledger was removed.")
        elif head is not None and head.size < size:
            self._find("added", head.size + 1, f"{_records(head.size + 1, size, 'was', 'were')} added.")
        self._tell_misfits()
        if head is not None and head.peaks != b"".join(self._tree.peaks) and not self._findings:
            self._find("rebuilt", None, "The tree is not the one that was authenticated.")
        if contents != self._contents and not self._findings:
            self._find("content", None, f"{contents - self._contents} contents belong to no record.")
        if self._anchored and self._keys is not None and self._anchor is not None:
            self._compare_anchor(self._keys, self._anchor)
        return self._report()

    def unreadable(self, why: str) -> VerificationReport:
        """The ledger could not be read to its end."""
        self._find("unreadable", None, f"{why[:1].upper()}{why[1:]}.")
        return self._report()

    def _compare_anchor(self, keys: LedgerKeys, anchor: Anchor) -> None:
        """The database continues the copy of its head that lies outside of it, or it is not the newest."""
        if not is_authentic(keys, anchor):
            self._find("forged", None, "The file beside the ledger that ends in .head was changed.")
        elif self._findings:
            return  # they say more
        elif anchor.size > self.size or anchor.notes >= len(self._chain):
            there, was = (
                f"{self.size} records and {len(self._chain) - 1} notes",
                f"{anchor.size} and {anchor.notes}",
            )
            self._find(
                "restored",
                self.size + 1,
                f"The ledger is older than it was. It has {there}, and had {was}: "
                "it was cut off, or an old copy was restored.",
            )
        elif self._anchor_root != anchor.root or self._chain[anchor.notes] != anchor.last:
            self._find(
                "rebuilt", None, "The ledger does not continue the one that the file ending in .head names."
            )

    def _report(self) -> VerificationReport:
        doubts = [] if self._findings else self._doubts()
        kept = max((note.checkpoint.size for note in self._given), default=0)
        by_key = self._keys is not None and not doubts and not self._findings
        proven = 0 if self._findings else self.size if by_key else kept
        if self._findings:
            verdict = LedgerVerdict.BROKEN
        elif by_key or (0 < kept == self.size and not self._waiting):
            verdict, doubts = LedgerVerdict.SOUND, []
        else:
            verdict = LedgerVerdict.UNPROVEN
        return VerificationReport(
            verdict,
            self.size,
            proven,
            by_key,
            self._waiting,
            min(self._cut, self.size),
            self._agreed,
            self._tree.root,
            tuple(sorted(self._findings, key=_order)),
            tuple(doubts),
        )

    def _doubts(self) -> list[str]:
        """Why the key does not prove everything, and what to do next."""
        if self._keys is None:
            return [
                "The ledger's key is not here. Verify where the ledger is written, or copy the key (for a file, the "
                "files beside it that end in .signing.key and .head)."
                if self._given
                else "Neither the ledger's key nor a checkpoint is here. Verify where the ledger is written, or give "
                "a checkpoint that was kept elsewhere."
            ]
        if self._head is None and not (self._anchor is not None and self._anchor.age == 0):
            return [
                "The ledger is empty, and nothing shows that it always was. It is proved once events are in it."
            ]
        if self._anchored and self._anchor is None:
            return [
                "The file beside the ledger that ends in .head is missing, so that an old copy of the ledger cannot "
                "be told from the newest. Restore that file, or give a checkpoint that was kept elsewhere."
            ]
        return []

    def _compare(self) -> None:
        """Compare the tree, as far as it was read, with the notes about this size."""
        size, root = self.size, self._tree.root
        if self._anchor is not None and self._anchor.size == size and self._whole:
            self._anchor_root = root
        due = self._due.get(size, ())
        differ = [note for note in due if not self._whole or note.checkpoint.root != root]
        self._agreed += sum(note.checkpoint.word == "at" for note in due if note not in differ)
        if differ and not any(first <= size and last >= self._doubt_from for first, last in self._broken):
            self._find("rebuilt", None, _rebuilt(differ[0], self._doubt_from))
        elif due and not differ:
            self._doubt_from = size + 1

    def _missing(self, first: int, last: int) -> None:
        self._whole = False
        self._broken.append((first, last))
        self._find("removed", first, f"{_records(first, last, 'was', 'were')} removed.")

    def _tell_misfits(self) -> None:
        """Report misplaced records as moved, and records that fit no place as changed."""
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

    def _find(self, what: What, number: int | None, sentence: str) -> None:
        self._findings.append(LedgerFinding(what, number, sentence))


def _is_in_chain(given: Note, notes: Sequence[Note | None]) -> bool:
    """Whether the chain of notes holds a given one. A chain that was cut off or restarted does not."""
    at = given.checkpoint.number - 1
    return at < len(notes) and notes[at] in (None, given)


def _is_well_formed(head: Head) -> bool:
    size, peaks, notes, last, mac = tuple[object, ...](head)
    numbers = all(isinstance(value, int) and value >= 0 for value in (size, notes))
    return numbers and all(isinstance(value, bytes) for value in (peaks, last, mac))


def _is_authentic_event(keys: LedgerKeys, row: EventColumns) -> bool:
    try:
        return is_authentic_event(keys, row, placed=False)
    except (TypeError, ValueError, AttributeError):
        return False


def _leaf_of(row: EventColumns) -> bytes:
    """The leaf hash of a record; empty for one that no ledger could have written."""
    try:
        return leaf_hash(leaf_data(row))
    except (TypeError, ValueError, AttributeError):
        return b""


def _contents_of(row: EventColumns, owner: str, number: int | None) -> list[ExpectedContent]:
    """The contents of a record whose leaf hash, or MAC, was found to be right."""
    if not row.kept:
        return []
    return [ExpectedContent(ref, digest, owner, number) for ref, digest in json.loads(row.kept).items()]


def _parse(text: str) -> Note | None:
    """The note, if it is written exactly as a ledger writes one."""
    try:
        (note,) = parse_notes(text)
    except (LedgerError, ValueError, AttributeError):
        return None
    return note if note.text == text else None


def _named(note: Note, article: str) -> str:
    checkpoint = note.checkpoint
    kind = {"cut": "note of removed records", "erased": "note of erased contents", "missing": "alarm"}
    return f"{article} {kind.get(checkpoint.word, 'checkpoint')} ({_when(checkpoint.time)}, {checkpoint.size} records)"


def _rebuilt(note: Note, doubt_from: int) -> str:
    size, signed = note.checkpoint.size, _when(note.checkpoint.time)
    return (
        f"{_records(doubt_from, size, 'is', 'are')} not what was signed on {signed}: the ledger was rebuilt."
    )


def _records(first: int, last: int, one: str = "is", many: str = "are") -> str:
    return f"Record {first} {one}" if first >= last else f"Records {first} to {last} {many}"


def _when(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _order(finding: LedgerFinding) -> tuple[int, str]:
    return finding.number or 0, finding.sentence
