"""Eight hundred changes to a ledger file: nothing that changes what happened verifies as sound.

The attacker of this campaign can write to the database file, knows everything about its format and has old copies of
it. They have neither the key nor the file that ends in `.head`.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.campaigns import SEED, steps
from tests.ledger.examples import ABOUT, a_trail, fill

from handraise.calls.ledger_tables import EventColumns
from handraise.errors import StoreError
from handraise.ledger import Ledger, Principal
from handraise.ledger.events import LedgerEvent
from handraise.ledger.proof import Tree, leaf_data, leaf_hash
from handraise.ledger.verify import LedgerVerdict

SEEDS = range(SEED, SEED + steps(8))
EACH = 100

NOT_THE_LEDGER = {"rounds", "journal", "flows", "secrets", "tickets"}
"""The other tables of a store's file. They hold what waits and what is secret, not what happened: no event is read
from them, and their rows come and go. Every other table counts, also one that is added later."""

COLUMNS = "body, question, open, writer, name, kept, mac"

BOB = replace(ABOUT, principal=Principal("https://login.example", "bob", "token"))


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


class Files(NamedTuple):
    """A ledger as its owner left it, and what the attacker has of earlier days."""

    all: dict[str, bytes]
    """The database, its keys and its anchor, by the ends of their names."""
    backups: list[bytes]


async def build(folder: Path) -> Files:
    """A small ledger with everything that a ledger can have: cut and erased records, named events, checkpoints."""
    path, clock, backups = folder / "ledger.db", Clock(), list[bytes]()

    async def stage(work: Callable[[Ledger], Any]) -> None:
        ledger = Ledger.at(path, keeping="all", clock=clock)
        await work(ledger)
        await ledger.aclose()
        backups.append(path.read_bytes())

    async def named(ledger: Ledger) -> None:
        trail = ledger.trail("q_named", ABOUT, None, again=True)
        await ledger.record(trail.withdrawn("the call was cancelled"), trail.expired())

    async def prune(ledger: Ledger) -> None:
        times = [event.time async for _, event in ledger.events()]
        assert await ledger.retain(since=times[2]) == 2

    await stage(lambda ledger: fill(ledger, 2))
    await stage(lambda ledger: fill(ledger, 1, about=BOB))
    await stage(named)
    await stage(lambda ledger: ledger.erase(lambda _, event: event.about.principal == BOB.principal))
    await stage(prune)
    await stage(lambda ledger: fill(ledger, 2))
    await stage(lambda ledger: ledger.record(a_trail(ledger, 9).asked()))
    ends = ("", ".key", ".signing.key", ".head")
    return Files({end: (folder / f"ledger.db{end}").read_bytes() for end in ends}, backups[:-1])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return asyncio.run(build(tmp_path_factory.mktemp("built")))


class Attacker:
    """Changes a file at random. Every method leaves the file closed."""

    def __init__(self, path: Path, files: Files, chance: random.Random) -> None:
        self._path, self._files, self._chance = path, files, chance

    def mutate(self) -> str:
        """Do something to the file; its name."""
        whole = [
            self.restore_backup,
            self.truncate_file,
            self.damage_file,
            self.forge_index,
            self.forge_index,
        ]
        by_sql = [
            self.edit_cell,
            self.edit_cell,
            self.delete_rows,
            self.insert_copy,
            self.swap_rows,
            self.swap_cells,
            self.cut_tail,
            self.restore_tables,
            self.remove_without_gap,
            self.rebuild,
            self.erase_unsigned,
            self.show_view,
            self.add_trigger,
            self.change_indexes,
        ]
        if self._chance.random() < 0.1:
            change = self._chance.choice(whole)
            change()
            return change.__name__
        acts = self._chance.choices(by_sql, k=self._chance.choice([1, 1, 1, 2, 3]))
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = OFF")
            for act in acts:
                with suppress(
                    sqlite3.IntegrityError, sqlite3.OperationalError
                ):  # what the schema forbids is undone
                    db.execute("BEGIN")
                    act(db)
                    db.execute("COMMIT")
                if db.in_transaction:
                    db.execute("ROLLBACK")
        return " and ".join(act.__name__ for act in acts)

    # The whole file.

    def restore_backup(self) -> None:
        self._path.write_bytes(self._chance.choice(self._files.backups))

    def truncate_file(self) -> None:
        data = self._path.read_bytes()
        self._path.write_bytes(data[: self._chance.randrange(len(data))])

    def damage_file(self) -> None:
        data = bytearray(self._path.read_bytes())
        for _ in range(self._chance.choice([1, 4, 64])):
            data[self._chance.randrange(len(data))] = self._chance.randrange(256)
        self._path.write_bytes(data)

    def forge_index(self) -> None:
        """Give `events` an index that holds all columns of a query and says something else, and perhaps a true one."""
        columns = self._chance.choice(["number, body", f"number, {COLUMNS}", "number, body, question"])
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            rows = db.execute(f"SELECT number, {COLUMNS} FROM events").fetchall()
            db.execute("DROP TABLE events")
            key = self._chance.choice(["INTEGER NOT NULL", "INTEGER PRIMARY KEY"])
            db.execute(f"CREATE TABLE events (number {key}, {COLUMNS})")
            forged = [(number, _forged(body), *row) for number, body, *row in rows]
            db.executemany(f"INSERT INTO events VALUES ({', '.join('?' * len(rows[0]))})", forged)
            db.execute(f"CREATE INDEX said ON events ({columns})")
            kept = db.execute("SELECT * FROM sqlite_master WHERE name = 'said'").fetchone()
            db.execute("PRAGMA writable_schema = ON")
            db.execute("DELETE FROM sqlite_master WHERE name = 'said'")
            _reread(db)
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            db.executemany("UPDATE events SET body = ? WHERE number = ?", [(row[1], row[0]) for row in rows])
            if self._chance.random() < 0.5:
                db.execute(f"CREATE INDEX whole ON events (number, {COLUMNS})")
            db.execute("PRAGMA writable_schema = ON")
            db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", kept)
            _reread(db)

    # Cells and rows.

    def edit_cell(self, db: sqlite3.Connection) -> None:
        table, columns, row = self._row(db)
        column = self._chance.choice(columns)
        value = self._other(row[columns.index(column)], db, table, column)
        where, key = _key(table, columns, row)
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *key))

    def delete_rows(self, db: sqlite3.Connection) -> None:
        table, columns, rows = self._table(db)
        for row in self._chance.sample(rows, self._chance.choice([1, 1, 2, len(rows)]) % (len(rows) + 1)):
            where, key = _key(table, columns, row)
            db.execute(f"DELETE FROM {table} WHERE {where}", key)

    def insert_copy(self, db: sqlite3.Connection) -> None:
        table, columns, row = self._row(db)
        copy = [
            self._new_key(db, table) if name in ("number", "ref") else v
            for name, v in zip(columns, row, strict=True)
        ]
        if table == "contents":
            copy[columns.index("ref")] = f"c_{self._chance.randbytes(8).hex()}"
        if table == "events":
            copy[columns.index("name")] = self._chance.choice(["", f"e_{self._chance.randbytes(4).hex()}"])
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(copy))})", copy)

    def swap_rows(self, db: sqlite3.Connection) -> None:
        self._swap(db, lambda columns: columns[1:])

    def swap_cells(self, db: sqlite3.Connection) -> None:
        self._swap(db, lambda columns: [self._chance.choice(columns[1:])])

    # As an attacker would who knows the format.

    def cut_tail(self, db: sqlite3.Connection) -> None:
        """Remove the newest records with everything that belongs to them, and put on the head of an older day."""
        (last,) = db.execute("SELECT max(number) FROM leaves").fetchone()
        keep = self._chance.randrange(3, last) if last and last > 3 else 0
        for table in ("events", "leaves", "contents"):
            db.execute(f"DELETE FROM {table} WHERE number > ?", (keep,))
        if self._chance.random() < 0.7:
            db.execute("DELETE FROM notes WHERE number > ?", (self._chance.randrange(8),))
        self._new_head(db)

    def restore_tables(self, db: sqlite3.Connection) -> None:
        """Put the rows of an old copy in the place of the new ones, in some of the tables."""
        tables = _tables(db)
        with closing(sqlite3.connect(":memory:")) as old:
            old.deserialize(_without_wal(self._chance.choice(self._files.backups)))
            for table in self._chance.sample(tables, self._chance.randint(1, len(tables))):
                db.execute(f"DELETE FROM {table}")
                for row in old.execute(f"SELECT * FROM {table}"):
                    db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def remove_without_gap(self, db: sqlite3.Connection) -> None:
        """Remove a record, move the later ones up, and make the tree anew."""
        (last,) = db.execute("SELECT max(number) FROM events").fetchone()
        if last is None:
            return
        gone = self._chance.randrange(3, last + 1) if last > 3 else last
        for table in ("events", "contents", "leaves"):
            db.execute(f"DELETE FROM {table} WHERE number = ?", (gone,))
            later = db.execute(f"SELECT DISTINCT number FROM {table} WHERE number > ? ORDER BY 1", (gone,))
            for (number,) in later.fetchall():
                db.execute(f"UPDATE {table} SET number = number - 1 WHERE number = ?", (number,))
        self._new_head(db)

    def rebuild(self, db: sqlite3.Connection) -> None:
        """Change records and columns beside them, then make leaves, contents and head fit again, without the key."""
        for number, body in db.execute("SELECT number, body FROM events").fetchall():
            if self._chance.random() < 0.3:
                words = self._chance.choice(
                    [(b"accept", b"decline"), (b"ada", b"eve"), (b"human", b"policy")]
                )
                changed = (body.replace(*words), f"q_{number}", self._chance.randrange(2), number)
                db.execute("UPDATE events SET body = ?, question = ?, open = ? WHERE number = ?", changed)
        for number, *row in db.execute(f"SELECT number, {COLUMNS} FROM events").fetchall():
            leaf = leaf_hash(leaf_data(EventColumns(*row)))
            db.execute("UPDATE leaves SET hash = ? WHERE number = ?", (leaf, number))
        if self._chance.random() < 0.5:
            db.execute("DELETE FROM notes")
        self._new_head(db)

    def erase_unsigned(self, db: sqlite3.Connection) -> None:
        """Erase contents, and say so in a note that nobody signed."""
        refs = [ref for (ref,) in db.execute("SELECT ref FROM contents").fetchall()]
        notes = db.execute("SELECT number, note FROM notes ORDER BY number").fetchall()
        if not refs or not notes:
            return
        ref, (number, note) = self._chance.choice(refs), notes[-1]
        db.execute("DELETE FROM contents WHERE ref = ?", (ref,))
        said = note.replace("\n\n—", f"\nname {ref}\n\n—").replace("\nat ", "\nerased ")
        if self._chance.random() < 0.5:
            db.execute("UPDATE notes SET note = ? WHERE number = ?", (said, number))
        else:
            said = said.replace(f"\nnote {number} ", f"\nnote {number + 1} ")
            db.execute("INSERT INTO notes VALUES (?, ?)", (number + 1, said))
            db.execute("UPDATE head SET notes = notes + 1, last = ?", (sha256(said.encode()).digest(),))

    def show_view(self, db: sqlite3.Connection) -> None:
        """Put a view in the place of a table. It shows the same, or something else to those who sort or limit."""
        table, columns, _ = self._table(db)
        db.execute(f"ALTER TABLE {table} RENAME TO hidden")
        hide = self._chance.choice(["1", "random() % 4", f"{columns[0]} IS NOT 5"])
        db.execute(f"CREATE VIEW {table} AS SELECT {', '.join(columns)} FROM hidden WHERE {hide}")

    def add_trigger(self, db: sqlite3.Connection) -> None:
        """Change or delete rows whenever one is written."""
        table, columns, _ = self._table(db)
        act = self._chance.choice(
            [
                f"UPDATE {table} SET {columns[-1]} = x'00' WHERE {columns[0]} = 4",
                f"DELETE FROM {table}",
                "SELECT 1",
            ]
        )
        when = self._chance.choice(["INSERT", "UPDATE", "DELETE"])
        db.execute(f"CREATE TRIGGER planted AFTER {when} ON {table} BEGIN {act}; END")

    def change_indexes(self, db: sqlite3.Connection) -> None:
        """Take the index away that keeps events from being written twice, or add one."""
        table, columns, _ = self._table(db)
        if self._chance.random() < 0.5:
            db.execute("DROP INDEX IF EXISTS events_by_name")
        else:
            db.execute(f"CREATE INDEX IF NOT EXISTS planted_index ON {table} ({', '.join(columns)})")

    def _new_head(self, db: sqlite3.Connection) -> None:
        """Make the head fit the leaves, with a MAC that is wrong, old or kept."""
        leaves = [leaf for (leaf,) in db.execute("SELECT hash FROM leaves ORDER BY number")]
        tree = Tree().grown(leaves)
        (notes,) = db.execute("SELECT count(*) FROM notes").fetchone()
        db.execute("UPDATE head SET size = ?, peaks = ?", (tree.size, b"".join(tree.peaks)))
        if self._chance.random() < 0.7:
            last = db.execute("SELECT note FROM notes ORDER BY number DESC").fetchone()
            hashed = sha256(last[0].encode()).digest() if last else bytes(32)
            db.execute("UPDATE head SET notes = ?, last = ?", (notes, hashed))
        if self._chance.random() < 0.3:
            db.execute("UPDATE head SET mac = ?", (self._chance.randbytes(32),))

    # Choosing.

    def _table(self, db: sqlite3.Connection) -> tuple[str, list[str], list[tuple[Any, ...]]]:
        tables = [table for table in _tables(db) if db.execute(f"SELECT 1 FROM {table}").fetchone()]
        table = self._chance.choice(tables or ["head"])
        cursor = db.execute(f"SELECT * FROM {table}")
        return table, [column[0] for column in cursor.description], cursor.fetchall()

    def _row(self, db: sqlite3.Connection) -> tuple[str, list[str], tuple[Any, ...]]:
        table, columns, rows = self._table(db)
        if not rows:
            raise sqlite3.IntegrityError("nothing is left")
        return table, columns, self._chance.choice(rows)

    def _swap(self, db: sqlite3.Connection, chosen: Callable[[list[str]], list[str]]) -> None:
        table, columns, rows = self._table(db)
        if len(rows) < 2 or len(columns) < 2:
            return
        one, other = self._chance.sample(rows, 2)
        swapped = chosen(columns)
        setting = ", ".join(f"{column} = ?" for column in swapped)
        if table == "events":
            db.execute("DROP INDEX IF EXISTS events_by_name")  # in the way for a moment
        for row, source in ((one, other), (other, one)):
            where, key = _key(table, columns, row)
            values = [source[columns.index(column)] for column in swapped]
            db.execute(f"UPDATE {table} SET {setting} WHERE {where}", (*values, *key))

    def _new_key(self, db: sqlite3.Connection, table: str) -> int:
        (last,) = db.execute(f"SELECT max(number) FROM {table}").fetchone()
        return self._chance.choice([(last or 0) + 1, (last or 0) + 2, 1, 2, 0, -1, 2**40])

    def _other(self, value: Any, db: sqlite3.Connection, table: str, column: str) -> Any:
        """Another value for a cell; now and then the same."""
        roll = self._chance.random()
        if roll < 0.1:
            return self._chance.choice(db.execute(f"SELECT {column} FROM {table}").fetchall())[0]
        if isinstance(value, int):
            return self._chance.choice([value + 1, value - 1, 0, 1, -value, 2**53])
        if value is None or roll < 0.2:
            return None if roll < 0.05 else self._chance.choice([b"", self._chance.randbytes(20)])
        if isinstance(value, str):
            at = self._chance.randrange(len(value) + 1)
            return self._chance.choice(
                [value[:at] + "x" + value[at + 1 :], value[:at], value + " ", value.upper(), ""]
            )
        at = self._chance.randrange(len(value) or 1)
        flipped = (
            value[:at]
            + bytes(byte ^ (1 << self._chance.randrange(8)) for byte in value[at : at + 1])
            + value[at + 1 :]
        )
        return self._chance.choice(
            [flipped, flipped, value[:at], value + b"\0", self._chance.randbytes(len(value))]
        )


def _tables(db: sqlite3.Connection) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    return [name for (name,) in db.execute(query) if name not in NOT_THE_LEDGER]


def _key(table: str, columns: list[str], row: tuple[Any, ...]) -> tuple[str, list[Any]]:
    key = columns if table == "head" else columns[:1]
    return " AND ".join(f"{column} IS ?" for column in key), [row[columns.index(column)] for column in key]


def _without_wal(database: bytes) -> bytes:
    """The same database for a connection that has no file: its header says that it needs no write-ahead log."""
    return database[:18] + b"\1\1" + database[20:]


def _forged(body: bytes) -> bytes:
    return body.replace(b'"accept"', b'"decline"')


def _reread(db: sqlite3.Connection) -> None:
    """Have SQLite notice that its own table of tables was written."""
    (version,) = db.execute("PRAGMA schema_version").fetchone()
    db.execute(f"PRAGMA schema_version = {version + 1}")


async def shown(path: Path) -> list[tuple[int, LedgerEvent]]:
    """What the owner is shown, in both directions."""
    ledger = Ledger.at(path)
    try:
        return [each async for each in ledger.events()] + [each async for each in ledger.newest()]
    finally:
        await ledger.store.aclose()


def told(path: Path) -> dict[str, list[str]] | None:
    """Everything that a file tells, and its tables; None if it cannot be read."""
    try:
        with closing(sqlite3.connect(path)) as db:
            db.text_factory = bytes
            names = [
                name.decode() for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            rows = {
                name: sorted(map(repr, db.execute(f"SELECT * FROM {name}")))
                for name in names
                if name not in NOT_THE_LEDGER
            }
            return rows | {
                "schema": sorted(map(repr, db.execute("SELECT type, name, sql FROM sqlite_master")))
            }
    except (sqlite3.Error, UnicodeError):
        return None


def lay_out(files: Files, folder: Path) -> None:
    """The ledger as its owner left it, and nothing else."""
    for file in folder.iterdir():
        file.unlink()
    for end, data in files.all.items():
        (folder / f"ledger.db{end}").write_bytes(data)


async def verdict_on(path: Path) -> tuple[LedgerVerdict, object]:
    ledger = Ledger.at(path)
    try:
        report = await ledger.verify()
    except StoreError as error:
        return LedgerVerdict.BROKEN, error
    return report.verdict, report


async def go_on(path: Path) -> None:
    """The owner goes on with the ledger, and notices nothing, or gets an error."""
    ledger = Ledger.at(path)
    with suppress(StoreError):
        await fill(ledger, 1)
    with suppress(StoreError):
        await ledger.aclose()


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.shows("G4")
@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_that_changes_what_happened_verifies_as_sound(
    files: Files, tmp_path: Path, seed: int
) -> None:
    path, chance = tmp_path / "ledger.db", random.Random(seed)
    lay_out(files, tmp_path)
    original, shown_first = told(path), await shown(path)
    for at in range(EACH):
        lay_out(files, tmp_path)
        name = Attacker(path, files, chance).mutate()
        now = told(path)
        verdict, report = await verdict_on(path)
        if verdict is LedgerVerdict.SOUND:
            assert now == original, (seed, at, name, report)
            assert await shown(path) == shown_first, (seed, at, name, report)
        elif name != "damage_file":  # damage may hit what SQLite itself needs
            assert now != original, ("a false alarm", seed, at, name, report)
        if (
            _rows(now) != _rows(original) and at % 10 == 0
        ):  # a change stays one when the owner goes on writing
            await go_on(path)
            verdict, report = await verdict_on(path)
            assert verdict is not LedgerVerdict.SOUND, (seed, at, name, "and went on", report)


def _rows(tables: dict[str, list[str]] | None) -> dict[str, list[str]]:
    """Without the schema: a dropped index is made again when the file is opened."""
    return {name: rows for name, rows in (tables or {}).items() if name != "schema"}


async def test_records_that_only_a_planted_index_shows_are_found(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    lay_out(files, tmp_path)
    before = await shown(path)
    lay_out(files, tmp_path)
    Attacker(path, files, random.Random(6)).forge_index()
    verdict, report = await verdict_on(path)
    assert (verdict, await shown(path) != before) == (LedgerVerdict.BROKEN, True), report
