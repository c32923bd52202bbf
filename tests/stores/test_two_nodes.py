"""Two node processes on one PostgreSQL, each request to the other in turn; a node is killed, the database restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.postgres import PostgresServer
from tests.stores.cluster import Cluster, Program, answer, asked, running_cluster, text_of

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.anyio]


AHEAD, BEHIND = {"skew": "3600", "lease": "5"}, {"skew": "-3600", "lease": "5"}
"""Clocks that differ by two hours change nothing: by its own, each node would find the other's questions expired.

The lease outlives a restart of the database on a busy computer."""


@pytest.fixture(scope="module")
def cluster(postgres: PostgresServer, nursery: Program) -> Iterator[Cluster]:
    with postgres.empty_database() as url, running_cluster(nursery, url, AHEAD, BEHIND) as cluster:
        yield cluster


@pytest.mark.shows("X2")
async def test_asked_on_one_node_answered_on_the_other_used_once(cluster: Cluster) -> None:
    state, key = asked(await cluster.call("parked", "1"))
    end = await cluster.call("parked", "1", **answer(state, key, "Ada"))
    assert text_of(end) in [f"1 Ada on {node.pid}" for node in cluster.nodes]
    for _ in cluster.nodes:
        assert text_of(await cluster.call("parked", "1", **answer(state, key, "Ada"))) == text_of(end)
        assert "error" in await cluster.call("parked", "1", **answer(state, key, "Bob"))
    assert cluster.done("1") == ["1 begun", "1 used Ada"]


@pytest.mark.shows("X2")
async def test_questions_outlive_a_crash_of_the_database(cluster: Cluster, postgres: PostgresServer) -> None:
    state, key = asked(await cluster.call("parked", "2"))
    postgres.crash()
    retry = asyncio.ensure_future(cluster.call("parked", "2", **answer(state, key, "Ada")))
    await asyncio.to_thread(postgres.start)
    assert "2 Ada" in text_of(await retry)
    assert cluster.done("2") == ["2 begun", "2 used Ada"]


@pytest.mark.shows("X2")
async def test_a_killed_nodes_questions_are_replayed_or_end_with_a_clear_error(cluster: Cluster) -> None:
    replayed = [asked(await cluster.call("replayed", f"r{at}")) for at in range(2)]
    parked = [asked(await cluster.call("parked", f"p{at}")) for at in range(2)]
    cluster.kill(cluster.nodes[0])
    for at in range(2):
        assert f"r{at} Ada" in text_of(
            await cluster.call("replayed", f"r{at}", **answer(*replayed[at], "Ada"))
        )
        assert cluster.done(f"r{at}") == [f"r{at} begun", f"r{at} used Ada"]
    ends = [text_of(await cluster.call("parked", f"p{at}", **answer(*parked[at], "Ada"))) for at in range(2)]
    assert sorted("may not run again" in end for end in ends) == [False, True]
    assert len(cluster.done("p0") + cluster.done("p1")) == 3
