"""What came together: the questions of one round, or of one call that asks several at once."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from tests.client.hosts import host
from tests.desks.questions import form_question
from tests.server.peers import text_of

from handraise import Handraise, ask
from handraise.desks import Cause, Decision
from handraise.desks.scripted import Line
from handraise.desks.waiting import batch_key, batch_of, batches
from handraise.questions import Accepted, Origin, Person
from handraise.revisions import Revision

CALL = Cause((("plan", {}),), call_id="call")


def test_one_call_or_one_round_is_a_batch_and_nothing_else_is() -> None:
    first = form_question(cause=CALL)
    assert batch_key(first) == batch_key(form_question(cause=CALL))
    assert batch_key(form_question(group="g")) == batch_key(form_question(group="g"))
    for other in (
        form_question(cause=replace(CALL, call_id="another")),
        form_question(cause=replace(CALL, certain=False)),
        form_question(cause=replace(CALL, call_id=None)),
        form_question(cause=CALL, origin=Origin("shop", "x")),
        form_question(cause=CALL, person=Person("", "bob", "system")),
        form_question(cause=CALL, browsing=True),
        form_question(cause=None),
    ):
        assert batch_key(first) != batch_key(other)
        assert batch_of(other, (first, other)) == (other,)


def test_a_batch_stands_where_its_oldest_question_stands() -> None:
    a, other, b = form_question(cause=CALL), form_question(), form_question(cause=CALL)
    assert batches((a, other, b)) == [(a, b), (other,)]


def asker() -> MCPServer:
    made = Handraise().install(MCPServer("asker"))

    @made.tool()
    async def plan() -> str:
        answers = await ask.all(who=ask.text("Who?"), where=ask.text("Where?"), why=ask.text("Why?"))
        return ", ".join(str(answer.or_stop()) for answer in answers.values())

    return made


@pytest.mark.shows("D8")
async def test_what_a_tool_asks_in_one_round_waits_as_one_batch() -> None:
    """On the legacy revisions the same tool asks one after the other."""
    script = [Line("leave")] * 3
    results: list[str] = []
    async with host(asker(), Revision.JULY_2026, script) as here, anyio.create_task_group() as tasks:

        async def call() -> None:
            results.append(text_of(await here.client.call_tool("plan", {})))

        tasks.start_soon(call)
        with anyio.fail_after(60):
            async for waiting in here.queue.changes():
                if len(waiting) == 3:
                    break
        [batch] = batches(here.queue.waiting())
        for question in batch:
            answer = {"answer": question.question.message}
            here.queue.decide(question.id, Decision(Accepted(answer), by="agent", desk="script"))
    assert results == ["Who?, Where?, Why?"]
