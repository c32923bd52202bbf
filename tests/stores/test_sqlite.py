"""The SQLite file: who can read it, what is in it, and who shares it."""

from __future__ import annotations

import ast
import asyncio
import gc
import json
import re
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.waiting import until

from handraise import stores
from handraise.calls import Flow, JournalEntry, RoundOutcome
from handraise.calls.rounds import digest
from handraise.errors import SetupError, StoreError
from handraise.stores import SqliteStore
from handraise.testing.part_contracts import ALICE, ANSWERED, CHARGED, LONG_AFTER, NOW, a_round, consume

KEYS = [b"k" * 32]

QUESTION = {"method": "elicitation/create", "params": {"message": "Is the rumour true?"}}
ANSWER = {"size": {"action": "accept", "content": {"size": "marzipan"}}}
STEP = JournalEntry("once", "look it up", "", {"found": "nougat"})
RESULT = RoundOutcome("result", {"content": [{"type": "text", "text": "It was pistachio."}]})
WORDS = (b"rumour", b"look it up", b"marzipan", b"nougat", b"pistachio")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db", keys=KEYS)
    yield store
    await store.aclose()


async def fill(store: SqliteStore, token: str = "hr1.first", call_id: str = "c1") -> None:
    """A round that was asked, answered and settled."""
    await store.open_round(
        a_round(token, call_id=call_id)._replace(questions={"size": QUESTION}, journal=(STEP,))
    )
    await store.append(call_id, [STEP._replace(key="look it up again")])
    await consume(store, token, ANSWER)
    await store.settle(token, RESULT, until=NOW + 60)


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()) if file.suffix != ".key")


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        yield db


# Who can read it.


@pytest.mark.shows("S6")
async def test_every_file_is_private_to_its_owner(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "new" / "folder" / "store.db")
    await fill(store)
    names = ("store.db", "store.db-wal", "store.db-shm", "store.db.key")
    assert modes_in(tmp_path / "new" / "folder") == dict.fromkeys(names, 0o600)
    assert modes_in(tmp_path / "new") == {"folder": 0o700}
    await store.aclose()


@pytest.mark.shows("S6")
async def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch(mode=0o644)
    store = SqliteStore(path)
    await fill(store)
    assert set(modes_in(tmp_path).values()) == {0o600}
    await store.aclose()


@pytest.mark.shows("S6")
async def test_contents_cannot_be_read_in_the_file_nor_in_the_wal(store: SqliteStore, tmp_path: Path) -> None:
    await fill(store)
    assert (tmp_path / "store.db-wal").stat().st_size > 0
    assert not [word for word in WORDS if word in bytes_in(tmp_path)]
    await store.aclose()
    assert not (tmp_path / "store.db-wal").exists()
    assert not [word for word in WORDS if word in bytes_in(tmp_path)]


@pytest.mark.shows("S6")
async def test_an_answer_of_few_possible_values_cannot_be_found_out_by_trying_them(
    store: SqliteStore, tmp_path: Path
) -> None:
    answers = [{"sure": {"action": "accept", "content": {"answer": yes}}} for yes in (True, False)]
    await store.open_round(a_round()._replace(binding=ALICE._replace(arguments=digest({"amount": 5}))))
    await consume(store, answers=answers[0])
    everything = bytes_in(tmp_path)
    for value in (*answers, {"amount": 5}):
        assert digest(value).encode() not in everything


def contents_in(folder: Path) -> list[bytes]:
    """What a round and its journal have in the file, sealed."""
    with opened(folder / "store.db") as db:
        kept = db.execute("SELECT questions, answers, outcome_value FROM rounds").fetchone()
        steps = [entry for (entry,) in db.execute("SELECT entry FROM journal")]
    assert steps
    return [*kept, *steps]


