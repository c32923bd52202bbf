"""The ledger in a PostgreSQL database: in the server's own store, after a node was killed, and for the commands."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from mcp.server.mcpserver import MCPServer
from tests.client.hosts import host
from tests.ledger.examples import ABOUT, a_trail, fill
from typer.testing import CliRunner

from handraise import Handraise, ask
from handraise.cli.app import app
from handraise.desks.scripted import Line
from handraise.errors import StoreError
from handraise.ledger import Ledger, LedgerEvent
from handraise.ledger.proof import parse_notes
from handraise.ledger.verify import LedgerVerdict
from handraise.revisions import Revision
from handraise.stores.postgres import PostgresStore

pytestmark = pytest.mark.stranger
KEY = "k" * 32

KILLED = """
    import asyncio, os, signal, sys
    from handraise.ledger import Ledger
    from handraise.stores.postgres import PostgresStore
    from tests.ledger.examples import a_trail

    async def main(url, key):
        ledger = Ledger.of(PostgresStore(url, keys=[key], lease=0.2))
        one, other = a_trail(ledger, 1), a_trail(ledger, 2)
        await ledger.record(one.asked(), other.asked())
        await ledger.record(other.decided("accept", "human", content={"which": "b"}))
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[Ledger]:
    made = Ledger.of(PostgresStore(url, keys=[KEY]))
    yield made
    await made.store.aclose()


def be_killed(url: str) -> None:
    code = [sys.executable, "-c", textwrap.dedent(KILLED), url, KEY]
    assert subprocess.run(code, timeout=60, check=False).returncode == -9


async def events_of(ledger: Ledger) -> list[LedgerEvent]:
    return [event async for _, event in ledger.events()]


@pytest.mark.shows("G1", "G5")
async def test_what_was_in_flight_on_a_node_that_was_killed_is_ambiguous(url: str) -> None:
    be_killed(url)
    ledger = Ledger.of(PostgresStore(url, keys=[KEY]))
    settled = 0
    async with asyncio.timeout(60):
        while not settled:
            await asyncio.sleep(0.02)  # its lease may not be over yet
            settled = await ledger.start()
    assert (settled, await ledger.start()) == (1, 0)
    kinds = [(event.question, event.kind) for event in await events_of(ledger)]
    assert kinds == [("q_1", "asked"), ("q_2", "asked"), ("q_2", "decided"), ("q_1", "ambiguous")]
    await ledger.place()
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    await ledger.aclose()


async def test_a_question_that_can_go_on_keeps_its_node_until_it_has_an_end(url: str) -> None:
    left, here = (Ledger.of(PostgresStore(url, keys=[KEY])) for _ in range(2))
    await left.record(left.trail("q_1", ABOUT, None, until="used").decided("accept", "human"))
    await left.aclose()
    assert await here.start(lambda last: "waits") == 0
    assert await here.start() == 1
    assert [event.kind for event in await events_of(here)] == ["decided", "ambiguous"]
    await here.aclose()


@pytest.mark.shows("G5")
async def test_true_puts_the_ledger_into_the_servers_own_database(url: str) -> None:
    handraise = Handraise(store=url, keys=[KEY], ledger=True)
    server = handraise.install(MCPServer("notes"))

    @server.tool()
    async def greet() -> str:
        return str((await ask.text("Who are you?")).or_stop())

    async with host(server, Revision.JULY_2026, [Line("accept", {"answer": "Ada"})]) as here:
        await here.client.call_tool("greet")
    await handraise.store.aclose()
    rotated = Ledger.of(PostgresStore(url, keys=["n" * 32, KEY]))
    assert [event.kind for event in await events_of(rotated)] == ["asked", "decided", "used"]
    report = await rotated.verify()
    assert (report.verdict, report.checkpoints) == (LedgerVerdict.SOUND, 1)
    await rotated.aclose()


NOT_THE_LEDGER = {
    "flows", "journal", "nodes", "rounds", "secrets", "tickets", "version",
}  # fmt: skip
"""The other tables of a store. They hold what waits, what is secret and who lives, not what happened."""
ANOTHER = {
    "bigint": "{0} + 1000",
    "text": "{0} || 'x'",
    "bytea": "{0} || '\\x00'",
    "boolean": "NOT {0}",
}


