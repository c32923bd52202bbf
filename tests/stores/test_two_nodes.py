"""Two node processes on one PostgreSQL, each request to the other in turn; nodes are killed, the database restarts."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.postgres import PostgresServer
from tests.stores.cluster import Cluster, answer, asked, running_cluster

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.anyio]

SOAK = float(os.environ.get("HANDRAISE_SOAK", "15"))
"""Seconds of the campaign."""
SEED = int(os.environ.get("HANDRAISE_SEED", "1"))


@pytest.fixture
def cluster(postgres: PostgresServer) -> Iterator[Cluster]:
    with running_cluster(postgres) as cluster:
        yield cluster


def text_of(reply: dict[str, Any]) -> str:
    return str(reply["result"]["content"][0]["text"]) if "result" in reply else str(reply["error"])


@pytest.mark.shows("X2")
async def test_asked_on_one_node_answered_on_the_other_used_once(cluster: Cluster) -> None:
    pids = [process.pid for process, _ in cluster.nodes]
    state, key = asked(await cluster.call("parked", "1"))
    end = await cluster.call("parked", "1", **answer(state, key, "Ada"))
    assert text_of(end) == f"1 Ada on {pids[0]}"
    assert text_of(await cluster.call("parked", "1", **answer(state, key, "Ada"))) == text_of(end)
    assert "error" in await cluster.call("parked", "1", **answer(state, key, "Bob"))
    assert cluster.done() == ["1 begun", "1 used Ada"]


@pytest.mark.shows("X2")
async def test_a_killed_nodes_questions_are_replayed_or_end_with_a_clear_error(cluster: Cluster) -> None:
    replayed = asked(await cluster.call("replayed", "r"))
    await cluster.call("replayed", "other")
    parked = asked(await cluster.call("parked", "p"))
    cluster.kill(0)
    assert "r Ada" in text_of(await cluster.call("replayed", "r", **answer(*replayed, "Ada")))
    assert "error" in await cluster.call("parked", "p", **answer(*parked, "Ada"))
    assert cluster.done() == ["r begun", "other begun", "p begun", "r used Ada"]


@pytest.mark.shows("X2")
async def test_questions_outlive_a_crash_of_the_database(cluster: Cluster) -> None:
    state, key = asked(await cluster.call("parked", "1"))
    cluster.postgres.crash()
    retry = asyncio.ensure_future(cluster.call("parked", "1", **answer(state, key, "Ada")))
    await asyncio.to_thread(cluster.postgres.start)
    assert "1 Ada" in text_of(await retry)
    assert cluster.done() == ["1 begun", "1 used Ada"]


@pytest.mark.shows("X2")
async def test_a_campaign_of_kills_and_restarts_loses_nothing_and_uses_nothing_twice(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, end = random.Random(SEED), time.monotonic() + SOAK
    results: dict[str, str] = {}
    faults: Counter[str] = Counter()

    async def worker(number: int) -> None:
        at = 0
        while time.monotonic() < end:
            job, tool = f"{number}-{at}", chance.choice(("parked", "replayed"))
            at += 1
            first = await cluster.call(tool, f"{tool}-{job}")
            if "inputRequests" not in first.get("result", {}):
                results[f"{tool}-{job}"] = text_of(first)
                continue
            reply = await cluster.call(tool, f"{tool}-{job}", **answer(*asked(first), f"name-{job}"))
            results[f"{tool}-{job}"] = text_of(reply)

    async def trouble() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(chance.uniform(0.5, 2.0))
            fault = chance.choice(("kill", "crash", "cut"))
            faults[fault] += 1
            if fault == "kill":
                cluster.kill(chance.randrange(2))
                await asyncio.to_thread(cluster.start)
            elif fault == "crash":
                await asyncio.to_thread(cluster.postgres.crash)
                await asyncio.to_thread(cluster.postgres.start)
            else:
                await asyncio.to_thread(cluster.postgres.cut_connections)

    await asyncio.gather(trouble(), *(worker(number) for number in range(8)))
    used = Counter(line.split(" used ")[0] for line in cluster.done() if " used " in line)
    ended = {job: text for job, text in results.items() if " name-" in text}
    twice = [job for job, times in used.items() if times > 1]
    with capsys.disabled():
        print(
            f"\n{len(results)} conversations, {dict(faults)}: {len(ended)} ended with their answer, "
            f"{len(results) - len(ended)} with an error, {len(twice)} replayable steps ran again (seed {SEED})"
        )
    assert not [job for job in twice if job.startswith("parked")]
    assert all(used[job] for job in ended)
    assert all(f"name-{job.split('-', 1)[1]} " in text for job, text in ended.items())
    assert not [job for job in results if job not in ended and job.startswith("replayed")], (
        "an answer was lost"
    )