@pytest.mark.shows("S6")
async def test_contents_are_gone_from_the_files_when_the_call_is_over(
    store: SqliteStore, tmp_path: Path
) -> None:
    await fill(store)
    contents = contents_in(tmp_path)
    assert all(blob in bytes_in(tmp_path) for blob in contents)
    await store.end("c1", until=NOW + 60)
    with opened(tmp_path / "store.db") as db:
        assert db.execute("SELECT questions, answers FROM rounds").fetchall() == [(None, None)]
        assert db.execute("SELECT count(*) FROM journal").fetchone() == (0,)
    assert await store.prune(NOW + 60) == 1
    assert not [blob for blob in contents if blob in bytes_in(tmp_path)]
    with opened(tmp_path / "store.db") as db:
        for table in ("rounds", "journal", "flows"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.shows("S6")
async def test_contents_of_an_abandoned_call_are_gone_from_the_files_after_its_window(
    store: SqliteStore, tmp_path: Path
) -> None:
    await fill(store)
    contents = contents_in(tmp_path)
    assert await store.prune(NOW + 365 * 86_400) >= 1
    assert not [blob for blob in contents if blob in bytes_in(tmp_path)]


# What happens when somebody writes to it.


@pytest.mark.shows("S6")
@pytest.mark.parametrize("column", ["questions", "answers", "outcome_value", "arguments", "digest"])
async def test_what_belongs_to_one_round_cannot_be_moved_to_another(
    store: SqliteStore, tmp_path: Path, column: str
) -> None:
    async def use() -> None:
        await store.find_round("hr1.first")
        await consume(store, answers=ANSWER)

    await fill(store)
    await fill(store, "hr1.other", "c2")
    with opened(tmp_path / "store.db") as db:
        move = f"UPDATE rounds SET {column} = (SELECT {column} FROM rounds WHERE token = ?) WHERE token = ?"
        db.execute(move, ("hr1.other", "hr1.first"))
    with pytest.raises(StoreError, match="changed or moved"):
        await use()


@pytest.mark.shows("S6")
async def test_an_answer_cannot_be_put_in_the_place_of_another_thing(
    store: SqliteStore, tmp_path: Path
) -> None:
    await fill(store)
    with opened(tmp_path / "store.db") as db:
        db.execute("UPDATE rounds SET questions = answers")
    with pytest.raises(StoreError, match="changed or moved"):
        await store.find_round("hr1.first")


@pytest.mark.shows("S6")
async def test_steps_of_the_journal_cannot_change_places(store: SqliteStore, tmp_path: Path) -> None:
    await fill(store)
    with opened(tmp_path / "store.db") as db:
        db.execute("UPDATE journal SET position = 2 - position")
    with pytest.raises(StoreError, match="changed or moved"):
        await store.find_round("hr1.first")


@pytest.mark.shows("C2", "S6")
@pytest.mark.parametrize("column", ["person", "method", "target"])
async def test_a_round_cannot_be_given_to_another_person_or_call(
    store: SqliteStore, tmp_path: Path, column: str
) -> None:
    await store.open_round(a_round())
    with opened(tmp_path / "store.db") as db:
        db.execute(f"UPDATE rounds SET {column} = 'mallory'")
    stolen = ALICE._replace(**{column: "mallory"})
    with pytest.raises(StoreError, match="changed or moved"):
        await consume(store, binding=stolen)
    with opened(tmp_path / "store.db") as db:
        assert db.execute("SELECT digest FROM rounds").fetchone() == (None,)


@pytest.mark.shows("C2", "S6")
@pytest.mark.parametrize("column", ["call_id", "number", "deadline", "handler", "seed", "token"])
async def test_nothing_that_is_written_with_a_round_can_be_exchanged(
    store: SqliteStore, tmp_path: Path, column: str
) -> None:
    await store.open_round(a_round()._replace(journal=(CHARGED,)))
    other = a_round("hr1.other", call_id="c2", number=7)
    await store.open_round(other._replace(deadline=LONG_AFTER, handler="bank:pay", seed="q_8"))
    with opened(tmp_path / "store.db") as db:
        if column == "token":
            db.execute("DELETE FROM rounds WHERE token = 'hr1.first'")
        move = f"UPDATE rounds SET {column} = ? WHERE token = 'hr1.other'"
        db.execute(move, (getattr(a_round(), column),))
    token = "hr1.first" if column == "token" else "hr1.other"
    with pytest.raises(StoreError, match="changed or moved"):
        await store.find_round(token)
    with pytest.raises(StoreError, match="changed or moved"):
        await consume(store, token)


@pytest.mark.shows("S6")
async def test_a_step_cannot_be_taken_out_of_a_journal(store: SqliteStore, tmp_path: Path) -> None:
    await store.open_round(a_round()._replace(journal=(CHARGED, ANSWERED)))
    with opened(tmp_path / "store.db") as db:
        db.execute("DELETE FROM journal WHERE position = 0")
    with pytest.raises(StoreError, match="changed or moved"):
        await store.find_round("hr1.first")


@pytest.mark.shows("S6")
async def test_an_outcome_of_one_kind_cannot_be_made_another(store: SqliteStore, tmp_path: Path) -> None:
    await fill(store)
    with opened(tmp_path / "store.db") as db:
        db.execute("UPDATE rounds SET outcome = 'error'")
    with pytest.raises(StoreError, match="changed or moved"):
        await consume(store, answers=ANSWER)


# Keys.


@pytest.mark.shows("S6")
async def test_a_new_key_is_put_first_and_the_old_one_goes_when_nothing_needs_it(tmp_path: Path) -> None:
    path, old, new = tmp_path / "store.db", b"o" * 32, b"n" * 32
    before = SqliteStore(path, keys=[old])
    await before.open_round(a_round())
    await before.aclose()
    during = SqliteStore(path, keys=[new, old])
    assert await during.find_round("hr1.first") == a_round()
    assert (await consume(during)).verdict == "first"
    assert (await consume(during)).verdict == "again"
    await during.open_round(a_round("hr1.second", call_id="c2"))
    await during.aclose()
    after = SqliteStore(path, keys=[new])
    assert await after.find_round("hr1.second") == a_round("hr1.second", call_id="c2")
    with pytest.raises(StoreError, match="not in the ring"):
        await after.find_round("hr1.first")
    await after.aclose()


@pytest.mark.shows("S6")
async def test_a_process_with_the_wrong_key_uses_nothing_up(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    right, wrong = SqliteStore(path, keys=KEYS), SqliteStore(path, keys=[b"w" * 32])
    await right.open_round(a_round())
    with pytest.raises(StoreError, match="not in the ring"):
        await wrong.find_round("hr1.first")
    with pytest.raises(StoreError, match="not in the ring"):
        await consume(wrong)
    assert (await consume(right)).verdict == "first"
    await right.aclose()
    await wrong.aclose()


def test_a_key_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="token_hex"):
        SqliteStore(tmp_path / "store.db", keys=["password"])
    assert not list(tmp_path.iterdir())


# Opening.


async def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first = SqliteStore(path)
    await fill(first)
    await first.open_flow(Flow("e1", "alice", LONG_AFTER))
    await first.aclose()
    second = SqliteStore(str(path))
    again = await consume(second, answers=ANSWER)
    assert (again.verdict, again.outcome) == ("again", RESULT)
    assert await second.find_flow("e1") == Flow("e1", "alice", LONG_AFTER)
    await second.aclose()


def test_no_parameter_of_a_statement_has_a_number() -> None:
    """Python 3.12 warns when a sequence is given for `?1`, and 3.14 refuses."""
    statements = [
        node.value
        for file in Path(stores.__path__[0]).glob("sqlite*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert any("?" in statement for statement in statements)
    assert [statement for statement in statements if re.search(r"\?\d", statement)] == []


async def test_a_store_that_nobody_has_any_more_lets_go_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open_round(a_round())
    log = path.with_name("store.db-wal")
    assert log.exists()
    del store

    def is_let_go() -> bool:
        gc.collect()  # again and again: its worker may be at its last step still
        return not log.exists()  # which SQLite removes with the last connection

    await until(is_let_go)


async def test_a_store_that_was_closed_opens_again_when_it_is_used(store: SqliteStore) -> None:
    await store.open_round(a_round())
    await store.aclose()
    await store.aclose()
    assert await store.find_round("hr1.first") == a_round()


@pytest.mark.parametrize("version", [2, 99])
async def test_a_file_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    path = tmp_path / "store.db"
    with opened(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=rf"another version .*version {version}.*move the file away"):
        await SqliteStore(path, keys=KEYS).pending()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "contents", [b"no database at all, but long enough to be one" * 50, b"SQLite format 3\0" * 99]
)
async def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(contents)
    with pytest.raises(StoreError, match=r"store\.db"):
        await SqliteStore(path, keys=KEYS).pending()
    assert path.read_bytes() == contents


async def test_a_place_where_nothing_can_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "store.db", tmp_path):
        with pytest.raises(StoreError):
            await SqliteStore(path, keys=KEYS).pending()


async def test_text_that_no_database_takes_is_a_store_error(store: SqliteStore) -> None:
    with pytest.raises(StoreError):
        await store.open_round(a_round()._replace(binding=ALICE._replace(person="\ud800")))
    with pytest.raises(StoreError):
        await store.open_round(a_round()._replace(questions={"size": object()}))
    await store.open_round(a_round())


@pytest.mark.slow
def test_many_who_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    for attempt in range(6):
        path, start = tmp_path / f"{attempt}.db", threading.Barrier(8)
        failed: list[Exception] = []

        def work(
            path: Path = path, start: threading.Barrier = start, failed: list[Exception] = failed
        ) -> None:
            async def once() -> None:
                store = SqliteStore(path)
                await store.pending()
                await store.aclose()

            start.wait()
            try:
                asyncio.run(once())
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []


# Trouble with the disk.


async def test_a_lock_that_is_held_for_too_long_is_a_store_error_and_passes(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.open_round(a_round())
    assert store.database._opened is not None
    store.database._opened[0].execute("PRAGMA busy_timeout = 50")
    with opened(tmp_path / "store.db") as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            await consume(store)
        assert await store.find_round("hr1.first") == a_round()
        db.execute("ROLLBACK")
    assert (await consume(store)).verdict == "first"


@pytest.mark.parametrize("statement", ["COMMIT", "UPDATE rounds"])
async def test_a_write_that_fails_half_way_leaves_nothing_and_the_next_one_works(
    store: SqliteStore, statement: str
) -> None:
    await store.open_round(a_round())
    assert store.database._opened is not None
    db, sealer = store.database._opened

    class Failing:
        """The connection, until the disk fails once."""

        def __init__(self) -> None:
            self.failed = False

        def __getattr__(self, name: str) -> Any:
            return getattr(db, name)

        def execute(self, sql: str, *args: Any) -> Any:
            if sql.startswith(statement) and not self.failed:
                self.failed = True
                raise sqlite3.OperationalError("disk I/O error")
            return db.execute(sql, *args)

    store.database._opened = (Failing(), sealer)  # type: ignore[assignment]
    with pytest.raises(StoreError, match="disk I/O error"):
        await consume(store)
    assert (await consume(store)).verdict == "first"


FULL_DISK = """
    import asyncio, resource, signal, sys
    from handraise.errors import StoreError
    from handraise.stores import SqliteStore
    from handraise.testing.part_contracts import a_round, consume

    async def main(path):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = SqliteStore(path, keys=[b"k" * 32])
        await store.open_round(a_round())
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, hard))
        failed = 0
        for at in range(20):
            large = a_round(f"hr1.{at}", call_id=f"c{at}")._replace(questions={"size": "x" * 20_000})
            try:
                await store.open_round(large)
            except StoreError:
                failed += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert failed == 20, failed
        assert len(await store.pending()) == 1
        assert (await consume(store)).verdict == "first"
        await store.open_round(large)
        await store.aclose()
        print("fine")

    asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_full_disk_is_a_store_error_and_what_was_kept_before_is_still_there(tmp_path: Path) -> None:
    out, err = _start(FULL_DISK, str(tmp_path / "store.db")).communicate(timeout=60)
    assert (out, err) == ("fine\n", "")


# Several processes.

CONSUMER = """
    import asyncio, json, pathlib, sys, time
    from handraise.stores import SqliteStore
    from handraise.testing.part_contracts import consume

    async def main(path, go, count, own):
        store, verdicts = SqliteStore(path), []
        await store.pending()
        print("ready", flush=True)
        while not pathlib.Path(go).exists():
            time.sleep(0.001)
        for kind, size in (("same", "large"), ("own", own)):
            for at in range(count):
                verdicts.append((await consume(store, f"hr1.{kind}.{at}", {"size": size})).verdict)
        print(json.dumps(verdicts))
        await store.aclose()

    asyncio.run(main(*json.loads(sys.argv[1])))
"""


@pytest.mark.slow
@pytest.mark.shows("C3", "X1")
async def test_of_several_processes_one_consumes_each_round(tmp_path: Path) -> None:
    """The others with the same answers learn that they came before, those with answers of their own are refused."""
    path, go, count = tmp_path / "store.db", tmp_path / "go", 20
    store = SqliteStore(path)
    for name in [f"{kind}.{at}" for kind in ("same", "own") for at in range(count)]:
        await store.open_round(a_round(f"hr1.{name}", call_id=name))
    consumers = [_start(CONSUMER, json.dumps([str(path), str(go), count, own])) for own in "abc"]
    for consumer in consumers:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == "ready\n"
    go.touch()
    verdicts = [json.loads(consumer.communicate(timeout=60)[0]) for consumer in consumers]
    taken = [sorted(each) for each in zip(*verdicts, strict=True)]
    assert taken == [["again", "again", "first"]] * count + [["first", "refused", "refused"]] * count
    await store.aclose()


async def test_what_one_process_writes_the_other_sees(tmp_path: Path) -> None:
    here, there = SqliteStore(tmp_path / "store.db"), SqliteStore(tmp_path / "store.db")
    await here.open_round(a_round())
    assert await there.find_round("hr1.first") == a_round()
    await consume(there)
    assert (await consume(here)).verdict == "again"
    assert not await here.close_round("hr1.first")
    await there.settle("hr1.first", RESULT, until=NOW + 60)
    assert (await consume(here)).outcome == RESULT
    await here.open_flow(Flow("e1", "alice", LONG_AFTER))
    assert await there.complete_flow("e1", person="alice", now=NOW)
    assert (await here.find_flow("e1")) == Flow("e1", "alice", LONG_AFTER, completed=True)
    await here.aclose()
    await there.aclose()


KILLED = """
    import asyncio, os, signal, sys
    from handraise.stores import SqliteStore
    from handraise.testing.part_contracts import a_round, consume, CHARGED

    async def main(path):
        store = SqliteStore(path)
        await store.open_round(a_round())
        await store.append("c1", [CHARGED])
        await consume(store)
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.shows("C6")
async def test_what_was_written_is_there_after_kill_9(tmp_path: Path) -> None:
    killed = _start(KILLED, str(tmp_path / "store.db"))
    killed.communicate(timeout=60)
    assert killed.returncode == -9
    store = SqliteStore(tmp_path / "store.db")
    found = await store.find_round("hr1.first")
    assert found is not None
    assert [entry.key for entry in found.journal] == ["charge", "size"]
    assert (await consume(store)).verdict == "again"
    await store.aclose()


def _start(code: str, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.shows("S6")
@pytest.mark.parametrize(
    "change", ["completed = 1", "deadline = deadline + 60", "person = 'eve'", "elicitation_id = 'e2'"]
)
async def test_a_link_is_not_finished_prolonged_or_given_away_by_who_writes_to_the_file(
    tmp_path: Path, change: str
) -> None:
    """Somebody without the key could otherwise say that a payment was made."""
    store = SqliteStore(tmp_path / "store.db", keys=KEYS)
    await store.open_flow(Flow("e1", "alice", LONG_AFTER))
    await store.database.write(lambda db, _: db.execute(f"UPDATE flows SET {change}"))
    changed = "e2" if "e2" in change else "e1"
    with pytest.raises(StoreError, match="changed"):
        await store.find_flow(changed)
    for person in ("alice", "eve"):
        with pytest.raises(StoreError, match="changed"):
            await store.complete_flow(changed, person=person, now=NOW)
    await store.aclose()


def churn(db: sqlite3.Connection) -> set[str]:
    """Write and delete many contents of all sizes; the references of those that stay."""
    random, refs = Random(1), list[str]()
    for at in range(4000):
        if refs and random.random() < 0.35:
            db.execute("DELETE FROM contents WHERE ref = ?", (refs.pop(random.randrange(len(refs))),))
        else:
            refs.append(random.randbytes(8).hex())
            body = f"mark {refs[-1]}.".encode() + random.randbytes(random.choice([0, 50, 300, 2000, 9000]))
            db.execute("INSERT INTO contents VALUES (?, ?, ?, ?)", (refs[-1], at, random.randbytes(60), body))
    for ref in refs[:-100]:
        db.execute("DELETE FROM contents WHERE ref = ?", (ref,))
    return set(refs[-100:])


@pytest.mark.shows("G4b")
async def test_nothing_that_was_deleted_is_left_in_free_space(tmp_path: Path) -> None:
    """SQLite's secure_delete overwrites a deleted row, but not copies of it from when pages were rearranged."""
    store = SqliteStore(tmp_path / "store.db", keys=KEYS)
    kept = await store.database.write(lambda db, _: churn(db))
    assert await store.ledger.purge() is None
    found = re.findall(rb"mark ([0-9a-f]{16})\.", bytes_in(tmp_path))
    assert {ref.decode() for ref in found} == kept
    await store.aclose()
