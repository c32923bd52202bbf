"""A guard and time: its calls are held, parked, resumed and taken over, and nothing runs without a yes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.gateway.peers import gateway
from tests.gateway.test_guards import DESTRUCTIVE, files, rules
from tests.gateway.test_holding import LEAVE, QUICK, answer, ended, ticket_in, waiting
from tests.gateway.test_router import two_shops
from tests.gateway.test_tickets import repositories
from tests.gateway.wire import WireClient
from tests.server.peers import REVISIONS, Person, text_of
from tests.waiting import until

from handraise.desks import Decision
from handraise.desks.scripted import Line
from handraise.errors import CATEGORY
from handraise.gateway.messages import error_response, response
from handraise.gateway.tickets import TicketRepository
from handraise.questions import Accepted, Declined
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U3")]

ERAS = [Revision.NOVEMBER_2025, Revision.JULY_2026]
either_server = pytest.mark.parametrize("only", ERAS, ids=lambda revision: f"server-{revision}")


@pytest.fixture(params=REVISIONS, ids=lambda revision: f"client-{revision}")
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def guarded(
    server: MCPServer, only: Revision, tickets: TicketRepository | None = None, guards: Any = DESTRUCTIVE
) -> Any:
    return gateway(server=server, only=only, guards=guards, options=QUICK, script=LEAVE, tickets=tickets)


@either_server
@pytest.mark.parametrize("able", [True, False], ids=["client that asks", "client that cannot ask"])
async def test_a_guarded_call_is_parked_and_resumed_whatever_its_client_can(
    revision: Revision, only: Revision, able: bool
) -> None:
    ran: list[str] = []
    async with (
        guarded(files(ran), only) as (seen, connect),
        connect(revision, Person() if able else None) as client,
    ):
        assert "handraise_resume" in {tool.name for tool in (await client.list_tools()).tools}
        ticket = ticket_in(await client.call_tool("remove", {"path": "a"}))
        assert ticket_in(await client.call_tool("remove", {"path": "a"})) == ticket
        assert ran == []
        answer(seen, await waiting(seen), answer=True)
        done = await ended(client, ticket)
        assert text_of(done) == "removed"
    assert ran == ["remove a"]


async def test_a_client_that_asks_is_offered_nothing_where_there_are_no_guards(revision: Revision) -> None:
    async with gateway(guards=()) as (_, connect), connect(revision, Person()) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
    assert ("handraise_resume" in offered) is (revision is Revision.JUNE_2025)  # it has no links


@either_server
@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
async def test_another_process_asks_again_before_anything_runs(
    revision: Revision, only: Revision, yes: bool
) -> None:
    ran: list[str] = []
    first, second = repositories()
    async with (
        guarded(files(ran), only, first) as (_, connect),
        connect(revision) as client,
        guarded(files(ran), only, second) as (other, again),
        AsyncExitStack() as stack,
    ):
        ticket = ticket_in(await client.call_tool("remove", {"path": "a"}))
        later = await stack.enter_async_context(again(revision))
        await later.list_tools()
        question = await waiting(other)
        assert "Tool: remove" in other.queue.waiting()[0].question.message
        assert ran == []
        given: Any = Accepted({"answer": True}) if yes else Declined()
        assert other.queue.decide(question, Decision(given, by="agent", desk="test")) == "taken"
        done = await ended(later, ticket)
        assert text_of(done) == "removed" if yes else (done.meta or {})[CATEGORY] == "user_declined"
    assert ran == (["remove a"] if yes else [])


@either_server
async def test_a_call_whose_guard_is_gone_after_a_restart_ends_without_running(
    revision: Revision, only: Revision
) -> None:
    ran: list[str] = []
    first, second = repositories()
    async with (
        guarded(files(ran), only, first) as (_, connect),
        connect(revision) as client,
        guarded(files(ran), only, second, guards=()) as (_, again),
        AsyncExitStack() as stack,
    ):
        ticket = ticket_in(await client.call_tool("remove", {"path": "a"}))
        later = await stack.enter_async_context(again(revision))
        told = await ended(later, ticket)
        assert told.is_error
        assert (told.meta or {})[CATEGORY] == "no_answer"
        assert "was removed, and they had not answered" in text_of(told)
        assert ran == []
        assert text_of(await later.call_tool("remove", {"path": "a"})) == "removed"


@either_server
async def test_a_call_that_ran_after_a_yes_is_ambiguous_to_another_process(
    revision: Revision, only: Revision
) -> None:
    """The process ended after the yes and before the result: the call may have run, and is not made again."""
    server, began = MCPServer("files"), asyncio.Event()
    ran: list[str] = []

    @server.tool()
    async def remove(path: str) -> str:
        ran.append(path)
        began.set()
        await asyncio.Event().wait()
        return "never"

    first, second = repositories()
    async with guarded(server, only, first) as (seen, connect), connect(revision) as client:
        ticket = ticket_in(await client.call_tool("remove", {"path": "a"}))
        answer(seen, await waiting(seen), answer=True)
        await began.wait()
        async with guarded(server, only, second) as (other, again), again(revision) as later:
            told = await ended(later, ticket)
            assert "Whether it had done anything" in text_of(told)
            assert not other.queue.waiting()
    assert ran == ["a"]


@pytest.mark.parametrize("tool", ["buy", "north_buy"])
async def test_a_guard_knows_its_server_behind_several_and_both_names_of_a_tool(
    revision: Revision, tool: str
) -> None:
    """Both have a tool `buy`, so that the client knows it as `north_buy`; nothing was listed yet."""
    guards = rules(f'[guards.mine]\nservers = ["north"]\ntools = ["{tool}"]\nhint = "any"')
    script = [
        Line("decline", message=f"Tool: {tool}", repeat=True),
        Line("accept", {"answer": "3"}, message="south", repeat=True),
    ]
    async with (
        two_shops(script, guards=guards) as (seen, connected, links),
        connected(revision) as client,
    ):
        refused = await client.session.call_tool("north_buy", {"item": "tea"})
        assert (getattr(refused, "meta", None) or {})[CATEGORY] == "user_declined"
        assert text_of(await client.call_tool("south_buy", {"item": "tea"})) == "south: 3 tea"
    assert [each.origin.name for each in seen.desk.seen] == ["north", "south"]
    assert all(b'"tools/call"' not in message.raw for message in links["north"].sent)


class Late(MCPServer):
    """A server that does not list all that it has when it is asked for the first time."""

    listed = 0

    async def list_tools(self) -> Any:
        self.listed += 1
        return await super().list_tools() if self.listed > 1 else []


async def test_a_tool_that_a_server_has_a_moment_later_is_not_called_past_its_guard(
    revision: Revision,
) -> None:
    ran: list[str] = []

    def late(name: str) -> MCPServer:
        server = Late(name)

        @server.tool(name=f"{name}_remove")
        def remove() -> str:
            ran.append(name)
            return "removed"

        return server

    async with (
        two_shops([Line("decline")], late, guards=DESTRUCTIVE) as (seen, connected, _),
        connected(revision) as client,
    ):
        with pytest.raises(MCPError, match="None of the servers has this"):
            await client.session.call_tool("north_remove", {})
        refused = await client.session.call_tool("north_remove", {})
        assert (getattr(refused, "meta", None) or {})[CATEGORY] == "user_declined"
    assert ran == []
    assert len(seen.desk.seen) == 1


SAYS = {"name": "remove", "annotations": {"readOnlyHint": True}}


@pytest.mark.shows("U3b")
@pytest.mark.parametrize(
    ("listed", "asks"),
    [
        ({"tools": [SAYS]}, False),
        ({"tools": [7, {"name": 3, "annotations": {}}, {"title": "x"}, SAYS]}, False),
        ({"tools": [{**SAYS, "name": "other"}]}, True),
        ({"tools": [SAYS, {"name": "remove"}]}, True),
        ({"tools": [{"name": "remove", "annotations": ["readOnlyHint"]}]}, True),
        ({"tools": SAYS}, True),
        ({"tools": "remove"}, True),
        ({"tools": None}, True),
        ({}, True),
        (None, True),
    ],
)
async def test_what_a_server_says_of_its_tools_is_read_with_care(listed: Any, asks: bool) -> None:
    client = await WireClient.begun(modern=False, behind=False, guards=DESTRUCTIVE)
    client.ask(1, "tools/list")
    id = (await client.server.taken("tools/list")).id
    client.server.say(error_response(id, -32603, "no") if listed is None else response(id, listed))
    await client.taken()
    client.ask(2, "tools/call", {"name": "remove", "arguments": {}})
    if asks:
        await until(client.queue.waiting)
    else:
        assert (await client.server.taken("tools/call")).params["name"] == "remove"
    assert bool(client.queue.waiting()) is asks
    await client.leave()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"path": "/", "Path": "a"}, "names a member of an object twice, in different case"),
        ({"a": [{"b": 1, "B": 2}]}, "names a member of an object twice, in different case"),
    ],
)
async def test_a_call_that_servers_read_in_different_ways_reaches_none(arguments: Any, told: str) -> None:
    """The person would be shown one of two paths, and a server that takes the other would remove that."""
    client = await WireClient.begun(modern=False, behind=False, guards=DESTRUCTIVE)
    client.server.got.clear()
    client.ask(1, "tools/call", {"name": "remove", "arguments": arguments})
    ended = (await client.taken()).result or {}
    assert ended["content"][0]["text"] == (
        f"ambiguous: this call {told}, which servers read in different ways. The call did not reach the server; "
        "nothing was done."
    )
    assert not client.queue.waiting()
    assert not client.server.got


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_cancelled_call_leaves_its_guard_and_its_server_hears_nothing(modern: bool) -> None:
    client = await WireClient.begun(modern=modern, behind=modern, guards=DESTRUCTIVE)
    client.server.got.clear()
    client.ask(1, "tools/call", {"name": "remove", "arguments": {}})
    await until(client.queue.waiting)
    client.tell("notifications/cancelled", {"requestId": 1})
    await until(lambda: not client.queue.waiting())
    assert not [each for each in client.server.got if each.method != "subscriptions/listen"]


FORM = {"type": "object", "properties": {"which": {"type": "string"}}}
ROUNDS = {
    "question": {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Which?", "requestedSchema": FORM},
    },
    "sampling": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
}


@pytest.mark.parametrize("kind", ROUNDS)
@pytest.mark.parametrize("same", [True, False], ids=["the same call", "another one"])
async def test_a_yes_is_for_all_rounds_of_one_call_and_for_no_other(kind: str, same: bool) -> None:
    """What was approved is what runs: a retry that names other arguments would take its yes along."""
    client = await WireClient.begun(modern=True, behind=True, guards=DESTRUCTIVE)
    client.ask(1, "tools/call", {"name": "remove", "arguments": {"path": "a"}})
    await until(client.queue.waiting)
    client.queue.decide(
        client.queue.waiting()[0].id, Decision(Accepted({"answer": True}), by="agent", desk="test")
    )
    first = await client.server.taken("tools/call")
    asks = {"resultType": "input_required", "inputRequests": {"q": ROUNDS[kind]}, "requestState": "s"}
    client.server.say(response(first.id, asks))
    assert (await client.taken()).result == asks
    answers = {"q": {"action": "accept", "content": {"which": "b"}}}
    retry = {"name": "remove", "arguments": {"path": "a" if same else "b"}, "requestState": "s"}
    client.ask(2, "tools/call", {**retry, "inputResponses": answers})
    if same:
        assert (await client.server.taken("tools/call")).params["inputResponses"] == answers
        assert not client.queue.waiting()
    else:
        await until(client.queue.waiting)
        assert "- path: b" in client.queue.waiting()[0].question.message
        assert not [each for each in client.server.got if each.method == "tools/call"]
    await client.leave()


@pytest.mark.shows("W6")
@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_server_that_ends_before_the_yes_ends_the_call_and_not_as_ambiguous(modern: bool) -> None:
    client = await WireClient.begun(modern=modern, behind=modern, guards=DESTRUCTIVE)
    client.ask(1, "tools/call", {"name": "remove", "arguments": {}})
    await until(client.queue.waiting)
    client.server.on_closed(client.server.source, True)
    ended = (await client.taken()).result or {}
    assert "ended before it answered" in ended["content"][0]["text"]
    await until(lambda: not client.queue.waiting())


ENV = {"inputSchema": {"type": "object", "properties": {"Env": {"type": "string", "default": "Production"}}}}


@pytest.mark.shows("U3b")
@pytest.mark.parametrize(
    ("listed", "asks"),
    [
        ({"tools": [{"name": "deploy", **ENV}]}, True),
        ({"tools": [{"name": "other", **ENV}]}, True),
        ({"tools": [{"name": "deploy", "inputSchema": {"properties": {"env": {"default": "test"}}}}]}, False),
        ({"tools": [{"name": "deploy", "inputSchema": {"properties": {"env": 7}}}]}, False),
        ({"tools": [{"name": "deploy", "inputSchema": []}]}, False),
    ],
)
async def test_an_argument_that_the_server_fills_in_does_not_pass_its_guard(listed: Any, asks: bool) -> None:
    """The server takes production. If it never listed the tool, nobody knows what it takes."""
    guards = rules('[guards.mine]\nhint = "any"\narguments = ["env=prod*"]')
    client = await WireClient.begun(modern=False, behind=False, guards=guards)
    client.ask(1, "tools/list")
    client.server.say(response((await client.server.taken("tools/list")).id, listed))
    await client.taken()
    client.ask(2, "tools/call", {"name": "deploy", "arguments": {"version": "7"}})
    await until(
        lambda: client.queue.waiting() or any(each.method == "tools/call" for each in client.server.got)
    )
    assert bool(client.queue.waiting()) is asks
    await client.leave()
