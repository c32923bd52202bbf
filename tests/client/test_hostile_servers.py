"""A host stays usable whatever a server sends: bursts, endless rounds, answers that do not fit."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import InputRequiredRoundsExceededError
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from tests.client.hosts import OpenGate, host
from tests.client.test_consent import server
from tests.server.peers import REVISIONS, text_of
from tests.waiting import until

from handraise.desks import Decision
from handraise.desks.gate import PolicyGate
from handraise.desks.scripted import Line
from handraise.policy import Policy
from handraise.questions import Accepted
from handraise.revisions import Revision

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
BURST = 500


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def ask_for(number: int) -> types.ElicitRequest:
    params = types.ElicitRequestFormParams(message=f"Question {number}", requested_schema=SCHEMA)
    return types.ElicitRequest(params=params)


class Rounds:
    """A server on 2026-07-28 that answers each call with the same questions, for some rounds or for ever."""

    def __init__(self, questions: int, rounds: int | None = 1) -> None:
        self.requests: dict[str, types.InputRequest] = {
            f"q{number}": ask_for(number) for number in range(questions)
        }
        self.responses: list[dict[str, Any]] = []
        self._rounds = rounds
        self.server: Server[Any] = Server("rounds", on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="go", input_schema={"type": "object"})])

    async def _call(self, _ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.input_responses is not None:
            self.responses.append(params.input_responses)
        if self._rounds is not None and len(self.responses) >= self._rounds:
            return types.CallToolResult(content=[])
        return types.InputRequiredResult(input_requests=self.requests)


@pytest.mark.slow
@pytest.mark.shows("D6")
async def test_hundreds_of_questions_of_one_round_become_a_handful_and_refusals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rounds, gate = Rounds(BURST), PolicyGate(Policy())
    script = [Line("accept", {"a": "x"}, repeat=True)]
    async with host(rounds.server, Revision.JULY_2026, script, gate=gate) as here:  # type: ignore[arg-type]
        await here.client.call_tool("go")
        (responses,) = rounds.responses
        actions = [response.action for response in responses.values()]
        assert 1 <= actions.count("accept") == len(here.desk.seen) <= 10
        assert actions.count("cancel") == BURST - len(here.desk.seen)
        assert here.queue.waiting() == ()
        assert len([line for line in caplog.records if line.levelname == "WARNING"]) <= 5


@pytest.mark.slow
@pytest.mark.shows("D6")
async def test_the_host_stays_responsive_while_hundreds_of_questions_come_at_once() -> None:
    flood = MCPServer("flood")

    @flood.tool()
    async def burst(ctx: Context) -> str:
        channel, actions = ctx.session._request_outbound, []

        async def one(number: int) -> None:
            params = {"message": f"Question {number}", "requestedSchema": SCHEMA}
            actions.append((await channel.send_raw_request("elicitation/create", params))["action"])

        async with anyio.create_task_group() as tasks:
            for number in range(BURST):
                tasks.start_soon(one, number)
        return f"{actions.count('accept')} {len(actions)}"

    gate: Any = PolicyGate(Policy())
    script = [Line("leave", repeat=True)]
    async with (
        host(flood, Revision.NOVEMBER_2025, script, gate=gate) as here,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(here.client.call_tool, "burst")
        await until(lambda: bool(here.queue.waiting()))
        with anyio.fail_after(60):  # another request is served meanwhile
            await here.client.list_tools()
        await until(lambda: len(here.queue.past()) >= 200)
        assert len(here.queue.waiting()) <= 5
        tasks.cancel_scope.cancel()


@pytest.mark.shows("D6", "O5")
async def test_a_server_that_never_stops_asking_is_left_and_the_person_asked_a_few_times() -> None:
    rounds, gate = Rounds(1, rounds=None), PolicyGate(Policy())
    script = [Line("accept", {"a": "x"}, repeat=True)]
    async with host(rounds.server, Revision.JULY_2026, script, gate=gate) as here:  # type: ignore[arg-type]
        with pytest.raises(InputRequiredRoundsExceededError):
            await here.client.call_tool("go")
        assert len(here.desk.seen) <= 10


@pytest.mark.shows("F6")
async def test_an_answer_that_does_not_fit_never_leaves(revision: Revision) -> None:
    """Whatever desk it came from."""
    async with host(server(), revision, [Line("leave")]) as here, anyio.create_task_group() as tasks:

        async def answer_badly() -> None:
            await until(lambda: bool(here.desk.seen))
            wrong = Decision(Accepted({"answer": 5, "more": "x"}), by="agent")
            here.queue.decide(here.desk.seen[0].id, wrong)

        tasks.start_soon(answer_badly)
        assert text_of(await here.client.call_tool("greet")).startswith(
            "The person's client could not deliver"
        )
        assert here.events[0].decision.reason == "the answer did not fit the form"


async def test_two_calls_at_once_wait_in_one_queue_and_get_their_own_answers(revision: Revision) -> None:
    script = [Line("leave"), Line("leave")]
    async with host(server(), revision, script) as here, anyio.create_task_group() as tasks:
        results: dict[str, str] = {}

        async def greet(greeting: str) -> None:
            results[greeting] = text_of(await here.client.call_tool("greet", {"greeting": greeting}))

        tasks.start_soon(greet, "Hello")
        await until(lambda: len(here.queue.waiting()) == 1)
        tasks.start_soon(greet, "Goodbye")
        await until(lambda: len(here.queue.waiting()) == 2)
        first, second = here.queue.waiting()
        here.queue.decide(second.id, Decision(Accepted({"answer": "Bob"}), by="agent"))
        here.queue.decide(first.id, Decision(Accepted({"answer": "Ada"}), by="agent"))
        await until(lambda: len(results) == 2)
        assert results == {"Hello": "Hello Ada", "Goodbye": "Goodbye Bob"}


async def test_a_record_that_breaks_or_a_desk_that_is_gone_is_no_answer(revision: Revision) -> None:
    class Broken(OpenGate):
        def decided(self, waiting: Any, decision: Any, now: float) -> None:
            raise RuntimeError("bug")

    async with host(server(), revision, [Line("accept", {"answer": "Ada"})], gate=Broken()) as here:
        assert text_of(await here.client.call_tool("greet")).startswith(
            "The person's client could not deliver"
        )


@pytest.mark.slow
@pytest.mark.shows("D6")
async def test_memory_stays_flat_over_bursts() -> None:
    rounds, gate = Rounds(100, rounds=1), PolicyGate(Policy())
    async with host(rounds.server, Revision.JULY_2026, [Line("cancel", repeat=True)], gate=gate) as here:  # type: ignore[arg-type]
        held: list[int] = []
        tracemalloc.start()
        for _ in range(4):
            rounds.responses.clear()
            await here.client.call_tool("go")
            rounds.responses.clear()
            here.desk.seen.clear()
            here.events.clear()
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert held[-1] - held[1] < 100_000, held
