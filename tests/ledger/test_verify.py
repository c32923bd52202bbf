"""Verification finds whatever was done to a ledger, and says what nothing proves."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ledger.examples import ABOUT, a_trail, fill

from handraise.calls.ledger_tables import EventColumns, LedgerPlace, StoredContent
from handraise.errors import LedgerError, SetupError, StoreError
from handraise.ledger import Ledger, Principal
from handraise.ledger.proof import LedgerKeys, Note, Tree, leaf_data, leaf_hash, parse_notes
from handraise.ledger.verify import LedgerVerdict, Verification, VerificationReport

A_ROW = EventColumns(b"{}", "q", 0, "w", "n", "", b"no code of any key")
COLUMNS = "body, question, open, writer, name, kept, mac"


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


async def report_on(path: Path, *given: Note) -> VerificationReport:
    return await Ledger.at(path).verify(given)


def copy_of(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def remove(path: Path) -> None:
    path.unlink()


def told(report: VerificationReport) -> list[tuple[str, int | None, str]]:
    assert (report.verdict is LedgerVerdict.BROKEN) == bool(report.findings)
    return [(finding.what, finding.number, finding.sentence) for finding in report.findings]


def kinds(report: VerificationReport) -> list[str]:
    return [what for what, *_ in told(report)]


def make_the_tree_anew(db: sqlite3.Connection) -> None:
    """Make leaves and head fit the events, as somebody without the key can."""
    rows = db.execute(f"SELECT {COLUMNS} FROM events ORDER BY number").fetchall()
    for table in ("leaves", "notes"):
        db.execute(f"DELETE FROM {table}")
    leaves = [leaf_hash(leaf_data(EventColumns(*row))) for row in rows]
    db.executemany("INSERT INTO leaves VALUES (?, ?)", enumerate(leaves, 1))
    tree = Tree().grown(leaves)
    head = (tree.size, b"".join(tree.peaks), bytes(32))
    db.execute("UPDATE head SET size = ?, peaks = ?, notes = 0, last = ?", head)


def edit_a_decision(db: sqlite3.Connection) -> None:
    db.execute("UPDATE events SET body = CAST(replace(body, 'accept', 'cancel') AS BLOB) WHERE number = 4")


def remove_a_question(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM events WHERE number IN (3, 4)")
    db.execute("DELETE FROM contents WHERE number IN (3, 4)")
    for number in range(5, 11):
        for table in ("events", "contents"):
            db.execute(f"UPDATE {table} SET number = number - 2 WHERE number = ?", (number,))


def cut_the_tail(db: sqlite3.Connection) -> None:
    for table in ("events", "contents"):
        db.execute(f"DELETE FROM {table} WHERE number > 8")


# Changes by somebody who has no key.


@pytest.mark.shows("G4")
@pytest.mark.parametrize("change", [edit_a_decision, remove_a_question, cut_the_tail])
async def test_an_edited_decision_a_removed_question_and_a_cut_tail_are_found_also_in_a_tree_made_anew(
    path: Path, change: Callable[[sqlite3.Connection], None]
) -> None:
    await written(path)
    with opened(path) as db:
        change(db)
        make_the_tree_anew(db)
    assert told(await report_on(path)) == [
        ("forged", None, "The head of the ledger was not written with this ledger's key.")
    ]


@pytest.mark.shows("G4")
@pytest.mark.parametrize(
    "change",
    ["question = 'q_other'", "open = 1", "writer = 'x'", "name = 'e_1'", "kept = '{}'", "mac = x'00'"],
)
async def test_a_changed_column_beside_an_event_is_found(path: Path, change: str) -> None:
    await written(path)
    with opened(path) as db:
        db.execute(f"UPDATE events SET {change} WHERE number = 4")
    assert told(await report_on(path)) == [("changed", 4, "Record 4 was changed.")]


@pytest.mark.shows("G3", "G4")
async def test_a_content_that_was_deleted_changed_or_moved_is_found(path: Path) -> None:
    await written(path, keeping="all")
    whole = copy_of(path)
    missing = "A content of record 3 was removed, and no signed note says so."
    other = "A content of record 3 is not the one it had."
    for change, sentence in (
        ("DELETE FROM contents WHERE number = 3", missing),
        ("UPDATE contents SET body = randomblob(length(body)) WHERE number = 3", other),
        ("UPDATE contents SET body = NULL WHERE number = 3", other),
        ("UPDATE contents SET key = randomblob(length(key)) WHERE number = 3", other),
        ("UPDATE contents SET number = 4 WHERE number = 3", other),
        ("UPDATE contents SET ref = 'c_0' WHERE number = 3", missing),
    ):
        put(path, whole)
        with opened(path) as db:
            db.execute(change)
        assert told(await report_on(path)) == [("content", 3, sentence)]
    put(path, whole)
    with opened(path) as db:
        db.execute("INSERT INTO contents VALUES ('c_0', 3, x'00', NULL)")
    assert told(await report_on(path)) == [("content", None, "1 contents belong to no record.")]


@pytest.mark.shows("G3", "G4")
async def test_contents_are_erased_only_by_a_signed_note_and_stay_erased(path: Path) -> None:
    await written(path, keeping="all")
    with opened(path) as db:
        before = db.execute("SELECT * FROM contents WHERE number = 3").fetchone()
    ledger = Ledger.at(path)
    assert await ledger.erase(lambda number, _: number == 3) == (1, 1)
    await ledger.aclose()
    assert (await report_on(path)).verdict is LedgerVerdict.SOUND
    whole = copy_of(path)
    with opened(path) as db:
        db.execute("INSERT INTO contents VALUES (?, ?, ?, ?)", before)
    again = ("content", 3, "A content of record 3 was erased, and is there again.")
    assert told(await report_on(path)) == [again]
    put(path, whole)
    with opened(path) as db:  # another content is named in the note
        (ref,) = db.execute("SELECT ref FROM contents WHERE number = 5").fetchone()
        db.execute("DELETE FROM contents WHERE number = 5")
        db.execute("UPDATE notes SET note = replace(note, ?, ?)", (before[0], ref))
    assert {"forged", "content"} == set(kinds(await report_on(path)))
    put(path, whole)
    with opened(path) as db:
        db.execute("DELETE FROM notes WHERE note LIKE '%erased%'")
    assert {"removed", "content"} == set(kinds(await report_on(path)))


@pytest.mark.shows("G3", "G4")
async def test_a_content_with_two_lines_for_a_name_is_never_signed(ledger: Ledger) -> None:
    await fill(ledger, 1)
    draft = ledger.authenticator.erasure(1)
    with pytest.raises(StoreError, match="a space or a line break"):
        draft(await ledger.tables.place(1), ["c_0\nname c_1"])


@pytest.mark.shows("G4")
async def test_a_restored_backup_is_found_and_nobody_writes_to_it(path: Path) -> None:
    await written(path)
    backup = copy_of(path)
    await written(path, 1)
    assert (await report_on(path)).verdict is LedgerVerdict.SOUND
    put(path, backup)
    (finding,) = (await report_on(path)).findings
    assert finding.what == "restored"
    assert "It has 10 records and 1 notes, and had 12 and 2" in finding.sentence
    ledger = Ledger.at(path)
    with pytest.raises(StoreError, match=r"older than it was: it has 10 records and had 12.*move it away"):
        await ledger.record(a_trail(ledger).asked())
    await ledger.store.aclose()
    assert kinds(await report_on(path)) == ["restored"]


@pytest.mark.shows("G4")
async def test_a_ledger_that_was_deleted_is_missed(path: Path) -> None:
    await written(path)
    remove(path)
    assert kinds(await report_on(path)) == ["restored"]
    ledger = Ledger.at(path)
    with pytest.raises(StoreError, match="it has 0 records and had 10"):
        await ledger.record(a_trail(ledger).asked())
    await ledger.store.aclose()


@pytest.mark.shows("G4")
async def test_a_head_of_somebody_else_is_never_built_upon(path: Path) -> None:
    await written(path)
    with opened(path) as db:
        edit_a_decision(db)
        make_the_tree_anew(db)
    ledger = Ledger.at(path)
    with pytest.raises(StoreError, match="not written with the ledger's key"):
        await ledger.record(a_trail(ledger).asked())
    with pytest.raises(StoreError, match="not written with the ledger's key"):
        await ledger.checkpoint()
    await ledger.store.aclose()


@pytest.mark.shows("G4", "G5")
async def test_nobody_keeps_an_event_out_by_adding_one_of_its_name(path: Path) -> None:
    ledger = Ledger.at(path)
    await fill(ledger, 1)
    decided = ledger.trail("q_9", ABOUT, None, again=True).decided("accept", "human")
    with opened(path) as db:
        columns = COLUMNS.replace("name", "?")
        db.execute(f"INSERT INTO events SELECT 99, {columns} FROM events WHERE number = 2", (decided.once,))
    with pytest.raises(StoreError, match="not written with the ledger's key"):
        await ledger.record(decided)
    with opened(path) as db:
        db.execute("DELETE FROM events WHERE number = 99")
    await ledger.record(decided)
    await ledger.record(decided)
    assert (await ledger.verify()).records == 3
    await ledger.aclose()


SWALLOWING = """
    CREATE TRIGGER events_gone AFTER INSERT ON events BEGIN DELETE FROM events WHERE number = NEW.number; END;
    CREATE TRIGGER leaves_gone AFTER INSERT ON leaves BEGIN DELETE FROM leaves WHERE number = NEW.number; END;
    CREATE TRIGGER contents_gone BEFORE INSERT ON contents BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER notes_gone BEFORE INSERT ON notes BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER head_kept BEFORE UPDATE ON head BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER head_alone BEFORE INSERT ON head BEGIN SELECT RAISE(IGNORE); END;
