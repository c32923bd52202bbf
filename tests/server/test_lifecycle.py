"""How conversations end when nobody answers: deadlines, callers that leave, servers that stop."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import FileUrl
from tests.server.kitchen import EFFECTS, make_kitchen
from tests.server.peers import Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand
from tests.waiting import until

from handraise import Accepted, Expired, Failed, Handraise, NotSupported, Stale, Withdrawn, ask
from handraise.errors import StoreError, UsageError
from handraise.revisions import Revision
from handraise.server.runtime import RUNTIMES
from handraise.stores import MemoryStore, SqliteStore
from handraise.testing.made_up import a_round


def never(_params: Any) -> Any:
    return anyio.sleep(60)


@pytest.mark.shows("O2", "C8")
async def test_nobody_answering_in_time_is_expired_and_the_body_tidies_up(revision: Revision) -> None:
    EFFECTS.pop("late", None)
    arguments = {"run": "late", "timeout": 0.1}
    if revision.modern:
        async with by_hand(make_kitchen()) as rounds:
            first = await rounds.call("uncaught", arguments)
            await until(lambda: EFFECTS["late"] == ["finally"])
            retry = {"state": first["requestState"], "responses": accepted(first, confirm=True)}
            result = await rounds.call("uncaught", arguments, **retry)
            text = result["content"][0]["text"]
            assert result["isError"]
    else:
        async with connect(make_kitchen(), revision, Person(never)) as client:
            called = await client.call_tool("uncaught", arguments)
            text = text_of(called)
            assert called.is_error
    assert "did not answer in time" in text
    assert EFFECTS["late"] == ["finally"]


@pytest.mark.shows("O7")
@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_cancelling_the_call_withdraws_its_question(revision: Revision) -> None:
    """On 2026-07-28 a question ends the round, so there is no call to cancel while it is open."""
    seen: list[str] = []
    shown = anyio.Event()

    async def person(_context: Any, _params: Any) -> types.ElicitResult:
        shown.set()
        try:
            await anyio.sleep(60)
        except BaseException:
            seen.append("withdrawn")
            raise
        raise AssertionError

    EFFECTS.pop("gone", None)
    async with connect(make_kitchen(), revision, person) as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "uncaught", {"run": "gone", "timeout": 30})
            await shown.wait()
            calls.cancel_scope.cancel()
        await until(lambda: seen == ["withdrawn"])
        await until(lambda: EFFECTS["gone"] == ["finally"])


async def test_a_body_whose_caller_left_before_any_answer_is_cancelled() -> None:
    server = MCPServer("busy")
    Handraise().install(server)
    started, log = anyio.Event(), []

    @server.tool()
    async def work() -> str:
        try:
            started.set()
            await anyio.sleep(60)
        finally:
            log.append("finally")
        return ""

    async with Client(server, mode="2026-07-28") as client:
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "work")
            await started.wait()
            calls.cancel_scope.cancel()
        await until(lambda: log == ["finally"])


async def test_a_caller_that_comes_back_after_leaving_gets_its_outcome() -> None:
    server = MCPServer("lingering")
    Handraise(linger=5).install(server)
    release, working, log = anyio.Event(), anyio.Event(), []

    @server.tool()
    async def work() -> str:
        await ask.text("Go?")
        log.append("working")
        working.set()
        await release.wait()
        return "done"

    async with by_hand(server) as rounds:
        first = await rounds.call("work", {})
        retry = {"state": first["requestState"], "responses": accepted(first, answer="yes")}
        async with anyio.create_task_group() as calls:

            async def left_alone() -> None:
                await rounds.call("work", {}, **retry)

            calls.start_soon(left_alone)
            await working.wait()
            calls.cancel_scope.cancel()
        release.set()
        result = await rounds.call("work", {}, **retry)
        assert result["content"][0]["text"] == "done"
        assert log == ["working"]


async def test_a_caller_that_stays_away_ends_the_body_after_a_while() -> None:
    server = MCPServer("lonely")
    Handraise(linger=0.05).install(server)
    working, log = anyio.Event(), []

    @server.tool()
    async def work() -> str:
        await ask.text("Go?")
        try:
            working.set()
            await anyio.sleep(60)
        finally:
            log.append("finally")
        return ""

    async with by_hand(server) as rounds:
        first = await rounds.call("work", {})
        async with anyio.create_task_group() as calls:

            async def leave() -> None:
                await rounds.call(
                    "work", {}, state=first["requestState"], responses=accepted(first, answer="yes")
                )

            calls.start_soon(leave)
            await working.wait()
            calls.cancel_scope.cancel()
        await until(lambda: log == ["finally"])


@pytest.mark.shows("O2")
async def test_a_server_that_stops_withdraws_its_questions() -> None:
    server = MCPServer("stopping")
    Handraise().install(server)
    log: list[str] = []

    @server.tool()
    async def work() -> str:
        try:
            await ask.text("Go?")
        except Withdrawn:
            log.append("withdrawn")
            raise
        finally:
            log.append("finally")
        return ""

    async with by_hand(server) as rounds:
        await rounds.call("work", {})
        assert log == []
    assert log == ["withdrawn", "finally"]
    assert not [task for task in asyncio.all_tasks() if "Conversation" in repr(task)]


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
        assert not RUNTIMES[server._lowlevel_server].lot.bodies


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
        runtime = RUNTIMES[server._lowlevel_server]
        monkeypatch.setattr(runtime.lot, "close", fail)
        monkeypatch.setattr(runtime.recorder, "close", fail)
        monkeypatch.setattr(handraise.store, "aclose", close)
    assert closed == ["store"]
    assert caplog.text.count("could not be closed") == 2
    runtime.lot._upkeep.cancel()  # type: ignore[union-attr]


@pytest.mark.shows("C9")
async def test_a_server_that_starts_again_forgets_what_was_over_before(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    before = SqliteStore(path)
    await before.open_round(a_round())
    async with by_hand(asking_at(path)):
        with closing(sqlite3.connect(path)) as db:
            await until(lambda: db.execute("SELECT count(*) FROM rounds").fetchone() == (0,))
    await before.aclose()


@pytest.mark.shows("O2")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (types.METHOD_NOT_FOUND, NotSupported),
        (types.INVALID_PARAMS, NotSupported),
        (types.INTERNAL_ERROR, Failed),
        (types.CONNECTION_CLOSED, Failed),  # the client is there, and says so
        (types.REQUEST_TIMEOUT, Failed),
        (-1, Failed),
    ],
)
async def test_an_error_as_an_answer_ends_the_wait_at_once(code: int, expected: type[Exception]) -> None:
    server = MCPServer("errors")
    Handraise().install(server)

    @server.tool()
    async def work() -> str:
        try:
            await ask.text("Go?")
        except expected as error:
            return type(error).__name__
        return "answered"

    async def person(_context: Any, _params: Any) -> types.ErrorData:
        return types.ErrorData(code=code, message="no")

    for revision in (Revision.JUNE_2025, Revision.NOVEMBER_2025):
        async with connect(server, revision, person) as client:
            with anyio.fail_after(30):
                assert text_of(await client.call_tool("work")) == expected.__name__


@pytest.mark.shows("O6")
async def test_what_changed_while_the_person_thought_is_not_acted_upon(revision: Revision) -> None:
    server = MCPServer("stale")
    Handraise().install(server)
    notes = {"plans"}

    @server.tool()
    async def delete() -> str:
        def still_there() -> str | None:
            return None if "plans" in notes else "The note is gone."

        try:
            answer = await ask.confirm("Delete the note?", still=still_there)
        except Stale as changed:
            return f"stale: {changed.args[0]}"
        return "deleted" if isinstance(answer, Accepted) else "kept"

    def gone(_params: Any) -> types.ElicitResult:
        notes.clear()
        return accept(confirm=True)

    async with connect(server, revision, Person(gone)) as client:
        assert text_of(await client.call_tool("delete")) == "stale: The note is gone."
    notes.add("plans")
    async with connect(server, revision, Person(accept(confirm=True))) as client:
        assert text_of(await client.call_tool("delete")) == "deleted"


async def test_a_question_may_be_sent_first_and_waited_for_later(revision: Revision) -> None:
    server = MCPServer("early")
    Handraise().install(server)
    asked = anyio.Event()

    @server.tool()
    async def work() -> str:
        prepared = ask.text("Go?").prepare()
        assert prepared.request["params"]["message"] == "Go?"
        with anyio.fail_after(30):
            await asked.wait()
        return (await prepared).or_stop()

    def person(_params: Any) -> types.ElicitResult:
        asked.set()
        return accept(answer="went")

    async with connect(server, revision, Person(person)) as client:
        assert text_of(await client.call_tool("work")) == "went"


async def test_a_question_that_is_made_and_never_asked_is_reported() -> None:
    with pytest.warns(RuntimeWarning, match="never asked"):
        ask.text("Nobody hears this")


async def test_asking_outside_of_a_request_says_where_to_ask() -> None:
    with pytest.raises(UsageError, match="outside of a request"):
        await ask.text("Hello?")


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


async def test_a_task_that_outlives_its_call_is_told_that_it_is_over(revision: Revision) -> None:
    server, over, told = Handraise().install(MCPServer("late")), asyncio.Event(), []

    async def later() -> None:
        await over.wait()
        try:
            await ask.text("Still there?")
        except UsageError as error:
            told.append(error.args[0])

    @server.tool()
    async def work() -> str:
        tasks.append(asyncio.create_task(later()))
        return "done"

    tasks: list[asyncio.Task[None]] = []
    async with connect(server, revision, Person()) as client:
        assert text_of(await client.call_tool("work")) == "done"
        over.set()
        await tasks[0]
    assert told == ["the call that this question belongs to is over: ask before its handler returns"]


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


async def test_a_body_that_never_asks_raises_as_it_would_without_us() -> None:
    server = MCPServer("raising")
    Handraise().install(server)

    @server.tool()
    async def work() -> str:
        raise MCPError(code=-32099, message="my own")

    async with Client(server, mode="2026-07-28") as client:
        with pytest.raises(MCPError, match="my own"):
            await client.call_tool("work")


async def test_expired_can_be_caught_and_the_body_goes_on() -> None:
    server = MCPServer("patient")
    Handraise().install(server)

    @server.tool()
    async def work() -> str:
        try:
            await ask.text("Quick?", timeout=0.05)
        except Expired:
            return "went on without"
        return "answered"

    async with connect(server, Revision.NOVEMBER_2025, Person(never)) as client:
        assert text_of(await client.call_tool("work")) == "went on without"
