"""The ledger in a PostgreSQL database: in the server's own store, after a node was killed, and for the commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap

import pytest
from mcp.server.mcpserver import MCPServer
from tests.client.hosts import host
from tests.ledger.examples import ABOUT, fill
from tests.postgres import PostgresServer
from typer.testing import CliRunner

from handraise import Handraise, ask
from handraise.cli.app import app
from handraise.desks.scripted import Line
from handraise.ledger import Event, Ledger
from handraise.ledger.audit import Verdict, verify
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


def be_killed(url: str) -> None:
    code = [sys.executable, "-c", textwrap.dedent(KILLED), url, KEY]
    assert subprocess.run(code, timeout=60, check=False).returncode == -9


async def events_of(ledger: Ledger) -> list[Event]:
    return [event async for _, event in ledger.events()]


@pytest.mark.shows("G1", "G5")
async def test_what_was_in_flight_on_a_node_that_was_killed_is_ambiguous(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    be_killed(url)
    ledger = Ledger.of(PostgresStore(url, keys=[KEY]))
    settled = 0
    async with asyncio.timeout(30):
        while not settled:
            await asyncio.sleep(0.02)  # its lease may not be over yet
            settled = await ledger.start()
    assert (settled, await ledger.start()) == (1, 0)
    kinds = [(event.question, event.kind) for event in await events_of(ledger)]
    assert kinds == [("q_1", "asked"), ("q_2", "asked"), ("q_2", "decided"), ("q_1", "ambiguous")]
    await ledger.place()
    assert (await verify(ledger)).verdict is Verdict.SOUND
    await ledger.aclose()


async def test_a_question_that_can_go_on_keeps_its_node_until_it_has_an_end(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    left, here = (Ledger.of(PostgresStore(url, keys=[KEY])) for _ in range(2))
    await left.record(left.trail("q_1", ABOUT, None, until="used").decided("accept", "human"))
    await left.aclose()
    assert await here.start(lambda last: "waits") == 0
    assert await here.start() == 1
    assert [event.kind for event in await events_of(here)] == ["decided", "ambiguous"]
    await here.aclose()


@pytest.mark.shows("G5")
async def test_true_puts_the_ledger_into_the_servers_own_database(postgres: PostgresServer) -> None:
    url = postgres.new_database()
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
    report = await verify(rotated)
    assert (report.verdict, report.checkpoints) == (Verdict.SOUND, 1)
    await rotated.aclose()


@pytest.mark.shows("G6")
async def test_the_commands_read_a_ledger_in_a_database(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.new_database()
    ledger = Ledger.of(PostgresStore(url, keys=[KEY]))
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
