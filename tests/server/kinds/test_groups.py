"""What leaves a body as a group of errors says what happened, at every kind of server and by every way."""

from __future__ import annotations

import asyncio

import anyio
import mcp_types as types
import pytest
from tests.server.kinds.servers import KINDS, target_of
from tests.server.kinds.ways import WAYS, Ended, Way
from tests.server.peers import Person, accept, connect

from handraise import UrlQuestion, ask
from handraise.errors import Expired
from handraise.revisions import Revision

pytestmark = pytest.mark.slow  # FastMCP draws a traceback of every group
by_every_way = pytest.mark.parametrize("way", WAYS, ids=str)


async def _unanswered() -> None:
    await ask.text("Go?", timeout=0.05)


async def unanswered(run: str) -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(_unanswered())
    return run


async def required(run: str) -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(_required())
    return run


async def _required() -> None:
    await ask.require(UrlQuestion("Connect", "https://mcp.example.com/connect", "connect"))


async def crashes(run: str) -> str:
    """A bug of the author's own is in the group, too."""

    async def crash() -> None:
        try:
            await _unanswered()
        finally:
            raise KeyError("the author's own")

    async with asyncio.TaskGroup() as group:
        group.create_task(crash())
        group.create_task(_unanswered())
    return run


async def renamed(run: str) -> str:
    """The author made an error of their own of a group."""
    try:
        return await unanswered(run)
    except ExceptionGroup as group:
        raise ValueError("the author's own") from group


BODIES = {body.__name__: body for body in (unanswered, required, crashes, renamed)}


async def _nobody() -> types.ElicitResult:
    await anyio.sleep(0.2)
    return accept(answer="too late")


NOBODY = [lambda _params: _nobody()] * 4


@pytest.mark.shows("O2", "N5")
@by_every_way
async def test_no_answer_in_a_group_is_told_as_no_answer(kind: str, way: Way, revision: Revision) -> None:
    server = target_of(KINDS[kind](BODIES))
    async with connect(server, revision, Person(*NOBODY)) as client:
        assert await way.ending(client, "unanswered", "run") == Expired.public
    if revision.modern:
        async with connect(server, revision) as client:
            with pytest.raises(Ended) as ended:
                await way.call(client, "unanswered", "run")
            assert ended.value.code == -32021


@pytest.mark.shows("L3")
@by_every_way
async def test_links_that_are_required_in_a_group_are_listed(kind: str, way: Way) -> None:
    async with connect(target_of(KINDS[kind](BODIES)), Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(Ended) as needed:
            await way.call(client, "required", "run")
    assert needed.value.code == -32042
    assert [listed["elicitationId"] for listed in needed.value.data["elicitations"]] == ["connect"]


TELLING = [(kind, way) for kind in KINDS for way in WAYS if kind == "lowlevel" or way.method != "tools/call"]
"""Of a tool the frameworks keep nothing but a result, which does not say what crashed."""


@pytest.mark.parametrize(("kind", "way"), TELLING, ids=str)
@pytest.mark.parametrize("body", ["crashes", "renamed"])
async def test_an_error_of_the_authors_own_stays_theirs(
    kind: str, way: Way, body: str, revision: Revision
) -> None:
    async with connect(target_of(KINDS[kind](BODIES)), revision, Person(*NOBODY)) as client:
        with pytest.raises(Ended) as ended:
            await way.call(client, body, "run")
    assert "did not answer" not in ended.value.sentence
