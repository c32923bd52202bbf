"""What the ledger of a cluster tells of each job, once its nodes are gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tests.stores.cluster import Cluster
from tests.stores.node import open_ledger, open_store

from handraise.ledger.verify import VerificationReport


class Told(NamedTuple):
    """The ledger, read through."""

    of: dict[str, list[list[str]]]
    """For each job the kinds of the events of each of its questions, in order."""
    report: VerificationReport
    """Whether it is still what it was."""


async def read_ledger(cluster: Cluster, tools: Mapping[str, str]) -> Told:
    """The ledger in the cluster's store, for jobs by the tool that was called for them."""
    store = open_store(cluster.where)
    ledger = open_ledger(store, cluster.ledger)
    calls = {ledger.request("tools/call", tool, {"job": job}): job for job, tool in tools.items()}
    told: dict[str, dict[str, list[str]]] = {job: {} for job in tools}
    async for _, event in ledger.events():
        if event.about.request in calls:
            told[calls[event.about.request]].setdefault(event.question, []).append(event.kind)
    await ledger.checkpoint()
    report = await ledger.verify()
    await store.aclose()
    return Told({job: list(questions.values()) for job, questions in told.items()}, report)
