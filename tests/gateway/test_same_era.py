"""Client and server of the same era: what is no question passes, and questions reach their person."""

from __future__ import annotations

import pytest
from tests.gateway.peers import gateway
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, text_of

from handraise.desks.scripted import Line
from handraise.gateway.options import Options
from handraise.revisions import Revision

pytestmark = pytest.mark.anyio


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_a_plain_call_passes(revision: Revision) -> None:
    async with gateway() as (_, connect), connect(revision, Person()) as client:
        assert text_of(await client.call_tool("echo", {"text": "hello"})) == "hello"


async def test_a_question_is_answered_in_the_clients_own_dialog(revision: Revision) -> None:
    person = Person(accept(answer="old"))
    async with gateway() as (_, connect), connect(revision, person) as client:
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"
    assert person.messages == ["Why delete a?"]


async def test_two_questions_of_one_call_come_one_after_the_other(revision: Revision) -> None:
    person = Person(accept(answer="b"), accept(answer="short"))
    async with gateway() as (_, connect), connect(revision, person) as client:
        assert text_of(await client.call_tool("rename", {"title": "a"})) == "a is b because short"


@pytest.mark.parametrize(("answer", "action"), [(DECLINE, "decline"), (CANCEL, "cancel")])
async def test_declining_and_cancelling_stay_apart(revision: Revision, answer: object, action: str) -> None:
    async with gateway() as (_, connect), connect(revision, Person(answer)) as client:
        assert text_of(await client.call_tool("delete", {"title": "a"})) == f"kept: {action}"


async def test_who_cannot_be_asked_answers_at_our_desk(revision: Revision) -> None:
    script = [Line("accept", {"answer": "old"})]
    async with gateway(script=script) as (seen, connect), connect(revision) as client:
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"
    assert seen.desk.seen[0].origin.name == "my notes"
    assert seen.desk.seen[0].origin.claimed_name == "notes"


async def test_a_link_is_consented_to_at_our_desk_when_the_client_knows_forms_only(
    revision: Revision,
) -> None:
    async with (
        gateway(script=[Line("accept")]) as (seen, connect),
        connect(revision, Person(), modes="form") as client,
    ):
        assert text_of(await client.call_tool("connect", {"account": "a"})) == "connect: accept"
    assert len(seen.desk.seen) == 1


async def test_a_call_that_waits_too_long_is_parked_and_resumed(revision: Revision) -> None:
    async with (
        gateway(options=Options(hold=0.05), script=[Line("leave")]) as (seen, connect),
        connect(revision) as client,
    ):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools[-1] == "handraise_resume"
        first = await client.call_tool("delete", {"title": "a"})
        assert not first.is_error
        ticket = text_of(first).split("ticket '")[1].split("'")[0]
        again = await client.call_tool("delete", {"title": "a"})
        assert ticket in text_of(again)
        (waiting,) = seen.queue.waiting()
        assert waiting.question.message == "Why delete a?"