def change(url: str, *statements: str) -> None:
    """What somebody does who can write to the database."""
    with psycopg.connect(url, autocommit=True, options="-c search_path=handraise") as db:
        for statement in statements:
            db.execute(statement.encode())


def columns_of(url: str) -> dict[str, dict[str, str]]:
    """The columns of the ledger's tables, with their types."""
    query = "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'handraise'"
    found: dict[str, dict[str, str]] = {}
    with psycopg.connect(url) as db:
        for table, column, kind in db.execute(query).fetchall():
            if table not in NOT_THE_LEDGER:
                found.setdefault(table, {})[column] = kind
    return found


def some_row(table: str, order: str) -> str:
    return f"ctid = (SELECT ctid FROM {table} ORDER BY {'size' if table == 'head' else '1'} {order} LIMIT 1)"


def changes_of(columns: dict[str, dict[str, str]]) -> Iterator[str]:
    for table, kinds in columns.items():
        for order in ("ASC", "DESC"):
            yield f"DELETE FROM {table} WHERE {some_row(table, order)}"
            for column, kind in kinds.items():
                if (table, column) != ("head", "single"):  # says only that there is one row
                    another = ANOTHER[kind].format(column)
                    yield f"UPDATE {table} SET {column} = {another} WHERE {some_row(table, order)}"
    yield "INSERT INTO leaves SELECT number + 1, hash FROM leaves ORDER BY number DESC LIMIT 1"
    yield "INSERT INTO notes SELECT number + 1, note FROM notes ORDER BY number DESC LIMIT 1"
    yield "INSERT INTO contents SELECT 'c_0', event, key, body FROM contents LIMIT 1"
    yield (
        "INSERT INTO events (id, number, body, question, open, writer, kept, mac)"
        " SELECT '\\x00', number + 1, body, question, open, writer, '', mac FROM events ORDER BY number DESC LIMIT 1"
    )
    yield "DELETE FROM leaves; DELETE FROM notes; UPDATE head SET size = 0, peaks = '', notes = 0, last = '', mac = ''"


@pytest.mark.shows("G4")
async def test_every_change_to_a_ledger_in_a_database_is_found(url: str) -> None:
    ledger = Ledger.of(PostgresStore(url, keys=[KEY]), keeping="all")
    await fill(ledger, 4)
    await ledger.place()
    times = [event.time async for _, event in ledger.events()]
    assert await ledger.retain(since=times[2]) in (1, 2)
    assert await ledger.erase(lambda number, _: number == 5) == (1, 1)
    await ledger.aclose()
    change(
        url, "ALTER TABLE events ALTER COLUMN arrival SET GENERATED BY DEFAULT"
    )  # or it cannot be changed at all
    tables = columns_of(url)
    assert tables.keys() == {"events", "leaves", "head", "contents", "notes"}
    change(url, "CREATE SCHEMA saved", *(f"CREATE TABLE saved.{table} AS TABLE {table}" for table in tables))
    back = [
        f"DELETE FROM {table}; INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE saved.{table}"
        for table in tables
    ]
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    for made in changes_of(tables):
        change(url, made)
        report = await ledger.verify()
        assert report.verdict is LedgerVerdict.BROKEN, (made, report)
        change(url, *back)
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    change(url, "DROP SCHEMA saved CASCADE")
    await ledger.store.aclose()


@pytest.mark.shows("G4")
@pytest.mark.parametrize(
    "made",
    [
        "ALTER TABLE notes RENAME TO hidden; CREATE VIEW notes AS TABLE hidden",
        "CREATE TABLE more () INHERITS (leaves)",
        "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
        "CREATE RULE planted AS ON INSERT TO contents DO INSTEAD NOTHING",
    ],
)
async def test_a_table_that_is_not_ours_is_found(url: str, ledger: Ledger, made: str) -> None:
    await fill(ledger, 1)
    await ledger.place()
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    change(url, made)
    report = await ledger.verify()
    assert report.verdict is LedgerVerdict.BROKEN
    assert "is not the one that Handraise made" in report.findings[0].sentence