"""


@pytest.mark.shows("G4", "G5")
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "opened later"])
async def test_nobody_swallows_events_with_triggers_that_are_gone_later(path: Path, is_open: bool) -> None:
    await written(path)
    ledger = Ledger.at(path)
    if is_open:
        await fill(ledger, 1)
    with opened(path) as db:
        db.executescript(SWALLOWING)
    for write in (lambda: ledger.record(a_trail(ledger, 9).asked()), ledger.checkpoint):
        with pytest.raises(StoreError, match="is not the one that Handraise made"):
            await write()
    with opened(path) as db:
        for name in re.findall(r"CREATE TRIGGER (\w+)", SWALLOWING):
            db.execute(f"DROP TRIGGER {name}")
    before = (await ledger.verify()).records
    await ledger.record(a_trail(ledger, 9).asked())
    report = await ledger.verify()
    assert (report.verdict, report.records) == (LedgerVerdict.SOUND, before + 1)
    await ledger.aclose()


# What the key, the anchor and a checkpoint each prove.


@pytest.mark.shows("G4")
async def test_without_the_key_and_without_a_checkpoint_nothing_is_proved(path: Path) -> None:
    await written(path)
    key = path.with_name("ledger.db.signing.key")
    key.unlink()
    report = await report_on(path)
    assert (report.verdict, report.proven, report.by_key) == (LedgerVerdict.UNPROVEN, 0, False)
    assert "Neither the ledger's key nor a checkpoint is here" in report.doubts[0]
    assert not key.exists()  # looking makes no new key
    ledger = Ledger.at(path)
    with pytest.raises(SetupError, match=r"the key of the ledger, is missing: restore it"):
        await ledger.record(a_trail(ledger).asked())
    await ledger.store.aclose()
    assert not key.exists()
    with opened(path) as db:
        edit_a_decision(db)
    assert kinds(await report_on(path)) == ["changed"]


@pytest.mark.shows("G4")
async def test_somebody_without_the_key_proves_the_records_up_to_a_kept_checkpoint(path: Path) -> None:
    note = await written(path)
    for file in path.parent.glob("ledger.db.*"):
        file.unlink()
    report = await report_on(path, note)
    assert (report.verdict, report.proven, report.by_key) == (LedgerVerdict.SOUND, 10, False)
    with opened(path) as db:
        edit_a_decision(db)
        make_the_tree_anew(db)
    assert set(kinds(await report_on(path, note))) == {"removed", "rebuilt"}


@pytest.mark.shows("G4")
async def test_records_after_the_kept_checkpoint_are_unproven_without_the_key(path: Path) -> None:
    note = await written(path)
    await written(path, 1)
    path.with_name("ledger.db.signing.key").unlink()
    report = await report_on(path, note)
    assert (report.verdict, report.proven, report.records) == (LedgerVerdict.UNPROVEN, 10, 12)
    assert "The ledger's key is not here" in report.doubts[0]


@pytest.mark.shows("G3", "G4")
async def test_somebody_without_the_key_knows_signed_erasing_from_deleting(path: Path) -> None:
    note = await written(path, keeping="all")
    ledger = Ledger.at(path)
    await ledger.erase(lambda number, _: number == 3)
    await ledger.store.aclose()
    for file in path.parent.glob("ledger.db.*"):
        file.unlink()
    assert (await report_on(path, note)).verdict is LedgerVerdict.SOUND
    with opened(path) as db:
        db.execute("DELETE FROM contents WHERE number = 5")
    assert kinds(await report_on(path, note)) == ["content"]


@pytest.mark.shows("G4")
async def test_a_ledger_without_its_anchor_is_unproven_and_nobody_writes_to_it(path: Path) -> None:
    note = await written(path)
    anchor = path.with_name("ledger.db.head")
    whole = anchor.read_bytes()
    anchor.unlink()
    report = await report_on(path)
    assert (report.verdict, report.proven) == (LedgerVerdict.UNPROVEN, 0)
    assert "ends in .head is missing" in report.doubts[0]
    assert (await report_on(path, note)).proven == 10
    ledger = Ledger.at(path)
    with pytest.raises(StoreError, match=r"\.head is missing: restore it"):
        await ledger.record(a_trail(ledger).asked())
    await ledger.store.aclose()
    for damaged in (b"", whole[:-1], whole + b"x", whole[:-1] + b"x"):
        anchor.write_bytes(damaged)
        assert kinds(await report_on(path)) == ["forged"]
    anchor.write_bytes(whole)
    assert (await report_on(path)).verdict is LedgerVerdict.SOUND


@pytest.mark.shows("G4")
async def test_an_empty_ledger_is_unproven(path: Path) -> None:
    report = await report_on(path)
    assert (report.verdict, report.records) == (LedgerVerdict.UNPROVEN, 0)
    assert list(path.parent.iterdir()) == []


KILLED = """
    import asyncio, os, signal, sys
    from handraise.ledger import Ledger
    from handraise.stores.sqlite_side_files import AnchorFile
    from tests.ledger.examples import a_trail

    async def main(path, moment):
        die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        ledger = Ledger.at(path)
        await ledger.start()
        if moment == "before the commit":
            create = AnchorFile.create
            AnchorFile.create = lambda *given: (create(*given), die())
        elif moment == "before the anchor":
            AnchorFile.advance = die
        await ledger.record(a_trail(ledger, 1).asked())
        os.write(1, b"acknowledged")
        if moment == "afterwards":
            die()

    asyncio.run(main(*sys.argv[1:]))
