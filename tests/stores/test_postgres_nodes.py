"""Several nodes on one PostgreSQL: a call goes on where its handler is, and elsewhere when that node is gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from tests.calls.bare_server import BareServer, Log, ask, one_question, two_questions, within
from tests.postgres import PostgresServer
from tests.stores.conftest import Nodes
from tests.waiting import until

from handraise import Handraise
from handraise.calls import Call
from handraise.errors import NotReplayable, StateRefused, StoreError
from handraise.sdk.private import lowlevel_server
from handraise.testing.part_contracts import a_round, consume

pytestmark = [pytest.mark.stranger, pytest.mark.anyio]


@pytest.mark.shows("X2")
async def test_a_question_asked_on_one_node_is_answered_on_another_and_goes_on_where_its_handler_is(
    node: Nodes,
    serve: type[BareServer],
) -> None:
    here, there = serve(two_questions(Log()), node()), serve(two_questions(Log()), node())
    first = await within(here.call())
    second = await within(there.retry(first, {"name": "Ada"}))
    assert second["requestState"] in here.calls.live
    assert not there.calls.live
    end = await within(there.retry(second, {"size": 4}))
    assert (
        end == await within(here.retry(second, {"size": 4})) == await within(there.retry(second, {"size": 4}))
    )
    for server in (here, there):
        with pytest.raises(StateRefused):
            await within(server.retry(second, {"size": 5}))


@pytest.mark.shows("X2", "C3")
async def test_of_the_same_answer_on_both_nodes_at_once_the_handler_sees_one(
    node: Nodes, serve: type[BareServer]
) -> None:
    seen: list[Any] = []

    async def tool(call: Call) -> Any:
        seen.append(await ask(call, "name"))
        return seen[-1]

    here, there = serve(tool, node()), serve(tool, node())
    for at in range(10):
        first = await within(here.call())
        got = await within(
            asyncio.gather(*(server.retry(first, {"name": at}) for server in (here, there) * 4))
        )
        assert got == [at] * 8
    assert seen == list(range(10))


@pytest.mark.shows("X2")
async def test_an_answer_wakes_its_handler_elsewhere_without_the_poller(
    node: Nodes, serve: type[BareServer]
) -> None:
    here, there = serve(one_question(Log()), node(poll=60.0)), serve(one_question(Log()), node(poll=60.0))
    first = await within(here.call())
    async with asyncio.timeout(20):
        assert await there.retry(first, {"name": "Ada"}) == await here.retry(first, {"name": "Ada"})


@pytest.mark.shows("X2")
async def test_an_answer_wakes_its_handler_elsewhere_without_hints(
    node: Nodes, serve: type[BareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.stores.postgres_nodes.WakeUps.give", lambda *_: None)
    here, there = serve(one_question(Log()), node()), serve(one_question(Log()), node())
    first = await within(here.call())
    async with asyncio.timeout(40):
        assert await there.retry(first, {"name": "Ada"}) == await here.retry(first, {"name": "Ada"})


@pytest.mark.shows("X2")
async def test_when_a_node_leaves_another_replays_what_may_run_again(
    node: Nodes, serve: type[BareServer]
) -> None:
    left = node()
    here, there = (
        serve(two_questions(Log()), left, replayable=True),
        serve(two_questions(Log()), node(), replayable=True),
    )
    first = await within(here.call())
    await left.aclose()
    second = await within(there.retry(first, {"name": "Ada"}))
    assert second["requestState"] in there.calls.live


@pytest.mark.shows("X2")
async def test_a_server_that_stops_says_that_its_node_leaves_once_no_other_server_is_on_it(
    node: Nodes,
) -> None:
    other = node()
    await other.open()
    handraise = Handraise(store=other.database.url, keys=[b"k" * 32])
    first, second = (lowlevel_server(handraise.install(MCPServer(name))) for name in "ab")
    async with first.lifespan(first):
        async with second.lifespan(second):
            await handraise.store.open_round(a_round())
        assert await other.node.others() == 1
    assert await other.node.others() == 0


@pytest.mark.shows("X2")
async def test_what_may_not_run_again_gets_a_clear_error_when_its_node_is_gone(
    node: Nodes, serve: type[BareServer]
) -> None:
    left = node()
    here, there = serve(one_question(Log()), left), serve(one_question(Log()), node())
    first = await within(here.call())
    await left.aclose()
    with pytest.raises(NotReplayable):
        await within(there.retry(first, {"name": "Ada"}))


@pytest.mark.shows("X2")
async def test_a_round_whose_handler_was_ended_is_replayed_on_any_node(
    node: Nodes, serve: type[BareServer]
) -> None:
    options: Any = {"replayable": True, "forget_handlers": True}
    here, there = (
        serve(two_questions(Log()), node(), **options),
        serve(two_questions(Log()), node(), **options),
    )
    first = await within(here.call())
    await until(lambda: here.is_empty)
    second = await within(there.retry(first, {"name": "Ada"}))
    assert await within(here.retry(second, {"size": 4})) is not None


@pytest.mark.shows("X2")
async def test_the_clock_of_every_node_is_the_databases(node: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node whose own clock is an hour ahead would take over, at once, what others are at work on."""
    import time

    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + 3600.0)
    ahead = node()
    await ahead.open()
    assert abs(ahead.now() - right()) < 5.0


