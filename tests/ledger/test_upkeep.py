"""Erasing contents and removing what is too old: the proof stays."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ledger.examples import ABOUT, fill

from handraise.conversation.recorded import Kept
from handraise.errors import LedgerError
from handraise.ledger import Ledger, Principal
from handraise.ledger.audit import Verdict, verify
from handraise.ledger.checkpoints import parse_notes
from handraise.ledger.contents import reveal
from handraise.ledger.upkeep import erase, retain

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


async def contents(ledger: Ledger) -> dict[int, list[Kept]]:
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
    assert [reveal(kept) for kept in before[5]] == [b"Which note?"]
    bodies = [kept.body for number in (5, 6) for kept in before[number]]
    assert all(body in bytes_in(path.parent) for body in bodies if body)
    assert await erase(ledger, lambda _, event: event.about.principal == BOB.principal) == (2, 2)
    assert await erase(ledger, lambda _, event: event.about.principal == BOB.principal) == (2, 0)
    assert {number: len(kept) for number, kept in (await contents(ledger)).items()} == {
        1: 1, 2: 1, 3: 1, 4: 1, 5: 0, 6: 0,
    }  # fmt: skip
    report = await verify(ledger, parse_notes(note))
    assert report.verdict is Verdict.SOUND, report
    assert report.records == 6
    assert not any(body in bytes_in(path.parent) for body in bodies if body)


@pytest.mark.shows("G3")
async def test_one_records_contents_are_erased(ledger: Ledger) -> None:
    await fill(ledger, 2)
    assert await erase(ledger, lambda number, _: number == 3) == (1, 1)
    assert [number for number, kept in (await contents(ledger)).items() if not kept] == [3]
    assert await erase(ledger, lambda number, _: number == 99) == (0, 0)


@pytest.mark.shows("G6", "G4")
async def test_what_is_too_old_is_removed_and_the_rest_can_still_be_verified(
    ledger: Ledger, path: Path
) -> None:
    await fill(ledger, 3)
    old, _ = await ledger.checkpoint()
    times = [event.time async for _, event in ledger.events()]
    assert await retain(ledger, since=times[2]) == 2
    assert [number async for number, _ in ledger.events()] == [3, 4, 5, 6]
    await fill(ledger, 1)
    await ledger.place()
    report = await verify(ledger, parse_notes(old))
    assert report.verdict is Verdict.SOUND, report
    assert (report.records, report.removed, report.checkpoints) == (8, 2, 1)
    assert await retain(ledger, since=times[2]) == 0


@pytest.mark.shows("G4")
async def test_records_that_were_removed_beyond_the_signed_note_are_found(ledger: Ledger, path: Path) -> None:
    await fill(ledger, 3)
    times = [event.time async for _, event in ledger.events()]
    await retain(ledger, since=times[2])
    await ledger.aclose()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM events WHERE number <= 4")
        db.execute("DELETE FROM contents WHERE number <= 4")
        db.execute(
            "UPDATE notes SET note = replace(note, char(10) || '2' || char(10), char(10) || '4' || char(10))"
        )
    report = await verify(ledger)
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
    await retain(ledger, since=times[2])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", row)
    assert [finding.what for finding in (await verify(ledger)).findings] == ["restored"]


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
        await retain(ledger, since=2)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change, ('"time":1', f'"time":{times[0]}'))
        db.execute(change, ('"ada"', '"eve"'))
    with pytest.raises(LedgerError, match="Nothing was removed"):
        await erase(ledger, lambda *_: True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change, ('"eve"', '"ada"'))
    assert (await verify(ledger)).verdict is Verdict.SOUND
    assert len([number async for number, _ in ledger.events()]) == 4


async def test_everything_can_be_too_old(ledger: Ledger) -> None:
    assert await retain(ledger, since=2**52) == 0
    await fill(ledger, 2)
    assert await retain(ledger, since=2**52) == 4
    await fill(ledger, 1)
    await ledger.place()
    assert (await verify(ledger)).verdict is Verdict.SOUND
