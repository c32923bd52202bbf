"""Our side of an installed server: it starts, stops, forgets what is over, and knows its sessions."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.mcpserver import Context, MCPServer
from pydantic import FileUrl
from tests.server.peers import Person, accept, connect, runtime_of
from tests.server.rounds import accepted, by_hand
from tests.waiting import until

from handraise import Accepted, Expired, Handraise, ask
from handraise.errors import StoreError, UsageError
from handraise.revisions import Revision
from handraise.stores import MemoryStore, SqliteStore
from handraise.testing.part_contracts import a_round


def never(_params: Any) -> Any:
    return anyio.sleep(60)


class Away(MemoryStore):
    """A store that cannot be reached for a while."""

    away = True

    async def open(self) -> None:
        if self.away:
            raise StoreError("the store is away")


def asking_at(store: Any, **options: Any) -> MCPServer:
    server = Handraise(store=store, **options).install(MCPServer("asking"))

    @server.tool()
    async def work() -> str:
        return (await ask.text("Go?")).or_stop()

    return server


async def test_a_server_that_could_not_start_can_be_started_again() -> None:
    store = Away()
    server = asking_at(store)
    for _ in range(2):
        with pytest.raises(StoreError, match="away"):
            async with by_hand(server):
                raise AssertionError
    store.away = False
    for _ in range(2):
        async with by_hand(server) as rounds:
            await rounds.call("work", {})
            assert len(store._rows) == 1
        await store.prune(float("inf"))
        assert not runtime_of(server).calls.running


async def test_a_ledger_that_cannot_start_leaves_no_store_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handraise = Handraise(store=tmp_path / "store.db", ledger=True)
    server = handraise.install(MCPServer("recorded"))
    closed: list[str] = []

    async def away(*_args: Any) -> Any:
        raise StoreError("the ledger is away")

    async def close() -> None:
        closed.append("store")

    monkeypatch.setattr(handraise.store, "aclose", close)
    with monkeypatch.context() as broken:
        broken.setattr(handraise.store.ledger, "settle_orphans", away)
        with pytest.raises(StoreError, match="away"):
            async with by_hand(server):
                raise AssertionError
    assert closed == ["store"]
    async with by_hand(server):
        pass
    assert closed == ["store", "store"]


async def test_a_server_that_stops_lets_go_of_everything_whatever_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    handraise = Handraise(store=tmp_path / "store.db", ledger=True)
    server = handraise.install(MCPServer("stopping"))
    closed: list[str] = []

    async def fail() -> None:
        raise ZeroDivisionError

    async def close() -> None:
        closed.append("store")

    async with by_hand(server):
        runtime = runtime_of(server)
        monkeypatch.setattr(runtime.calls, "close", fail)
        monkeypatch.setattr(runtime.recorder, "close", fail)
        monkeypatch.setattr(handraise.store, "aclose", close)
    assert closed == ["store"]
    assert caplog.text.count("could not be closed") == 2
    runtime.calls._upkeep.cancel()  # type: ignore[union-attr]


@pytest.mark.shows("C9")
async def test_a_server_that_starts_again_forgets_what_was_over_before(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = SqliteStore(path)
    await before.open_round(a_round())
    async with by_hand(asking_at(path)):
        with closing(sqlite3.connect(path)) as db:
            await until(lambda: db.execute("SELECT count(*) FROM rounds").fetchone() == (0,))
    await before.aclose()


async def test_a_legacy_session_of_the_authors_own_may_be_asked_outside_of_a_request(
    revision: Revision,
) -> None:
    server = MCPServer("sessions")
    Handraise().install(server)
    kept: list[Any] = []
    ids: list[object] = []

    @server.tool()
    async def keep(ctx: Context) -> str:
        kept.append(ctx.session)
        return ""

    async def person(context: Any, _params: Any) -> types.ElicitResult:
        ids.append(context.request_id)
        return accept(answer="here")

    async with connect(server, revision, person) as client:
        await client.call_tool("keep")
        if revision.modern:
            with pytest.raises(UsageError, match="needs a request that it belongs to"):
                await ask.text("Still there?", session=kept[0])
            return
        for _ in range(2):
            assert await ask.text("Still there?", session=kept[0]) == Accepted("here")
        both = {name: ask.text("Still there?", session=kept[0]) for name in ("one", "other")}
        assert await ask.all(**both) == dict.fromkeys(both, Accepted("here"))
    assert len(set(ids)) == 4


@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_client_can_be_asked_for_its_roots_and_its_model_on_a_session(revision: Revision) -> None:
    server, kept = Handraise().install(MCPServer("sessions")), []

    @server.tool()
    async def keep(ctx: Context) -> str:
        kept.append(ctx.session)
        return ""

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///notes"))])

    async def model(_context: Any, _params: Any) -> types.CreateMessageResult:
        four = types.TextContent(type="text", text="four")
        return types.CreateMessageResult(role="assistant", content=four, model="m")

    answering: dict[str, Any] = {"list_roots_callback": roots, "sampling_callback": model}
    async with connect(server, revision, Person(), **answering) as client:
        await client.call_tool("keep")
        assert [root.uri for root in await ask.roots(session=kept[0])] == ["file:///notes"]
        assert (await ask.model("Two and two?", max_tokens=5, session=kept[0])).text == "four"


async def test_a_question_on_a_session_follows_the_server_that_it_began_at() -> None:
    kept: dict[str, Any] = {}

    def keeping(name: str, **options: Any) -> MCPServer:
        server = Handraise(**options).install(MCPServer(name))

        @server.tool()
        async def keep(ctx: Context) -> str:
            kept[name] = ctx.session
            return ""

        return server

    hasty, patient = keeping("hasty", timeout=0.05), keeping("patient", timeout=60)
    for first, second in ((hasty, patient), (patient, hasty)):
        async with (
            connect(first, Revision.NOVEMBER_2025, Person(never)) as one,
            connect(second, Revision.NOVEMBER_2025, Person(never)) as other,
        ):
            for client in (one, other):
                await client.call_tool("keep")
            with pytest.raises(Expired):
                await ask.text("Still there?", session=kept["hasty"])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await ask.text("Still there?", session=kept["patient"])


async def test_a_session_that_began_at_a_server_without_handraise_is_told_so() -> None:
    others = [Handraise().install(MCPServer(name)) for name in ("one", "other")]
    server, kept = MCPServer("without"), []

    @server.tool()
    async def keep(ctx: Context) -> str:
        kept.append(ctx.session)
        return ""

    async with connect(server, Revision.NOVEMBER_2025, Person()) as client:
        await client.call_tool("keep")
        with pytest.raises(UsageError, match="no server that Handraise is installed in"):
            await ask.text("Still there?", session=kept[0])
    assert len(others) == 2


@pytest.mark.shows("C8", "C9")
async def test_nothing_is_left_behind_when_the_retry_window_is_over() -> None:
    server = MCPServer("clean")
    handraise = Handraise(retry_window=0.05)
    handraise.install(server)

    @server.tool()
    async def work() -> str:
        return (await ask.text("Go?")).or_stop()

    store: Any = handraise.store
    async with by_hand(server) as rounds:
        first = await rounds.call("work", {})
        assert len(store._rows) == 1
        await rounds.call("work", {}, state=first["requestState"], responses=accepted(first, answer="yes"))
        await until(lambda: not store._rows and not store._tokens and not store._journals)


async def test_too_many_parked_questions_are_refused_with_a_sentence() -> None:
    server = MCPServer("full")
    Handraise(max_parked=1).install(server)

    @server.tool()
    async def work() -> str:
        return (await ask.text("Go?")).or_stop()

    async with by_hand(server) as rounds:
        await rounds.call("work", {})
        second = await rounds.call("work", {})
        assert second["isError"]
        assert "Try again later" in second["content"][0]["text"]
