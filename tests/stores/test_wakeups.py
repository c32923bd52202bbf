"""An answer is brought to its handler: sealed, without a statement, once, and only while its node has its lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.calls.bare_server import BareServer, Log, breathe, one_question, within
from tests.stores.conftest import Nodes
from tests.waiting import until

from handraise.stores.postgres import PostgresStore

pytestmark = [pytest.mark.stranger, pytest.mark.anyio]

LATE = "UPDATE nodes SET until = '-infinity' WHERE name = %s"


class Post:
    """The hints for one node, kept back until they are let through."""

    def __init__(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self._hints = store._watch._hints
        self._hear = self._hints._hear
        self.kept: list[str] = []
        monkeypatch.setattr(self._hints, "_hear", self.kept.append)

    def let_through(self) -> None:
        for payload in self.kept:
            self._hear(payload)


@asynccontextmanager
async def answering(there: BareServer, first: Any, name: str = "Ada") -> AsyncIterator[asyncio.Task[Any]]:
    """A retry on a node that is under way meanwhile."""
    retry = asyncio.create_task(there.retry(first, {"name": name}))
    yield retry
    await within(retry)


def never(*args: Any, **options: Any) -> Any:
    raise AssertionError("nobody looks")


@pytest.mark.shows("X2")
async def test_an_answer_is_brought_to_its_handler_which_asks_the_database_nothing(
    node: Nodes, serve: type[BareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = node(poll=60.0)
    monkeypatch.setattr(home, "take_delivered", never)
    here, there = serve(one_question(Log()), home), serve(one_question(Log()), node())
    first = await within(here.call())
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"


async def test_what_is_brought_is_sealed(
    node: Nodes, serve: type[BareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = node(poll=60.0)
    here, there = serve(one_question(Log()), home), serve(one_question(Log()), node())
    first = await within(here.call())
    post = Post(home, monkeypatch)
    async with answering(there, first, "Ada Lovelace"):
        await until(lambda: bool(post.kept))
        assert first["requestState"] + ":" in post.kept[0]
        assert "Lovelace" not in post.kept[0]
        post.let_through()


@pytest.mark.shows("X2")
async def test_answers_too_long_for_a_hint_are_taken_up(node: Nodes, serve: type[BareServer]) -> None:
    here, there = serve(one_question(Log()), node(poll=60.0)), serve(one_question(Log()), node())
    first = await within(here.call())
    assert await within(there.retry(first, {"name": "Ada" * 4000})) == "Ada" * 4000


@pytest.mark.shows("X2", "C3")
async def test_a_hint_that_comes_again_or_after_the_poller_changes_nothing(
    node: Nodes, serve: type[BareServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, log = node(), Log()
    here, there = serve(one_question(log), home), serve(one_question(Log()), node())
    first = await within(here.call())
    post = Post(home, monkeypatch)
    async with answering(there, first):
        await until(lambda: "hello Ada" in log)
    post.let_through()
    post.let_through()
    await until(lambda: here.is_empty)
    assert log.count("hello Ada") == 1


@pytest.mark.shows("X2", "C3")
@pytest.mark.parametrize("beats_first", [True, False])
async def test_a_node_whose_lease_ended_does_not_use_what_was_brought_before_though_it_lives_again(
    node: Nodes, serve: type[BareServer], monkeypatch: pytest.MonkeyPatch, beats_first: bool
) -> None:
    """A node that stood still: another one went on with its call meanwhile, and its hints lie unread."""
    home, log = node(poll=60.0, lease=30.0), Log()
    here, there = serve(one_question(log), home), serve(one_question(log), node(), replayable=True)
    here.replayable = True
    first = await within(here.call())
    post = Post(home, monkeypatch)
    async with answering(there, first):
        await until(lambda: bool(post.kept))
        await home.database.change(LATE, (home.node.name,))
    if beats_first:
        await home.node.beat()
    else:
        monkeypatch.setattr(home.node, "_sure_until", 0.0)
    post.let_through()
    await breathe()
    await until(lambda: not here.calls._tasks)
    assert log.count("hello Ada") == 1


async def test_whatever_others_send_a_node_goes_on_to_listen(node: Nodes, serve: type[BareServer]) -> None:
    home = node(poll=60.0)
    here, there = serve(one_question(Log()), home), serve(one_question(Log()), node())
    first = await within(here.call())
    token = first["requestState"]
    for payload in (
        "",
        " ",
        "x",
        f"x {token}",
        f"x {token}:",
        f"x {token}:AAAA",
        f"x {token}:é",
        f"x :{token}",
    ):
        query = "SELECT pg_notify(%s, %s)"
        await home.database.one(query, (f"handraise_{home.node.name}", payload))
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"


@pytest.mark.shows("X2")
async def test_a_node_says_that_it_lives_though_all_its_statements_hang(node: Nodes) -> None:
    busy, other = node(connections=1, lease=0.9), node()
    await busy._watch.start()
    query = "SELECT until FROM nodes WHERE name = %s"
    before = await other.database.one(query, (busy.node.name,))
    async with other.database._connection() as db, db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(1)")
        hangs = asyncio.create_task(busy.database.all("SELECT pg_advisory_xact_lock(1)"))
        async with asyncio.timeout(60):
            while await other.database.one(query, (busy.node.name,)) == before:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert not hangs.done()
    await within(hangs)
