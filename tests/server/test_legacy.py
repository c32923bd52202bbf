"""Questions on the stream of the call: whose answer is whose, and clients that are gone."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from tests.server.peers import Person, accept, connect, text_of

from handraise import Handraise, Withdrawn, ask
from handraise.revisions import Revision
from handraise.server.legacy import LegacyCall

LEGACY = [revision for revision in Revision if revision.legacy]


def make_server() -> MCPServer:
    server = MCPServer("legacy")
    Handraise().install(server)

    @server.tool()
    async def by_key(who: str) -> str:
        return (await ask.text(f"The word of {who}?", key="7")).or_stop()

    @server.tool()
    async def among_others(who: str) -> str:
        answers = await ask.all(word=ask.text(f"The word of {who}?"))
        return str(answers["word"].or_stop())

    @server.tool()
    async def three() -> str:
        await ask.all(one=ask.text("One?"), two=ask.text("Two?"), three=ask.text("Three?"))
        return "answered"

    @server.tool()
    async def short(who: str) -> str:
        return (await ask.text(f"The word of {who}?", max_length=3)).or_stop()

    @server.tool()
    async def alone(who: str) -> str:
        try:
            return (await ask.text(f"The word of {who}?")).or_stop()
        except Withdrawn:
            return "withdrawn"

    return server


@pytest.mark.shows("X4")
@pytest.mark.parametrize("tool", ["by_key", "among_others"])
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_calls_that_name_their_questions_alike_get_their_own_answers(
    revision: Revision, tool: str
) -> None:
    both_asked = asyncio.Barrier(2)

    async def person(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        await both_asked.wait()
        return accept(answer=params.message.rstrip("?").split()[-1])

    async with connect(make_server(), revision, person) as client, asyncio.timeout(30):
        results = await asyncio.gather(*(client.call_tool(tool, {"who": who}) for who in ("ann", "bob")))
    assert [text_of(result) for result in results] == ["ann", "bob"]


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_that_is_asked_again_has_an_id_of_its_own(revision: Revision) -> None:
    """The id of a request must not have been used before in its session."""
    ids: list[object] = []

    async def person(context: Any, _params: Any) -> types.ElicitResult:
        ids.append(context.request_id)
        return accept(answer="yes" if len(ids) % 2 == 0 else "too long")

    async with connect(make_server(), revision, person) as client:
        for _ in range(2):
            assert text_of(await client.call_tool("short", {"who": "ann"})) == "yes"
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_questions_after_one_that_failed_are_not_asked_and_nobody_is_warned_of_them(
    revision: Revision, recwarn: pytest.WarningsRecorder
) -> None:
    person = Person(accept(answer="one"), types.ErrorData(code=-1, message="no"))
    async with connect(make_server(), revision, person) as client:
        assert (await client.call_tool("three")).is_error
    gc.collect()
    assert person.messages == ["One?", "Two?"]
    assert not [str(warning.message) for warning in recwarn if "never" in str(warning.message)]


def calls() -> list[LegacyCall]:
    gc.collect()
    return [thing for thing in gc.get_objects() if type(thing) is LegacyCall]


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_nothing_is_kept_of_a_call_whose_connection_stays_open(revision: Revision) -> None:
    others = calls()  # of tests that ran before in this process
    async with connect(make_server(), revision, Person(*[accept(answer="ann")] * 3)) as client:
        for _ in range(3):
            await client.call_tool("alone", {"who": "ann"})
        assert not [call for call in calls() if call not in others]