@pytest.mark.shows("G4")
async def test_an_event_that_waits_for_its_place_cannot_be_changed_or_added(url: str, ledger: Ledger) -> None:
    await fill(ledger, 1)
    await ledger.place()
    await ledger.tables.record([a_trail(ledger, 2).asked()])
    report = await ledger.verify()
    assert (report.verdict, report.records, report.waiting) == (LedgerVerdict.SOUND, 2, 1)
    for made, undone in (
        ("question = 'q_other'", "question = 'q_2'"),
        ("open = NOT open", "open = NOT open"),
        ("body = body || ' '", "body = substring(body FROM 1 FOR length(body) - 1)"),
    ):
        change(url, f"UPDATE events SET {made} WHERE number IS NULL")
        assert (await ledger.verify()).verdict is LedgerVerdict.BROKEN
        with pytest.raises(StoreError, match="not written with the ledger's key"):
            await ledger.place()
        change(url, f"UPDATE events SET {undone} WHERE number IS NULL")
    copy = "SELECT '\\x00'::bytea, body, question, open, writer, kept, mac FROM events WHERE number = 1"
    change(url, f"INSERT INTO events (id, body, question, open, writer, kept, mac) {copy}")
    assert (await ledger.verify()).verdict is LedgerVerdict.BROKEN


@pytest.mark.shows("G4")
async def test_an_event_that_is_removed_before_it_has_a_place_is_missed_by_its_node(
    url: str,
    ledger: Ledger,
) -> None:
    await fill(ledger, 1)
    await ledger.place()
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    await ledger.tables.record([a_trail(ledger, 2).asked()])
    change(
        url,
        "DELETE FROM events WHERE number IS NULL",
        "DELETE FROM contents WHERE event NOT IN (SELECT id FROM events)",
    )
    await ledger.place()
    (finding,) = (await ledger.verify()).findings
    assert finding.sentence.startswith("1 events were removed before they had a place, as of")
    await ledger.place()
    assert len(await ledger.tables.notes()) == 1  # it says so once


_SWALLOWING = (
    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN DELETE FROM handraise.events WHERE arrival = NEW.arrival; RETURN NULL; END'",
    "CREATE TRIGGER planted AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION undo()",
    "CREATE TRIGGER planted BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION nothing()",
    "CREATE TRIGGER planted BEFORE UPDATE ON head FOR EACH ROW EXECUTE FUNCTION nothing()",
)


@pytest.mark.shows("G4")
async def test_an_event_that_triggers_swallowed_is_missed_when_they_are_gone(
    url: str,
    ledger: Ledger,
) -> None:
    await fill(ledger, 1)
    await ledger.place()
    change(url, *_SWALLOWING)
    await ledger.tables.record([a_trail(ledger, 2).asked()])
    with pytest.raises(StoreError, match="is not the one that Handraise made"):
        await ledger.place()
    change(url, *(f"DROP TRIGGER planted ON {table}" for table in ("events", "notes", "head")))
    await ledger.place()
    (finding,) = (await ledger.verify()).findings
    assert finding.sentence.startswith("1 events were removed before they had a place, as of")


async def test_events_that_retention_removed_on_another_node_are_not_missed(url: str) -> None:
    one, other = (Ledger.of(PostgresStore(url, keys=[KEY])) for _ in range(2))
    await one.tables.record([a_trail(one, 1).asked()])
    assert await other.retain(since=2**52) == 1
    await one.place()
    report = await one.verify()
    assert (report.verdict, report.removed) == (LedgerVerdict.SOUND, 1), report
    await one.store.aclose()
    await other.store.aclose()


