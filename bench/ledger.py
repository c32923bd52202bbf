"""The ledger: events on disk before anybody goes on, beside what SQLite itself can do; verification; size.

Ours is the whole way of an event: made, hashed, its key sealed, written, given its place in the authenticated tree,
synced, acknowledged. The bare group commit gets finished rows of the same size and does nothing but write and sync
them, for as many writers, in two of the same tables with the same settings. All take turns in one process.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.measure import OURS, Bench, Figure, Turn, progress

from handraise.calls.ledger_tables import Record
from handraise.ledger import (
    ClientRecord,
    EventContext,
    FieldRecord,
    Ledger,
    Principal,
    RequestRecord,
    ServerRecord,
)
from handraise.ledger.trail import ShownQuestion, Trail
from handraise.ledger.verify import LedgerVerdict
from handraise.stores import sqlite_ledger as tables

ABOUT = EventContext(
    ServerRecord("notes", "https://notes.example", "Notes 1.0"),
    Principal("https://login.example", "ada", "token"),
    RequestRecord("tools/call", "delete_note", "d" * 32),
    mode="form",
    client=ClientRecord("desk", "1.2"),
    revision="2026-07-28",
    policy="f65fde9d3c6f",
    trace="4bf92f3577b34da6a3ce929d0e0e4736",
)
SHOWN = ShownQuestion("Several notes match. Which one?", (FieldRecord("which", "choice"),), "s" * 32)

BARE, EACH = "bare SQLite, group commit", "bare SQLite, a sync for each event"
WRITERS = {1: 20, 10: 10, 100: 4}
"""How many writers, and how many questions each has in a turn: asked, then decided, one after the other."""


def run(bench: Bench) -> None:
    """Write at once, then verify many."""
    many = 1_000 if bench.quick else 100_000
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        for writers, questions in WRITERS.items():
            with _contenders(Path(folder), runner, writers, questions) as turns:
                bars = {1: {}, 10: {BARE: 4.0}, 100: {BARE: 4.0, EACH: 1 / 5}}[writers]
                title = f"an event on disk, {writers} writer{'s' if writers > 1 else ''} at once"
                bench.compare(title, turns, rounds=15, bars=bars)
        bench.state(f"a ledger of {many:,} events", runner.run(_verified(bench, Path(folder), many)))


@contextmanager
def _contenders(
    folder: Path, runner: asyncio.Runner, writers: int, questions: int
) -> Iterator[dict[str, Turn]]:
    ledger = runner.run(_opened(folder / f"ours-{writers}.db"))
    group, each = _Bare(folder / f"bare-{writers}.db", 10_000), _Bare(folder / f"each-{writers}.db", 1)

    async def ours() -> None:
        trail = _trail(ledger)
        await ledger.record(trail.asked())
        await ledger.record(trail.decided("accept", "human", content={"which": "b"}))

    def turn(question: Callable[[], Awaitable[None]]) -> Turn:
        return lambda: runner.run(_elapsed(question, writers, questions))

    trail = _trail(ledger)
    finished = trail.asked(), trail.decided("accept", "human", content={"which": "b"})
    turns = {OURS: turn(ours), BARE: turn(lambda: group.write(finished))}
    if writers == 100:
        turns[EACH] = turn(lambda: each.write(finished))
    yield turns
    group.close()
    each.close()
    runner.run(ledger.aclose())


async def _opened(path: Path) -> Ledger:
    ledger = Ledger.at(path)
    await ledger.start()
    return ledger


def _trail(ledger: Ledger) -> Trail:
    return ledger.trail(ledger.new_question(), ABOUT, SHOWN)


async def _elapsed(question: Callable[[], Awaitable[None]], writers: int, questions: int) -> float:
    async def writer() -> None:
        for _ in range(questions):
            await question()

    started = perf_counter()
    await asyncio.gather(*(writer() for _ in range(writers)))
    return (perf_counter() - started) / (writers * questions * 2)


class _Bare:
    """SQLite's own speed: a thread that commits waiting rows, at most `together` at once."""

    def __init__(self, path: Path, together: int) -> None:
        self._path, self._together = path, together
        self._waiting: list[tuple[asyncio.Future[None], Record]] = []
        self._lock = threading.Condition()
        self._number = 0
        self._open = True
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    async def write(self, records: Sequence[Record]) -> None:
        for record in records:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            with self._lock:
                self._waiting.append((done, record))
                self._lock.notify()
            await done

    def close(self) -> None:
        with self._lock:
            self._open = False
            self._lock.notify()
        self._thread.join()

    def _work(self) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")
            db.executescript(tables.SCHEMA)
            while units := self._take():
                db.execute("BEGIN IMMEDIATE")
                db.executemany(
                    "INSERT INTO events (body, question, open, writer, name, kept, mac)"
                    " VALUES (?, ?, ?, ?, '', '', x'')",
                    [(record.body, record.question, record.open, "w" * 12) for _, record in units],
                )
                db.executemany("INSERT INTO contents VALUES (?, ?, ?, ?)", self._contents(units))
                db.execute("COMMIT")
                units[0][0].get_loop().call_soon_threadsafe(_wake, [done for done, _ in units])

    def _take(self) -> list[tuple[asyncio.Future[None], Record]]:
        with self._lock:
            while self._open and not self._waiting:
                self._lock.wait()
            units, self._waiting = self._waiting[: self._together], self._waiting[self._together :]
            return units

    def _contents(self, units: list[Any]) -> Iterator[tuple[str, int, bytes, None]]:
        for _, record in units:
            for kept in record.kept:
                self._number += 1
                yield f"c_{self._number:028x}", self._number, kept.key * 2, None


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for done in waiting:
        done.set_result(None)


async def _verified(bench: Bench, folder: Path, many: int) -> list[Figure]:
    path = folder / "many.db"
    ledger = await _opened(path)
    for _ in range(many // 1000):
        trails = [_trail(ledger) for _ in range(500)]
        records = [
            record
            for trail in trails
            for record in (trail.asked(), trail.decided("accept", "human", content={"which": "b"}))
        ]
        await ledger.record(*records)
    placing = perf_counter()
    await ledger.checkpoint()
    verifying = perf_counter()
    report = await ledger.verify(progress=lambda done, every: progress(f"verified {done} of {every}"))
    ended = perf_counter()
    assert report.verdict is LedgerVerdict.SOUND, report
    assert report.records == many
    await ledger.aclose()
    return [
        Figure("places given and a checkpoint signed", verifying - placing, "s"),
        Figure("verified", ended - verifying, "s"),
        Figure("verified each second", many / (ended - verifying)),
        Figure("size of an event on disk, with all that belongs to it", path.stat().st_size / many, "bytes"),
    ]
