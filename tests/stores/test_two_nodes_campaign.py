"""A campaign: clients converse without a pause while nodes are killed and the database restarts."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from tests.campaigns import SECONDS, SEED
from tests.postgres import PostgresServer, running_postgres
from tests.stores.cluster import Cluster, Program, answer, asked, running_cluster, text_of
from tests.stores.node import LEASE
from tests.stores.told import read_ledger

from handraise.ledger.verify import LedgerVerdict

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.anyio, pytest.mark.campaign]

CLIENTS = 16
TOOLS = ("parked", "replayed")


class FinishedCall(NamedTuple):
    """How one went, as its client saw it."""

    tool: str
    said: bool
    """Whether the client was asked, and answered."""
    text: str
    """What it got in the end."""

    @property
    def ended_well(self) -> bool:
        return " name-" in self.text


async def converse(cluster: Cluster, number: int, end: float) -> dict[str, FinishedCall]:
    """One client: call, answer, call again."""
    chance = random.Random(f"{SEED} client {number}")
    went: dict[str, FinishedCall] = {}
    while time.monotonic() < end:
        job, tool = f"{number}-{len(went)}", chance.choice(TOOLS)
        first = await cluster.call(tool, job)
        if "inputRequests" not in first.get("result", {}):
            went[job] = FinishedCall(tool, False, text_of(first))
            continue
        last = await cluster.call(tool, job, **answer(*asked(first), f"name-{job}"))
        went[job] = FinishedCall(tool, True, text_of(last))
    return went


async def trouble(cluster: Cluster, postgres: PostgresServer, end: float) -> Counter[str]:
    """Kill nodes, crash the database and cut its connections, one after the other."""
    chance, faults = random.Random(f"{SEED} faults"), Counter[str]()
    while time.monotonic() < end:
        await asyncio.sleep(chance.uniform(0.5, 2.0))
        fault = chance.choice(("kill", "crash", "cut"))
        faults[fault] += 1
        if fault == "kill":
            cluster.kill(chance.choice(cluster.nodes))
            cluster.start({"ledger": cluster.ledger})
        elif fault == "crash":
            await asyncio.to_thread(postgres.crash)
            await asyncio.to_thread(postgres.start)
        else:
            await asyncio.to_thread(postgres.cut_connections)
    return faults


async def campaign(
    cluster: Cluster, postgres: PostgresServer
) -> tuple[dict[str, FinishedCall], Counter[str]]:
    """All clients, and the trouble."""
    end = time.monotonic() + SECONDS
    async with asyncio.timeout(SECONDS + 90):
        faults = asyncio.ensure_future(trouble(cluster, postgres, end))
        clients = await asyncio.gather(*(converse(cluster, number, end) for number in range(CLIENTS)))
        return {job: each for client in clients for job, each in client.items()}, await faults


async def end_all(cluster: Cluster) -> None:
    """Kill what is left, and have a new node end what the dead left behind, once their leases are over."""
    for node in list(cluster.nodes):
        cluster.kill(node)
    await asyncio.sleep(1.5 * LEASE)
    await cluster.call("parked", "last", cluster.start({"ledger": cluster.ledger})[0])


@pytest.mark.shows("X2", "C3", "G5")
async def test_a_campaign_of_kills_and_restarts_loses_nothing_and_uses_nothing_twice(
    nursery: Program, record_property: Callable[[str, object], None]
) -> None:
    with running_postgres() as postgres, running_cluster(nursery, postgres.new_database()) as cluster:
        options = {"ledger": cluster.ledger}
        cluster.start(options, options)
        went, faults = await campaign(cluster, postgres)
        await end_all(cluster)
        uses = cluster.uses()
        told = await read_ledger(cluster, {job: each.tool for job, each in went.items()})

    well = [job for job, each in went.items() if each.ended_well]
    again = {job: each for job, each in uses.items() if len(each) > 1}
    answered = {job: [kinds for kinds in told.of[job] if "decided" in kinds] for job in went}
    record_property(
        "numbers",
        f"campaign of {SECONDS:g} s, seed {SEED}: {len(went)} calls, {dict(faults)}; {len(well)} ended with "
        f"their answer, {len(went) - len(well)} with an error; {sum(map(len, answered.values()))} answers and "
        f"{told.report.records} events in the ledger; {len(again)} `once` steps ran again",
    )
    assert not [job for job in again if went[job].tool == "parked"], "an answer was used twice"
    for users in again.values():
        for before, after in pairwise(users):
            assert cluster.killed[before.pid] < after.when, "a step ran again though its node lived"
    assert all(went[job].text.startswith(f"{job} name-{job} on ") and uses[job] for job in well)
    lost = [job for job, each in went.items() if each.tool == "replayed" and not each.ended_well]
    assert not lost, "an answer was lost"
    for job, each in went.items():
        assert len(answered[job]) == 1 or not each.said, "an answer is not in the ledger"
        for kinds in answered[job]:
            assert max(Counter(kinds).values()) == 1, kinds
            assert ("used" if each.ended_well else "ambiguous") in kinds, kinds
    assert told.report.verdict is LedgerVerdict.SOUND, told.report