async def test_nodes_that_start_at_once_make_the_schema_once(node: Nodes) -> None:
    nodes = [node() for _ in range(8)]
    assert await asyncio.gather(*(store.pending() for store in nodes)) == [[]] * 8


@pytest.mark.parametrize("version", [4, 99])
async def test_a_database_of_another_version_is_refused_and_left_as_it_is(node: Nodes, version: int) -> None:
    store = node()
    await store.open_round(a_round("hr1.kept"))
    await store.database.change("UPDATE version SET step = %s", (version,))
    with pytest.raises(
        StoreError, match=rf"another version .*version {version}.*give this one another database"
    ):
        await node().pending()
    assert await store.database.all("SELECT step FROM version") == [(version,)]
    assert await store.database.all("SELECT token FROM rounds") == [("hr1.kept",)]


# The key is changed while nodes run.


@pytest.mark.shows("X2")
async def test_a_key_is_changed_node_by_node_and_every_node_understands_every_other_meanwhile(
    node: Nodes,
) -> None:
    old, new = b"o" * 32, b"n" * 32
    for number, rings in enumerate([([old], [old, new]), ([old, new], [new, old]), ([new, old], [new])]):
        nodes = [node(keys=ring) for ring in rings]
        for at, (one, other) in enumerate([nodes, nodes[::-1]]):
            token = f"hr1.{number}.{at}"
            await one.open_round(a_round(token, call_id=token))
            assert (await consume(other, token)).verdict == "first"
            assert (await consume(one, token)).verdict == "again"
    with pytest.raises(StoreError, match="not in the ring"):
        await nodes[1].find_round("hr1.0.0")


# The database goes away.


@pytest.mark.shows("X2")
async def test_connections_that_are_cut_are_made_again_and_nothing_happens_twice(
    node: Nodes, postgres: PostgresServer
) -> None:
    store = node()
    for at in range(5):
        await store.open_round(a_round(f"hr1.{at}", call_id=f"c{at}"))
        postgres.cut_connections()
        assert (await consume(store, f"hr1.{at}")).verdict == "first"
        postgres.cut_connections()
        assert (await consume(store, f"hr1.{at}")).verdict == "again"


@pytest.mark.shows("X2")
@pytest.mark.slow
async def test_while_the_database_restarts_requests_wait_and_handlers_go_on_afterwards(
    node: Nodes, serve: type[BareServer], postgres: PostgresServer
) -> None:
    here, there = serve(two_questions(Log()), node()), serve(two_questions(Log()), node())
    first = await within(here.call())
    postgres.crash()
    try:
        retry = asyncio.ensure_future(there.retry(first, {"name": "Ada"}))
        await asyncio.sleep(0.1)
        assert not retry.done()
    finally:
        await asyncio.to_thread(postgres.start)
    second = await within(retry)
    assert second["requestState"] in here.calls.live


@pytest.mark.shows("X2")
@pytest.mark.slow
async def test_a_database_that_was_away_for_longer_than_a_lease_leaves_every_handler_to_its_node(
    node: Nodes, serve: type[BareServer], postgres: PostgresServer
) -> None:
    """Nobody could say that they live meanwhile: taken for dead, they would lose their calls, or share them."""
    store = node(lease=30.0, poll=60.0)
    here, there = serve(two_questions(Log()), store), serve(two_questions(Log()), node(lease=30.0))
    first = await within(here.call())
    await asyncio.to_thread(postgres.stop)
    await asyncio.to_thread(postgres.start)
    late = "UPDATE nodes SET until = clock_timestamp() - interval '1 second' WHERE name = %s"
    await store.database.change(late, (store.node.name,))  # as if it had taken that long
    second = await within(there.retry(first, {"name": "Ada"}))
    assert second["requestState"] in here.calls.live


@pytest.mark.slow
async def test_a_database_that_stays_away_is_a_clear_error_and_what_was_kept_is_there_afterwards(
    node: Nodes, postgres: PostgresServer
) -> None:
    store, hasty = (
        node(),
        node(patience=0.5),
    )  # the one for what the database does, the other for what it does not
    await store.open_round(a_round())
    postgres.stop()
    try:
        with pytest.raises(StoreError, match="away"):
            await consume(hasty)
    finally:
        await asyncio.to_thread(postgres.start)
    assert (await consume(store)).verdict == "first"


@pytest.mark.slow
async def test_a_database_that_does_not_answer_is_a_clear_error(
    node: Nodes, postgres: PostgresServer
) -> None:
    store, hasty = node(), node(patience=3.0)
    await store.open_round(a_round())
    await hasty.open()
    postgres.pause()
    try:
        with pytest.raises(StoreError, match="away"):
            await consume(hasty)
    finally:
        postgres.go_on()
    assert (await consume(store)).verdict in {"first", "again"}