@pytest.mark.shows("G4", "G5")
async def test_nobody_keeps_an_event_out_by_adding_one_of_its_id(url: str, ledger: Ledger) -> None:
    await fill(ledger, 1)
    decided = ledger.trail("q_9", ABOUT, None, again=True).decided("accept", "human")
    await ledger.record(decided)
    await ledger.record(decided)  # while it waits
    await ledger.place()
    await ledger.record(decided)  # in its place
    assert (await ledger.verify()).records == 3
    later = ledger.trail("q_10", ABOUT, None, again=True).decided("accept", "human")
    copy = "SELECT %s, body, question, open, writer, kept, mac FROM events WHERE number = 3"
    with psycopg.connect(url, autocommit=True, options="-c search_path=handraise") as db:
        taken = hashlib.sha256(later.once.encode()).digest()[:16]
        db.execute(
            f"INSERT INTO events (id, body, question, open, writer, kept, mac) {copy}".encode(), (taken,)
        )
    with pytest.raises(StoreError, match="not written with the ledger's key"):
        await ledger.record(later)


@pytest.mark.shows("G4")
async def test_a_tree_that_was_removed_is_not_made_anew_over_fewer_events(url: str, ledger: Ledger) -> None:
    await fill(ledger, 2)
    await ledger.place()
    await ledger.store.aclose()
    change(
        url,
        "DELETE FROM events WHERE number > 2",
        "DELETE FROM contents WHERE event NOT IN (SELECT id FROM events)",
        "DELETE FROM leaves; DELETE FROM notes; UPDATE events SET number = NULL",
        "UPDATE head SET size = 0, peaks = '', notes = 0, last = '', mac = ''",
    )
    later = Ledger.of(PostgresStore(url, keys=[KEY]))
    with pytest.raises(StoreError, match="not written with the ledger's key"):
        await later.place()
    assert (await later.verify()).verdict is LedgerVerdict.BROKEN
    await later.store.aclose()


@pytest.mark.shows("G4")
async def test_a_node_that_lives_writes_nothing_on_top_of_a_database_that_was_put_back(
    url: str,
    ledger: Ledger,
) -> None:
    await fill(ledger, 1)
    await ledger.place()
    change(url, "CREATE SCHEMA saved", "CREATE TABLE saved.head AS TABLE head")
    await fill(ledger, 1)
    await ledger.place()
    note, _ = await ledger.checkpoint()
    change(
        url,
        "DELETE FROM events WHERE number > 2",
        "DELETE FROM leaves WHERE number > 2",
        "DELETE FROM contents WHERE event NOT IN (SELECT id FROM events)",
        "DELETE FROM notes",
        "DELETE FROM head; INSERT INTO head TABLE saved.head",
    )
    with pytest.raises(StoreError, match="it has 2 records and had 4"):
        await ledger.checkpoint()
    assert (
        await ledger.verify()
    ).verdict is LedgerVerdict.SOUND  # by its key alone; so keep a checkpoint elsewhere
    assert (await ledger.verify(parse_notes(note))).verdict is LedgerVerdict.BROKEN


@pytest.mark.shows("G6")
async def test_the_commands_read_a_ledger_in_a_database(
    url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(ledger, 2)
    await ledger.aclose()
    monkeypatch.setenv("HANDRAISE_STORE_KEYS", KEY)

    def handraise(*words: str) -> str:
        return CliRunner().invoke(app, ["ledger", *words, "--ledger", url]).output

    shown = await asyncio.to_thread(handraise, "show", "--json")
    assert [json.loads(line)["number"] for line in shown.splitlines()] == [1, 2, 3, 4]
    assert (await asyncio.to_thread(handraise, "verify")).startswith(
        "Sound: 4 records, 1 signed checkpoint agrees"
    )
    assert len((await asyncio.to_thread(handraise, "export", "--format", "csv")).splitlines()) == 5


@pytest.mark.shows("G4b")
async def test_erasing_says_what_a_database_keeps_outside_of_its_tables(
    url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(ledger, 1)
    await ledger.aclose()
    monkeypatch.setenv("HANDRAISE_STORE_KEYS", KEY)
    for words, told in (
        (["erase", "--record", "1"], "1 event; 1 content erased."),
        (["retain", "--older-than", "0s"], "2 events removed."),
    ):
        command = ["ledger", *words, "--ledger", url]
        done = await asyncio.to_thread(CliRunner().invoke, app, command)
        assert (done.exit_code, done.stdout.strip()) == (0, told)
        assert "still on the disk in PostgreSQL's write-ahead log" in done.stderr
