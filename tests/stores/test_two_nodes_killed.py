"""A node is killed at every step of the life of a question, and another one goes on, on SQLite and on PostgreSQL.

After each death: the answer is used at most once, one that was acknowledged is in the ledger, and the call goes on
elsewhere or ends with a clear error. All lives are lived at once, each with a node of its own that dies.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.postgres import PostgresServer
from tests.stores.cluster import Cluster, Node, Program, answer, asked, running_cluster, text_of
from tests.stores.told import Told, read_ledger

from handraise.ledger.verify import LedgerVerdict

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

STEPS = (
    "asked",
    "shown",
    "answer taken",
    "answer taken for another",
    "answer brought",
    "answer taken up",
    "body resumed",
    "result written",
    "result returned",
)
TOOLS = ("parked", "replayed")
AMONG_NODES = ("answer taken for another", "answer brought", "answer taken up")
"""Steps of a question whose answer comes to another node. A file knows no nodes: whoever takes an answer goes on."""
DONE = ("result written", "result returned")
"""Steps after which the result is there, whether or not the call may run again."""


class Life(NamedTuple):
    """What became of one question."""

    job: str
    first: dict[str, Any] | None
    """What the node that died said to the call."""
    second: dict[str, Any] | None
    """What it said to the answer."""
    ends: list[dict[str, Any]]
    """What the other node said to the same answer, again and again."""

    @property
    def went_on(self) -> bool:
        """Whether the body got its answer, in the end."""
        return f"{self.job} Ada on " in text_of(self.ends[0])


class Lives(NamedTuple):
    """All lives on one store, and what is left of them."""

    of: dict[tuple[str, str], Life]
    used: dict[str, int]
    """How often each job used its answer."""
    told: Told


async def live(cluster: Cluster, tool: str, step: str, dying: Node, other: Node) -> Life:
    """Call one node, which dies at a step, and go on at another."""
    job = f"{tool}-{step.replace(' ', '-')}"
    first = await cluster.try_call(tool, job, other if step == "answer taken for another" else dying)
    round_ = asked(first or await cluster.call(tool, job, other))  # it heard of nothing, and calls again
    if step == "shown":
        dying.kill()
    said = answer(*round_, "Ada")
    second = None
    if step not in ("asked", "shown", "answer brought", "answer taken up"):
        second = await cluster.try_call(tool, job, dying, **said)
    if step == "result returned":
        dying.kill()
    ends = [await cluster.call(tool, job, other, **said) for _ in range(2)]
    await asyncio.to_thread(dying.wait)
    return Life(job, first, second, ends)


async def live_all(cluster: Cluster, cases: list[tuple[str, str]]) -> Lives:
    """All of them at once, each with a node of its own that dies and one that goes on for all."""
    options = {"ledger": cluster.ledger}
    (other,) = cluster.start(options)
    dying = cluster.start(*({**options, "dies": step} for _, step in cases))
    lives = await asyncio.gather(
        *(live(cluster, *case, node, other) for case, node in zip(cases, dying, strict=True))
    )
    await cluster.call("parked", "last", cluster.start(options)[0])  # it ended what the dead left behind
    told = await read_ledger(cluster, {life.job: tool for (tool, _), life in zip(cases, lives, strict=True)})
    used = {job: len(each) for job, each in cluster.uses().items()}
    return Lives(dict(zip(cases, lives, strict=True)), used, told)


def check_death(life: Life, step: str) -> None:
    """The node died where it should."""
    assert (life.first is None) == (step == "asked"), life
    assert (life.second is not None) == (step == "result returned"), life


def check_end(life: Life, tool: str, step: str) -> None:
    """The call goes on or ends with a clear error, and however often it is asked for, always the same."""
    goes_on = tool == "replayed" or step in ("asked", "answer taken for another", *DONE)
    for end in [*life.ends, life.second or life.ends[0]]:
        assert text_of(end) == text_of(life.ends[0]), life
        assert (f"{life.job} Ada on " if goes_on else "may not run again by itself") in text_of(end), life


def check_told(life: Life, questions: list[list[str]]) -> None:
    """The answer is in the ledger once, with what became of it."""
    answered = [kinds for kinds in questions if "decided" in kinds]
    assert [kinds.count("decided") for kinds in answered] == [1], (life.job, questions)
    ending = "used" if life.went_on else "ambiguous"
    assert [kind for kind in answered[0] if kind in ("used", "ambiguous")] == [ending], (life.job, questions)


def check_all(lives: Lives) -> None:
    for (tool, step), life in lives.of.items():
        check_death(life, step)
        check_end(life, tool, step)
        assert lives.used.get(life.job, 0) == life.went_on, f"{life.job}: the answer was used twice, or never"
        check_told(life, lives.told.of[life.job])
    assert lives.told.report.verdict is LedgerVerdict.SOUND
    assert lives.told.report.records


@pytest.mark.shows("X2", "C3", "C6", "G3", "G5")
async def test_whenever_a_node_is_killed_its_answer_is_used_once_or_ambiguous_on_sqlite(
    nursery: Program, tmp_path: Path
) -> None:
    steps = [step for step in STEPS if step not in AMONG_NODES]
    with running_cluster(nursery, str(tmp_path / "store.db")) as cluster:
        check_all(await live_all(cluster, [(tool, step) for step in steps for tool in TOOLS]))


@pytest.mark.stranger
@pytest.mark.shows("X2", "C3", "C6", "G3", "G5")
async def test_whenever_a_node_is_killed_its_answer_is_used_once_or_ambiguous_on_postgresql(
    nursery: Program, postgres: PostgresServer
) -> None:
    with postgres.empty_database() as url, running_cluster(nursery, url) as cluster:
        check_all(await live_all(cluster, [(tool, step) for step in STEPS for tool in TOOLS]))