"""


def be_killed(path: Path, moment: str) -> bytes:
    """Let a process write an event and die at a moment; what it said before."""
    code, root = [sys.executable, "-c", textwrap.dedent(KILLED), str(path), moment], Path(__file__).parents[2]
    done = subprocess.run(code, timeout=60, check=False, cwd=root, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    return done.stdout


@pytest.mark.slow
@pytest.mark.shows("G4", "G5")
@pytest.mark.parametrize(
    ("moment", "records"), [("before the commit", 0), ("before the anchor", 1), ("afterwards", 1)]
)
async def test_a_process_that_is_killed_between_database_and_anchor_leaves_a_sound_ledger(
    path: Path, moment: str, records: int
) -> None:
    assert be_killed(path, moment) == (b"acknowledged" if moment == "afterwards" else b"")
    report = await report_on(path)
    assert (report.verdict, report.records) == (LedgerVerdict.SOUND, records), report
    ledger = Ledger.at(path)
    await fill(ledger, 1)
    await ledger.aclose()
    report = await report_on(path)
    assert report.verdict is LedgerVerdict.SOUND
    assert report.records == 2 + 2 * records  # with the end of the question that was in flight


# Which record, and what happened to it.


@pytest.mark.shows("G4")
async def test_a_ledger_that_nobody_touched_is_sound(path: Path) -> None:
    note = await written(path)
    report = await report_on(path, note)
    assert (report.verdict, report.proven, report.by_key) == (LedgerVerdict.SOUND, 10, True)
    assert (report.records, report.waiting, report.removed, report.checkpoints) == (10, 0, 0, 1)
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
        for table in ("events", "leaves", "contents"):
            for before, after in ((3, 99), (7, 3), (99, 7)):
                db.execute(f"UPDATE {table} SET number = ? WHERE number = ?", (after, before))
    assert [what for what, *_ in told(await report_on(path, note))] == ["rebuilt"]


@pytest.mark.shows("G4")
async def test_a_tail_that_was_cut_is_found(path: Path) -> None:
    await written(path)
    with opened(path) as db:
        for table in ("events", "leaves"):
            db.execute(f"DELETE FROM {table} WHERE number > 8")
    assert told(await report_on(path)) == [("cut", 9, "The end was cut off: Records 9 to 10 are missing.")]


@pytest.mark.shows("G4")
async def test_a_ledger_that_was_rebuilt_with_its_own_key_is_found_with_one_old_checkpoint(
    path: Path,
) -> None:
    note = await written(path)
    remove(path)
    path.with_name("ledger.db.head").unlink()
    await written(path)  # with the same key
    assert (await report_on(path)).verdict is LedgerVerdict.SOUND
    assert kinds(await report_on(path, note)) == ["rebuilt", "removed"]
    assert "Records 1 to 10 are not what was signed on" in (await report_on(path, note)).findings[0].sentence


@pytest.mark.shows("G4")
async def test_between_which_checkpoints_a_ledger_was_rebuilt_is_told(path: Path) -> None:
    ledger = Ledger.at(path)
    for _ in range(3):
        await fill(ledger, 2)
        await ledger.checkpoint()
    await ledger.aclose()
    with opened(path) as db:
        (body,) = db.execute("SELECT body FROM events WHERE number = 6").fetchone()
        db.execute("UPDATE events SET body = ? WHERE number = 6", (body.replace(b"accept", b"cancel"),))
        row = db.execute(f"SELECT {COLUMNS} FROM events WHERE number = 6").fetchone()
        leaf = leaf_hash(leaf_data(EventColumns(*row)))
        db.execute("UPDATE leaves SET hash = ? WHERE number = 6", (leaf,))
    sentences = [sentence for *_, sentence in told(await report_on(path))]
    assert all(sentence.startswith("Records 5 to ") for sentence in sentences)
    assert len(sentences) == 2


@pytest.mark.shows("G4")
async def test_a_ledger_that_was_replaced_together_with_its_key_is_found(path: Path) -> None:
    note = await written(path)
    for file in path.parent.iterdir():
        file.unlink()
    await written(path)
    assert (await report_on(path)).verdict is LedgerVerdict.SOUND
    (finding,) = (await report_on(path, note)).findings
    assert finding.what == "forged"
    assert "that was given" in finding.sentence
    assert "not signed by this ledger's key" in finding.sentence


@pytest.mark.shows("G4")
async def test_checkpoints_in_the_ledger_that_were_changed_removed_or_moved_are_found(path: Path) -> None:
    for _ in range(3):
        await written(path, 1)
    whole = copy_of(path)
    for change, sentences in (
        ("UPDATE notes SET note = 'nothing' WHERE number = 2", ["Note 2 in the ledger was changed."]),
        ("UPDATE notes SET note = note || ' ' WHERE number = 2", ["Note 2 in the ledger was changed."]),
        ("UPDATE notes SET note = replace(note, 'at 1', 'at 2') WHERE number = 2", ["is not signed by"]),
        (
            "DELETE FROM notes WHERE number = 1",
            ["there were 3, there are 2", "Note 1 in the ledger was removed"],
        ),
        ("DELETE FROM notes WHERE number = 3", ["Notes were removed: there were 3, there are 2."]),
        ("DELETE FROM notes", ["Notes were removed: there were 3, there are 0."]),
        (
            "INSERT INTO notes SELECT 4, note FROM notes WHERE number = 3",
            ["there are 4", "Note 4 in the ledger"],
        ),
    ):
        put(path, whole)
        with opened(path) as db:
            db.execute(change)
        found = sorted(sentence for *_, sentence in told(await report_on(path)))
        assert len(found) >= len(sentences), (change, found)
        assert all(any(part in sentence for sentence in found) for part in sentences), (change, found)


@pytest.mark.shows("G4")
async def test_an_event_that_somebody_added_is_found(path: Path) -> None:
    await written(path, 1)
    with opened(path) as db:
        db.execute(f"INSERT INTO events SELECT 3, {COLUMNS} FROM events WHERE number = 2")
    assert told(await report_on(path)) == [("added", 3, "Record 3 was added.")]


@pytest.mark.shows("G4")
async def test_a_file_that_cannot_be_read_is_broken(path: Path) -> None:
    await written(path)
    put(path, copy_of(path)[:5000])
    assert kinds(await report_on(path)) == ["unreadable"]


async def test_verification_of_a_ledger_in_use_harms_nobody(path: Path) -> None:
    ledger = Ledger.at(path)
    await fill(ledger, 20)
    reports, _ = await asyncio.gather(
        asyncio.gather(*(ledger.verify() for _ in range(3))), asyncio.gather(fill(ledger, 10), ledger.place())
    )
    assert {report.verdict for report in reports} <= {LedgerVerdict.SOUND, LedgerVerdict.UNPROVEN}, reports
    assert reports[0].verdict is LedgerVerdict.SOUND
    await ledger.aclose()


async def test_a_copy_of_a_ledger_can_be_verified_with_its_key(path: Path, tmp_path: Path) -> None:
    note = await written(path)
    elsewhere = tmp_path / "copy"
    elsewhere.mkdir()
    for file in path.parent.glob("ledger.db*"):
        shutil.copy(file, elsewhere / file.name)
    assert (await report_on(elsewhere / "ledger.db", note)).verdict is LedgerVerdict.SOUND


async def test_progress_is_told(path: Path) -> None:
    await written(path)
    ledger, steps = Ledger.at(path), list[tuple[int, int]]()
    await ledger.verify(progress=lambda done, all: steps.append((done, all)))
    assert steps == [(10, 10)]
    assert await ledger.tables.size() == 10
    await ledger.store.aclose()


BOB = replace(ABOUT, principal=Principal("https://login.example", "bob", "token"))


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(path, keeping="all", clock=Clock())
    yield ledger
    await ledger.aclose()


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def contents(ledger: Ledger) -> dict[int, list[StoredContent]]:
    return {
        number: list(
            (
                await ledger.tables.contents(
                    [part.ref for part in (event.message, event.answer) if part is not None]
                )
            ).values()
        )
        async for number, event in ledger.events()
    }


@pytest.mark.shows("G3")
async def test_a_persons_contents_are_erased_and_verification_still_passes(
    ledger: Ledger, path: Path
) -> None:
    await fill(ledger, 2)
    await fill(ledger, 1, about=BOB)
    note, _ = await ledger.checkpoint()
    before = await contents(ledger)
    assert [await ledger.contents(event) async for number, event in ledger.events() if number == 5] == [
        {"message": "Which note?"}
    ]
    bodies = [kept.body for number in (5, 6) for kept in before[number]]
    assert all(body in bytes_in(path.parent) for body in bodies if body)
    assert await ledger.erase(lambda _, event: event.about.principal == BOB.principal) == (2, 2)
    assert await ledger.erase(lambda _, event: event.about.principal == BOB.principal) == (2, 0)
    assert {number: len(kept) for number, kept in (await contents(ledger)).items()} == {
        1: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0,
    }  # fmt: skip
    report = await ledger.verify(parse_notes(note))
    assert report.verdict is LedgerVerdict.SOUND, report
    assert report.records == 6
    assert not any(body in bytes_in(path.parent) for body in bodies if body)


@pytest.mark.shows("G3")
async def test_one_records_contents_are_erased(ledger: Ledger) -> None:
    await fill(ledger, 2)
    assert await ledger.erase(lambda number, _: number == 3) == (1, 1)
    assert [number for number, kept in (await contents(ledger)).items() if not kept] == [3]
    assert await ledger.erase(lambda number, _: number == 99) == (0, 0)


@pytest.mark.shows("G6", "G4")
async def test_what_is_too_old_is_removed_and_the_rest_can_still_be_verified(
    ledger: Ledger, path: Path
) -> None:
    await fill(ledger, 3)
    old, _ = await ledger.checkpoint()
    times = [event.time async for _, event in ledger.events()]
    assert await ledger.retain(since=times[2]) == 2
    assert [number async for number, _ in ledger.events()] == [3, 4, 5, 6]
    await fill(ledger, 1)
    await ledger.place()
    report = await ledger.verify(parse_notes(old))
    assert report.verdict is LedgerVerdict.SOUND, report
    assert (report.records, report.removed, report.checkpoints) == (8, 2, 1)
    assert await ledger.retain(since=times[2]) == 0


@pytest.mark.shows("G4")
async def test_records_that_were_removed_beyond_the_signed_note_are_found(ledger: Ledger, path: Path) -> None:
    await fill(ledger, 3)
    times = [event.time async for _, event in ledger.events()]
    await ledger.retain(since=times[2])
    await ledger.aclose()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM events WHERE number <= 4")
        db.execute("DELETE FROM contents WHERE number <= 4")
        db.execute(
            "UPDATE notes SET note = replace(note, char(10) || '2' || char(10), char(10) || '4' || char(10))"
        )
    report = await ledger.verify()
    assert {(finding.what, finding.number) for finding in report.findings} == {
        ("forged", None),
        *(("removed", number) for number in range(1, 5)),
    }


@pytest.mark.shows("G4")
async def test_a_record_that_was_removed_as_too_old_does_not_come_back(ledger: Ledger, path: Path) -> None:
    await fill(ledger, 3)
    with closing(sqlite3.connect(path)) as db:
        row = db.execute("SELECT * FROM events WHERE number = 1").fetchone()
    times = [event.time async for _, event in ledger.events()]
    await ledger.retain(since=times[2])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", row)
    assert [finding.what for finding in (await ledger.verify()).findings] == ["restored"]


@pytest.mark.shows("G4")
async def test_a_record_that_was_made_to_look_old_or_like_somebody_elses_is_not_removed(
    ledger: Ledger, path: Path
) -> None:
    await fill(ledger, 2)
    times = [event.time async for _, event in ledger.events()]
    with closing(sqlite3.connect(path)) as db, db:
        change = "UPDATE events SET body = CAST(replace(body, ?, ?) AS BLOB) WHERE number = 1"
        db.execute(change, (f'"time":{times[0]}', '"time":1'))
    with pytest.raises(LedgerError, match="Nothing was removed"):
        await ledger.retain(since=2)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change, ('"time":1', f'"time":{times[0]}'))
        db.execute(change, ('"ada"', '"eve"'))
    with pytest.raises(LedgerError, match="Nothing was removed"):
        await ledger.erase(lambda *_: True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change, ('"eve"', '"ada"'))
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    assert len([number async for number, _ in ledger.events()]) == 4


async def test_everything_can_be_too_old(ledger: Ledger) -> None:
    assert await ledger.retain(since=2**52) == 0
    await fill(ledger, 2)
    assert await ledger.retain(since=2**52) == 4
    await fill(ledger, 1)
    await ledger.place()
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND


@pytest.mark.shows("G4")
@pytest.mark.parametrize(
    ("number", "found"),
    [
        (1, []),
        (None, []),
        (2, [2, 3]),
        (7, [7, 8]),
    ],
)
def test_a_gap_before_events_that_wait_for_their_place_is_found(number: int | None, found: list[int]) -> None:
    verification = Verification(None)
    assert verification.read_unplaced(LedgerPlace(number, None, A_ROW, waits=True)) == []
    following = None if number is None else number + 1
    verification.read_unplaced(LedgerPlace(following, None, A_ROW, waits=True))
    report = verification.end(0)
    assert report.waiting == 2
    gaps = [f"A record before record {each} was removed." for each in found]
    assert [each for *_, each in told(report) if "A record before" in each] == gaps


@pytest.mark.shows("G4")
def test_an_event_without_a_place_that_does_not_wait_for_one_or_has_no_authentic_code_was_added() -> None:
    for keys, place, sentence in (
        (None, LedgerPlace(3, None, A_ROW), "Record 3 was added."),
        (None, LedgerPlace(None, None, A_ROW), "A record was added."),
        (None, LedgerPlace(3, None, None, waits=True), "Record 3 was added."),
        (
            LedgerKeys(b"k" * 32),
            LedgerPlace(3, None, A_ROW, waits=True),
            "Record 3, which waits for its place, was changed or added.",
        ),
    ):
        verification = Verification(keys)
        assert verification.read_unplaced(place) == []
        report = verification.end(0)
        assert report.waiting == 0
        assert ("added", place.number, sentence) in told(report)


def test_what_is_about_no_single_record_is_told_first() -> None:
    verification = Verification(None)
    for number in (10, 2, 1):
        verification.read_unplaced(LedgerPlace(number, None, A_ROW))
    report = verification.unreadable("what follows is damaged")
    assert [each.sentence for each in report.findings] == [
        "What follows is damaged.",
        "Record 1 was added.",
        "Record 2 was added.",
        "Record 10 was added.",
    ]
    assert (report.verdict, report.proven) == (LedgerVerdict.BROKEN, 0)
