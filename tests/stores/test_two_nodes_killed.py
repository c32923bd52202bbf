"""A node is killed at every step of the life of a question, and another one goes on, on SQLite and on PostgreSQL.

After each death: the answer is used at most once, one that was acknowledged is in the ledger, and the call goes on
elsewhere or ends with a clear error. All lives of a store are lived at once; each test looks at one of them.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.stores.cluster import Cluster, Node, Program, answer, asked, running_cluster, text_of
from tests.stores.told import Told, read_ledger

pytestmark = pytest.mark.slow

STEPS = (
    "asked",
    "shown",
    "answer taken",
    "answer taken up",
    "body resumed",
    "result written",
    "call ended",
    "result returned",
)
TOOLS = ("parked", "replayed")
DONE = ("result written", "call ended", "result returned")
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


class Lives(NamedTuple):
    """All lives on one store, and what is left of them."""

    of: dict[tuple[str, str], Life]
    used: dict[str, int]
    """How often each job used its answer."""
    told: Told


async def live(cluster: Cluster, tool: str, step: str, dying: Node, other: Node) -> Life:
    """Call one node, which dies at a step, and go on at another."""
    job = f"{tool}-{step.replace(' ', '-')}"
    first = await cluster.try_call(tool, job, dying)
    round_ = asked(first or await cluster.call(tool, job, other))  # it heard of nothing, and calls again
    if step == "shown":
        dying.kill()
    said = answer(*round_, "Ada")
    second = None
    if step not in ("asked", "shown", "answer taken up"):
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


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.stranger)])
def lives(request: pytest.FixtureRequest, nursery: Program) -> Iterator[Lives]:
    with tempfile.TemporaryDirectory() as folder:
        where, steps = f"{folder}/store.db", [step for step in STEPS if step != "answer taken up"]
        if request.param == "postgres":
            where, steps = request.getfixturevalue("postgres").new_database(), list(STEPS)
        with running_cluster(nursery, where) as cluster:
            yield asyncio.run(live_all(cluster, [(tool, step) for step in steps for tool in TOOLS]))


@pytest.fixture(params=[(tool, step) for step in STEPS for tool in TOOLS], ids=" ".join)
def case(request: pytest.FixtureRequest, lives: Lives) -> tuple[str, str]:
    tool, step = request.param
    if (tool, step) in lives.of:
        return tool, step
    assert step == "answer taken up"  # a file knows no nodes: whoever takes an answer goes on with it
    return tool, "answer taken"


@pytest.mark.shows("X2", "C6")
def test_the_node_died_where_it_should(lives: Lives, case: tuple[str, str]) -> None:
    life, step = lives.of[case], case[1]
    assert (life.first is None) == (step == "asked")
    if step != "call ended":  # the result is on its way already
        assert (life.second is not None) == (step == "result returned")


@pytest.mark.shows("X2", "C6")
def test_the_call_goes_on_or_ends_with_a_clear_error_and_always_the_same(
    lives: Lives, case: tuple[str, str]
) -> None:
    life, (tool, step) = lives.of[case], case
    texts = {text_of(end) for end in life.ends}
    assert len(texts) == 1
    if tool == "replayed" or step in ("asked", *DONE):
        assert f"{life.job} Ada on " in texts.pop()
    else:
        assert "may not run again by itself" in texts.pop()
    if life.second is not None:
        assert text_of(life.second) == text_of(life.ends[0])


@pytest.mark.shows("X2", "C3", "C6")
def test_the_answer_is_used_once_where_the_call_went_on_and_else_never(
    lives: Lives, case: tuple[str, str]
) -> None:
    life = lives.of[case]
    assert lives.used.get(life.job, 0) == (" Ada on " in text_of(life.ends[0]))


@pytest.mark.shows("X2", "G5")
def test_the_answer_is_in_the_ledger_once_with_what_became_of_it(lives: Lives, case: tuple[str, str]) -> None:
    life = lives.of[case]
    answered = [kinds for kinds in lives.told.of[life.job] if "decided" in kinds]
    assert len(answered) == 1, lives.told.of[life.job]
    assert answered[0].count("decided") == 1
    ending = "used" if " Ada on " in text_of(life.ends[0]) else "ambiguous"
    assert [kind for kind in answered[0] if kind in ("used", "ambiguous")] == [ending]


@pytest.mark.shows("X2", "G3")
def test_the_ledger_is_sound_after_all_these_deaths(lives: Lives) -> None:
    assert lives.told.report.sound
    assert lives.told.report.records
