"""Verification finds whatever was done to a ledger."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.ledger.examples import fill

from handraise.ledger import Ledger
from handraise.ledger.audit import verify
from handraise.ledger.checkpoints import Note, parse_notes
from handraise.ledger.sequencer import tree_of
from handraise.ledger.tree import Tree, leaf_hash
from handraise.ledger.verify import Report


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, as somebody who can write to it sees it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


async def written(path: Path, questions: int = 5, **options: object) -> Note:
    """A ledger with two events a question, closed; its last checkpoint."""
    ledger = Ledger.at(path, **options)
    await fill(ledger, questions)
    note, _ = await ledger.checkpoint()
    await ledger.aclose()
    return parse_notes(note)[0]


async def report_on(path: Path, *given: Note) -> Report:
    ledger = Ledger.at(path)
    try:
        return await verify(ledger, given)
    finally:
        await ledger.store.aclose()


def told(report: Report) -> list[tuple[str, int | None, str]]:
    return [(finding.what, finding.number, finding.sentence) for finding in report.findings]


@pytest.mark.shows("G4")
async def test_a_ledger_that_nobody_touched_is_sound(path: Path) -> None:
    note = await written(path)
    report = await report_on(path, note)
    assert report.sound
    assert (report.records, report.waiting, report.removed, report.checkpoints) == (10, 0, 0, 2)
    assert report.root == note.checkpoint.root


@pytest.mark.shows("G4")
@pytest.mark.parametrize("number", [1, 4, 10])
async def test_a_changed_byte_is_found(path: Path, number: int) -> None:
    await written(path)
    with opened(path) as db:
        change = "UPDATE events SET body = CAST(replace(body, 'notes', 'nodes') AS BLOB) WHERE number = ?"
        db.execute(change, (number,))
    assert told(await report_on(path)) == [("changed", number, f"Record {number} was changed.")]


@pytest.mark.shows("G4")
async def test_every_single_byte_of_a_record_counts(path: Path) -> None:
    await written(path, 1)
    with opened(path) as db:
        (body,) = db.execute("SELECT body FROM events WHERE number = 1").fetchone()
        for at in range(0, len(body), 29):
            changed = bytes([*body[:at], body[at] ^ 1, *body[at + 1 :]])
            db.execute("UPDATE events SET body = ? WHERE number = 1", (changed,))
            assert [what for what, *_ in told(await report_on(path))] == ["changed"]


@pytest.mark.shows("G4")
async def test_a_removed_record_is_found(path: Path) -> None:
    await written(path)
    with opened(path) as db:
        db.execute("DELETE FROM events WHERE number = 4")
    assert told(await report_on(path)) == [("removed", 4, "Record 4 was removed.")]


@pytest.mark.shows("G4")
async def test_removed_records_are_found_when_their_places_are_removed_too(path: Path) -> None:
    await written(path)
    with opened(path) as db:
        for table in ("events", "leaves"):
            db.execute(f"DELETE FROM {table} WHERE number IN (4, 5)")
    assert told(await report_on(path)) == [("removed", 4, "Records 4 to 5 were removed.")]


@pytest.mark.shows("G4")
async def test_a_record_that_is_removed_without_leaving_a_gap_is_found(path: Path) -> None:
    note = await written(path)
    with opened(path) as db:
        for table in ("events", "leaves"):
            db.execute(f"DELETE FROM {table} WHERE number = 4")
            for number in range(5, 11):
                db.execute(f"UPDATE {table} SET number = number - 1 WHERE number = ?", (number,))
    assert told(await report_on(path)) == [("cut", 10, "The end was cut off: Record 10 is missing.")]
    with opened(path) as db:
        db.execute("DELETE FROM tree")
        db.execute("DELETE FROM notes")
    assert [what for what, *_ in told(await report_on(path, note))] == ["cut"]


@pytest.mark.shows("G4")
async def test_swapped_records_are_found(path: Path) -> None:
    await written(path)
    with opened(path) as db:
        for before, after in ((3, 99), (7, 3), (99, 7)):
            db.execute("UPDATE events SET number = ? WHERE number = ?", (after, before))
    assert told(await report_on(path)) == [("swapped", 3, "Records 3 and 7 were swapped.")]


@pytest.mark.shows("G4")
async def test_records_swapped_with_their_places_are_found(path: Path) -> None:
    note = await written(path)
    with opened(path) as db:
        for table in ("events", "leaves"):
            for before, after in ((3, 99), (7, 3), (99, 7)):
                db.execute(f"UPDATE {table} SET number = ? WHERE number = ?", (after, before))
    assert [what for what, *_ in told(await report_on(path, note))] == ["rebuilt"]


@pytest.mark.shows("G4")
async def test_a_tail_that_was_cut_is_found(path: Path) -> None:
    note = await written(path)
    with opened(path) as db:
        for table in ("events", "leaves"):
            db.execute(f"DELETE FROM {table} WHERE number > 8")
    cut = [("cut", 9, "The end was cut off: Records 9 to 10 are missing.")]
    assert told(await report_on(path)) == cut
    with opened(path) as db:  # also when everything that remembers it is cut with it
        db.execute("DELETE FROM notes")
        db.execute("UPDATE tree SET size = 8, peaks = ?", (_peaks(db, 8),))
    assert told(await report_on(path)) == []
    assert told(await report_on(path, note)) == cut


def _peaks(db: sqlite3.Connection, size: int) -> bytes:
    hashes = [
        leaf for (leaf,) in db.execute("SELECT hash FROM leaves WHERE number <= ? ORDER BY number", (size,))
    ]
    return b"".join(Tree().grown(hashes).peaks)


@pytest.mark.shows("G4")
async def test_a_ledger_that_was_rebuilt_with_its_own_key_is_found_with_one_old_checkpoint(
    path: Path,
) -> None:
    note = await written(path)
    with opened(path) as db:  # everything is done again, in order, around one changed decision
        db.execute(
            "UPDATE events SET body = CAST(replace(body, 'accept', 'cancel') AS BLOB) WHERE number = 4"
        )
        for table in ("leaves", "tree", "notes"):
            db.execute(f"DELETE FROM {table}")
    rebuilt = Ledger.at(path)
    await rebuilt.start()
    await rebuilt.aclose()
    assert (await report_on(path)).sound
    (finding,) = (await report_on(path, note)).findings
    assert finding.what == "rebuilt"
    assert "Records 1 to 10 are not what was signed on" in finding.sentence


@pytest.mark.shows("G4")
async def test_between_which_checkpoints_a_ledger_was_rebuilt_is_told(path: Path) -> None:
    ledger = Ledger.at(path)
    for _ in range(3):
        await fill(ledger, 2)
        await ledger.checkpoint()
    await ledger.aclose()
    with opened(path) as db:
        (body,) = db.execute("SELECT body FROM events WHERE number = 6").fetchone()
        changed = body.replace(b"accept", b"cancel")
        db.execute("UPDATE events SET body = ? WHERE number = 6", (changed,))
        db.execute("UPDATE leaves SET hash = ? WHERE number = 6", (leaf_hash(changed),))
    sentences = [sentence for *_, sentence in told(await report_on(path))]
    assert all(sentence.startswith("Records 5 to ") for sentence in sentences)
    assert len(sentences) == 2


@pytest.mark.shows("G4")
async def test_a_ledger_that_was_replaced_together_with_its_key_is_found(path: Path) -> None:
    note = await written(path)
    for file in path.parent.iterdir():
        file.unlink()
    await written(path)
    assert (await report_on(path)).sound
    (finding,) = (await report_on(path, note)).findings
    assert finding.what == "forged"
    assert "that was given" in finding.sentence
    assert "not signed by this ledger's key" in finding.sentence


@pytest.mark.shows("G4")
async def test_a_checkpoint_in_the_ledger_that_was_changed_is_found(path: Path) -> None:
    await written(path)
    with opened(path) as db:
        db.execute("UPDATE notes SET note = replace(note, 'at 1', 'at 2')")
    assert [what for what, *_ in told(await report_on(path))] == ["forged"]
    with opened(path) as db:
        db.execute("UPDATE notes SET note = 'nothing'")
    assert told(await report_on(path)) == [
        ("forged", None, "1 of the checkpoints in the ledger cannot be read.")
    ]


@pytest.mark.shows("G4")
async def test_an_event_that_was_removed_before_it_had_a_place_is_found(path: Path) -> None:
    ledger = Ledger.at(path)
    await fill(ledger, 2)
    await ledger.store.aclose()
    assert (await report_on(path)).waiting == 4
    with opened(path) as db:
        db.execute("DELETE FROM events WHERE number = 2")
    assert told(await report_on(path)) == [("removed", 2, "Record 2 was removed.")]


@pytest.mark.shows("G3", "G4")
async def test_a_content_that_was_changed_or_moved_is_found(path: Path) -> None:
    await written(path, keeping="all")
    assert (await report_on(path)).sound
    with opened(path) as db:
        db.execute("UPDATE contents SET body = randomblob(length(body)) WHERE number = 3")
    assert told(await report_on(path)) == [("content", 3, "A content of record 3 is not the one it had.")]


async def test_verification_of_a_ledger_in_use_harms_nobody(path: Path) -> None:
    ledger = Ledger.at(path)
    await fill(ledger, 20)
    reports, _ = await asyncio.gather(
        asyncio.gather(*(verify(ledger) for _ in range(3))), asyncio.gather(fill(ledger, 10), ledger.place())
    )
    assert all(report.sound for report in reports)
    await ledger.aclose()


async def test_a_copy_of_a_ledger_can_be_verified_with_its_key(path: Path, tmp_path: Path) -> None:
    note = await written(path)
    elsewhere = tmp_path / "copy"
    elsewhere.mkdir()
    for file in path.parent.glob("ledger.db*"):
        shutil.copy(file, elsewhere / file.name)
    assert (await report_on(elsewhere / "ledger.db", note)).sound
    assert os.listdir(elsewhere)


async def test_progress_is_told(path: Path) -> None:
    await written(path)
    ledger, steps = Ledger.at(path), list[tuple[int, int]]()
    await verify(ledger, progress=lambda done, all: steps.append((done, all)))
    assert steps == [(10, 10)]
    assert tree_of(await ledger.tables.tree()).size == 10
    await ledger.store.aclose()
