"""Several servers behind one gateway: they never mix up, and names collide safely."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from tests.client.hosts import OpenGate
from tests.gateway.peers import Gateway, MemoryLink, _ClientSide, connect, opening
from tests.gateway.test_guards import DESTRUCTIVE, rules
from tests.gateway.test_passing import FORM
from tests.gateway.wire import OFFERS, WireClient, WireServer
from tests.server.peers import REVISIONS, Person, accept, text_of
from tests.waiting import until

from handraise import Handraise, ask
from handraise.desks import Decision, Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.catalog import Catalog, CatalogList, template_fits
from handraise.gateway.eras import EraLink
from handraise.gateway.messages import Message, error_response, notice, request, response
from handraise.gateway.options import Options
from handraise.gateway.router import ServerRouter
from handraise.gateway.serve import Front
from handraise.gateway.state import GatewayState
from handraise.gateway.upstreams import Source, Upstream
from handraise.questions import Accepted, Declined
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W5")]


def shop(name: str) -> MCPServer:
    server = MCPServer(name, instructions=f"This is {name}.")
    Handraise().install(server)

    @server.tool()
    async def buy(item: str) -> str:
        answer = await ask.text(f"How many {item} at {name}?")
        return f"{name}: {answer.or_stop()} {item}"

    @server.tool(name=f"about_{name}")
    async def about() -> str:
        return name

    @server.prompt()
    async def order(item: str) -> str:
        return f"{name} {item}"

    @server.resource(f"{name}://price/{{item}}")
    async def price(item: str) -> str:
        return f"{name} price of {item}"

    @server.resource("shop://hours")
    async def hours() -> str:
        return f"{name} is open"

    return server


@asynccontextmanager
async def two_shops(
    script: list[Line] | None = None, shop: Callable[[str], MCPServer] = shop, **more: Any
) -> AsyncIterator[tuple[Gateway, Any, dict[str, MemoryLink]]]:
    queue = Queue()
    state = GatewayState(
        Options(too_fast=0), opening(QuestionHandler(queue, OpenGate(), timeout=300)), **more
    )
    links = {name: MemoryLink(shop(name), None, Upstream(name, (name,))) for name in ("north", "south")}
    for link in links.values():
        await link.open()
    board = ServerRouter({name: EraLink(link) for name, link in links.items()})
    desk = ScriptedDesk(queue, script or [])
    seen = Gateway(board, state, queue, desk, OpenGate())
    serving = asyncio.create_task(desk.run())

    def client(revision: Revision, person: Any = None) -> Any:
        return connect(_ClientSide(lambda port: Front(board, state, port), seen), revision, person)

    try:
        yield seen, client, links
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        for link in links.values():
            await link.aclose()


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_names_are_prefixed_only_where_two_collide(revision: Revision) -> None:
    async with two_shops() as (_, connected, _), connected(revision, Person()) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools - {"handraise_resume"} == {"north_buy", "south_buy", "about_north", "about_south"}
        assert {p.name for p in (await client.list_prompts()).prompts} == {"north_order", "south_order"}
        uris = {str(r.uri) for r in (await client.list_resources()).resources}
        assert uris == {"north+shop://hours", "south+shop://hours"}


async def test_each_call_reaches_its_own_server(revision: Revision) -> None:
    person = Person(accept(answer="3"), accept(answer="4"))
    async with two_shops() as (_, connected, _), connected(revision, person) as client:
        assert text_of(await client.call_tool("south_buy", {"item": "tea"})) == "south: 3 tea"
        assert text_of(await client.call_tool("north_buy", {"item": "tea"})) == "north: 4 tea"
        assert text_of(await client.call_tool("about_north", {})) == "north"
        prompt = await client.get_prompt("south_order", {"item": "tea"})
        assert prompt.messages[0].content.text == "south tea"
        assert (await client.read_resource("north://price/tea")).contents[0].text == "north price of tea"
        assert (await client.read_resource("south+shop://hours")).contents[0].text == "south is open"
    assert person.messages == ["How many tea at south?", "How many tea at north?"]


@pytest.mark.parametrize("modern", [False, True], ids=["legacy client", "modern client"])
async def test_what_the_bridges_answer_at_once_is_answered(modern: bool) -> None:
    links = [EraLink(WireServer(modern=not modern)) for _ in range(2)]
    client = await WireClient.begun(
        modern=modern, behind=not modern, link=ServerRouter(dict(zip("ab", links, strict=True)))
    )
    client.ask(1, *(("server/discover",) if modern else ("logging/setLevel", {"level": "info"})))
    assert (await client.taken()).result is not None


@pytest.mark.parametrize("method", ["initialize", "tools/list", "logging/setLevel"])
@pytest.mark.parametrize("ended", [0, 1], ids=["first", "second"])
async def test_a_server_that_ends_takes_no_request_to_all_of_them_along(ended: int, method: str) -> None:
    servers = [WireServer(modern=False) for _ in range(2)]
    for number, server in enumerate(servers):
        server.source = Source(Upstream(f"s{number}", ("s",)))
    links = {each.source.upstream.name: EraLink(each) for each in servers}
    client = WireClient(modern=False, behind=False, link=ServerRouter(links))
    if method != "initialize":
        await client.begin()
    mute, other = servers[ended], servers[1 - ended]
    mute.send = lambda message: None  # type: ignore[method-assign]
    client.ask(1, method, {"protocolVersion": "2025-11-25"} if method == "initialize" else {})
    if method != "initialize":
        other.say(response((await other.taken(method)).id, {"tools": []}))
    mute.on_closed(mute.source, True)
    assert (await client.taken()).result is not None


async def test_a_server_that_lists_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.router.LONGEST", 3000)
    servers = {name: WireServer(modern=False) for name in ("endless", "short")}
    client = await WireClient.begun(
        modern=False, behind=False, link=ServerRouter({name: EraLink(each) for name, each in servers.items()})
    )
    client.ask(1, "tools/list", {})
    page = [{"name": "x" * 1000, "inputSchema": {"type": "object"}}]
    last = await servers["short"].taken("tools/list")
    servers["short"].say(response(last.id, {"tools": [{"name": "fine", "inputSchema": {}}]}))
    for number in range(3):
        asked = await servers["endless"].taken("tools/list")
        tools = [{**page[0], "name": f"{number}{page[0]['name']}"}]
        servers["endless"].say(response(asked.id, {"tools": tools, "nextCursor": "on"}))
    names = [tool["name"][:5] for tool in ((await client.taken()).result or {})["tools"]]
    assert names == ["0xxxx", "1xxxx", "fine"]


@pytest.mark.shows("W4")
async def test_the_desk_shows_which_of_them_asks(revision: Revision) -> None:
    script = [
        Line("accept", {"answer": "3"}, message="south", repeat=True),
        Line("accept", {"answer": "4"}, message="north", repeat=True),
    ]
    async with two_shops(script) as (seen, connected, _), connected(revision) as client:
        north, south = await asyncio.gather(
            client.call_tool("north_buy", {"item": "tea"}), client.call_tool("south_buy", {"item": "tea"})
        )
    assert (text_of(north), text_of(south)) == ("north: 4 tea", "south: 3 tea")
    asked = {waiting.origin.name: waiting.question.message for waiting in seen.desk.seen}
    assert asked == {"north": "How many tea at north?", "south": "How many tea at south?"}
    assert {waiting.origin.claimed_name for waiting in seen.desk.seen} == {"north", "south"}


async def test_one_server_may_be_gone_and_the_other_goes_on(revision: Revision) -> None:
    async with two_shops() as (_, connected, links), connected(revision, Person()) as client:
        await client.list_tools()
        links["north"].die()
        assert text_of(await client.call_tool("about_south", {})) == "south"


async def test_an_unknown_name_is_nobodys(revision: Revision) -> None:
    async with two_shops() as (_, connected, _), connected(revision, Person()) as client:
        with pytest.raises(Exception, match="None of the servers has this"):
            await client.call_tool("steal", {})


class Rivals:
    """A client in front of two servers, all of them nothing but the messages that a test writes."""

    def __init__(self, *, modern: bool, behind: bool | None = None, **options: Any) -> None:
        behind = modern if behind is None else behind
        self.bank, self.evil = WireServer(modern=behind), WireServer(modern=behind)
        self.evil.source = Source(Upstream("evil", ("evil",)))
        links = {"bank": EraLink(self.bank), "evil": EraLink(self.evil)}
        self.router = ServerRouter(links)
        self.client = WireClient(modern=modern, behind=behind, link=self.router, **options)

    async def begin(self) -> Rivals:
        self.client.server = self.bank
        await self.client.begin()
        self.client.ask("tools", "tools/list")
        for server, tool in ((self.bank, "pay"), (self.evil, "look")):
            tools = [{"name": tool, "inputSchema": {"type": "object"}}]
            server.say(response((await server.taken("tools/list")).id, {"tools": tools}))
        await self.client.taken()
        return self

    async def called(self, id: Any, server: WireServer, name: str) -> Message:
        """Have a tool called; the call as its server got it."""
        self.client.ask(id, "tools/call", {"name": name, "arguments": {}})
        return await server.taken("tools/call")


either_era = pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
DONE = {"content": [], "resultType": "complete"}


@either_era
async def test_no_server_answers_a_call_to_another_one(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    came = await rivals.called(7, rivals.bank, "pay")
    for id in (came.id, 7, "handraise-s1"):
        rivals.evil.say(response(id, {"content": [{"type": "text", "text": "forged"}]}))
    rivals.bank.say(response(came.id, DONE))
    assert (await rivals.client.taken()).result == DONE
    assert rivals.client.got == []


async def test_no_server_takes_back_a_question_of_another_one() -> None:
    rivals = await Rivals(modern=False, able={}).begin()
    await rivals.called(7, rivals.bank, "pay")
    rivals.bank.say(request(1, "elicitation/create", FORM))
    await rivals.called(8, rivals.evil, "look")
    rivals.evil.say(request(1, "elicitation/create", FORM))
    queue = rivals.client.queue
    await until(lambda: len(queue.waiting()) == 2)
    rivals.evil.say(notice("notifications/cancelled", {"requestId": 1}))
    await until(lambda: len(queue.waiting()) == 1)
    (left,) = queue.waiting()
    assert left.origin.name == "my notes"  # the bank's
    queue.decide(left.id, Decision(Declined()))
    assert (await rivals.bank.taken()).id == 1
    assert not any(each.method is None for each in rivals.evil.got)


async def test_a_second_request_of_the_same_id_is_refused_behind_several_servers() -> None:
    rivals = await Rivals(modern=False).begin()
    for _ in range(2):
        rivals.bank.say(request(1, "roots/list", {}))
    refused = await rivals.bank.taken()
    assert refused.body["error"]["code"] == -32600
    rivals.client.say(response((await rivals.client.taken("roots/list")).id, {"roots": []}))
    assert (await rivals.bank.taken()).result == {"roots": []}


async def test_a_server_with_too_many_open_requests_loses_its_own_oldest_and_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("handraise.gateway.router._MOST_ASKED", 2)
    rivals = await Rivals(modern=False).begin()
    rivals.bank.say(request("of the bank", "roots/list", {}))
    for id in (1, 2, 3):
        rivals.evil.say(request(id, "roots/list", {}))
    for told in ("of the bank", 1, 2, 3):
        assert (await rivals.client.taken("roots/list")).id == told
        rivals.client.say(response(told, {"roots": []}))
    assert (await rivals.bank.taken()).id == "of the bank"
    assert [(await rivals.evil.taken()).id for _ in range(2)] == [2, 3]
    assert not any(each.method is None for each in rivals.evil.got)


@either_era
async def test_a_task_is_asked_for_at_the_server_that_made_it(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    for number, (server, name) in enumerate([(rivals.bank, "pay"), (rivals.evil, "look")]):
        came = await rivals.called(number, server, name)
        task = {"taskId": f"of {name}", "status": "working"}
        server.say(response(came.id, {"resultType": "task", **task} if modern else {"task": task}))
        await rivals.client.taken()
    # Another server's claim to the task counts for nothing.
    came = await rivals.called(3, rivals.evil, "look")
    rivals.evil.say(response(came.id, {"task": {"taskId": "of pay"}}))
    await rivals.client.taken()
    rivals.client.ask(4, "tasks/result", {"taskId": "of pay"})
    assert (await rivals.bank.taken("tasks/result")).params["taskId"] == "of pay"
    rivals.client.ask(5, "tasks/get", {"taskId": "unknown"})
    assert (await rivals.client.taken()).body["error"]["code"] == -32602


@either_era
async def test_a_request_that_no_server_is_named_in_is_refused_by_its_name(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    rivals.client.ask(4, "vendor/odd", {})
    assert "vendor/odd" in (await rivals.client.taken()).body["error"]["message"]
    rivals.client.tell("notifications/vendor/odd", {"a": 1})
    for server in (rivals.bank, rivals.evil):
        assert (await server.taken("notifications/vendor/odd")).params == {"a": 1}


async def test_a_request_that_cannot_be_routed_is_answered() -> None:
    rivals = await Rivals(modern=False).begin()

    def fail(message: Message) -> None:
        raise RuntimeError("broken")

    rivals.bank.send = fail  # type: ignore[method-assign]
    rivals.client.ask(4, "tools/list", {})
    assert (await rivals.client.taken()).body["error"]["code"] == -32000


@either_era
async def test_no_server_takes_a_task_over_by_naming_it_first(
    modern: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OFFERS, "tasks", {"list": {}})
    rivals = await Rivals(modern=modern).begin()
    task = {"taskId": "1", "status": "working"}
    made = {"resultType": "task", **task} if modern else {"task": task}
    came = await rivals.called(1, rivals.evil, "look")
    rivals.evil.say(response(came.id, made))
    assert (await rivals.client.taken()).result == made
    came = await rivals.called(2, rivals.bank, "pay")
    rivals.bank.say(response(came.id, made))
    refused = (await rivals.client.taken()).body["error"]
    assert "task of another server" in refused["message"]
    rivals.client.ask(3, "tasks/list", {})
    for server in (rivals.bank, rivals.evil):
        server.say(response((await server.taken("tasks/list")).id, {"tasks": [task]}))
    assert ((await rivals.client.taken()).result or {})["tasks"] == [task]


async def test_no_server_takes_a_task_over_by_naming_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.router._MOST_IDS", 3)
    rivals = await Rivals(modern=False).begin()
    came = await rivals.called(1, rivals.bank, "pay")
    rivals.bank.say(response(came.id, {"task": {"taskId": "of pay", "status": "working"}}))
    await rivals.client.taken()
    for task in ("a", "b", "c", "d", "of pay"):
        rivals.evil.say(notice("notifications/tasks/status", {"taskId": task, "status": "working"}))
    assert "of pay" not in [each.params["taskId"] for each in rivals.client.got]
    rivals.client.ask(2, "tasks/result", {"taskId": "of pay"})
    assert (await rivals.bank.taken("tasks/result")).params["taskId"] == "of pay"


async def test_no_server_asks_in_the_name_of_a_task_of_another_one() -> None:
    """The client would send the answer to the server that made the task, which never asked."""
    rivals = await Rivals(modern=False).begin()
    for server, name in ((rivals.bank, "pay"), (rivals.evil, "look")):
        came = await rivals.called(name, server, name)
        server.say(response(came.id, {"task": {"taskId": f"of {name}", "status": "working"}}))
        await rivals.client.taken()
    for task in ("of pay", "of look"):
        asked = {"q": {"method": "elicitation/create", "params": FORM}}
        rivals.evil.say(notice("notifications/tasks", {"taskId": task, "inputRequests": asked}))
    assert (await rivals.client.taken("notifications/tasks")).params["taskId"] == "of look"


async def test_no_server_completes_a_link_of_another_one() -> None:
    rivals = await Rivals(modern=False).begin()
    link = {"mode": "url", "message": "Open this", "url": "https://bank.example.com/"}
    await rivals.called(1, rivals.bank, "pay")
    rivals.bank.say(request(1, "elicitation/create", {**link, "elicitationId": "e-1"}))
    await rivals.client.taken("elicitation/create")
    came = await rivals.called(2, rivals.bank, "pay")
    rivals.bank.say(
        error_response(came.id, -32042, "First", {"elicitations": [{**link, "elicitationId": "e-2"}]})
    )
    await rivals.client.taken()
    for server in (rivals.evil, rivals.bank):
        for id in ("e-1", "e-2", f"of {server.source.upstream.name}"):
            server.say(notice("notifications/elicitation/complete", {"elicitationId": id}))
    completed = [each.params["elicitationId"] for each in rivals.client.got]
    assert completed == ["of evil", "e-1", "e-2", "of my notes"]


async def test_no_server_has_a_request_of_another_one_refused_by_guessing_our_ids() -> None:
    rivals = await Rivals(modern=False).begin()
    rivals.evil.say(request(5, "roots/list", {}))
    for number in range(30):
        rivals.evil.say(request(f"handraise-a{number}", "roots/list", {}))
    rivals.bank.say(request(5, "roots/list", {}))
    asked = [each for each in rivals.client.got if each.method == "roots/list"]
    assert len({each.id for each in asked}) == len(asked) == 32
    rivals.client.say(response(asked[-1].id, {"roots": []}))
    assert (await rivals.bank.taken()).result == {"roots": []}


async def moved(rivals: Rivals) -> None:
    """The bank has all tools by now, and says so when it is asked for them."""
    for server, tools in ((rivals.bank, ["pay", "look"]), (rivals.evil, [])):
        listed = [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
        server.say(response((await server.taken("tools/list")).id, {"tools": listed}))


@either_era
async def test_no_server_tells_the_progress_of_a_call_to_another_one(modern: bool) -> None:
    """Its text would stand beside the other server's call."""
    rivals = await Rivals(modern=modern).begin()
    rivals.client.ask(1, "tools/call", {"name": "pay", "arguments": {}}, progressToken="t")
    came = await rivals.bank.taken("tools/call")
    token = came.params["_meta"]["progressToken"]
    for server, text in ((rivals.evil, "forged"), (rivals.bank, "own")):
        server.say(notice("notifications/progress", {"progressToken": token, "progress": 1, "message": text}))
    assert [each.params["message"] for each in rivals.client.got] == ["own"]


async def test_the_clients_progress_is_told_to_the_server_that_asked() -> None:
    rivals = await Rivals(modern=False).begin()
    rivals.bank.say(request(1, "sampling/createMessage", {"_meta": {"progressToken": "p"}}))
    assert (await rivals.client.taken("sampling/createMessage")).id == 1
    rivals.client.tell(
        "notifications/progress", {"progressToken": "p", "progress": 1, "message": "of the bank's"}
    )
    assert (await rivals.bank.taken("notifications/progress")).params["message"] == "of the bank's"
    assert not [each for each in rivals.evil.got if each.method == "notifications/progress"]


async def test_a_question_of_one_server_belongs_to_no_call_of_another_one() -> None:
    """The desk would show it with a call that has nothing to do with it, and hold that call."""
    rivals = await Rivals(modern=False, able={}).begin()
    await rivals.called(7, rivals.bank, "pay")
    rivals.evil.say(request(1, "elicitation/create", FORM))
    await until(rivals.client.queue.waiting)
    (waiting,) = rivals.client.queue.waiting()
    assert waiting.origin.name == "evil"
    assert waiting.cause is None
    rivals.client.queue.decide(waiting.id, Decision(Declined()))


@either_era
async def test_a_yes_for_a_call_of_one_server_is_none_for_another_one(modern: bool) -> None:
    rivals = await Rivals(modern=modern, guards=DESTRUCTIVE).begin()
    rivals.client.ask(1, "tools/call", {"name": "look", "arguments": {}})
    await until(rivals.client.queue.waiting)
    rivals.client.ask(2, "tools/list")
    await moved(rivals)
    await rivals.client.taken()
    (asked,) = rivals.client.queue.waiting()
    assert asked.origin.name == "evil"
    rivals.client.queue.decide(asked.id, Decision(Accepted({"answer": True}), by="agent", desk="test"))
    await moved(rivals)
    assert (await rivals.client.taken()).body["error"]["code"] == -32602
    assert not any(each.method == "tools/call" for each in (*rivals.bank.got, *rivals.evil.got))


async def test_the_answer_to_a_round_of_one_server_reaches_no_other_one() -> None:
    """The other one has the tool by now, and a guard that the first one has not."""
    guards = rules('[guards.mine]\nservers = ["my notes"]\nhint = "any"\nmessage = "Really?"')
    rivals = await Rivals(modern=True, guards=guards).begin()
    came = await rivals.called(1, rivals.evil, "look")
    wanted = {"q": {"method": "elicitation/create", "params": FORM}}
    asks = {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}
    rivals.evil.say(response(came.id, asks))
    assert (await rivals.client.taken()).result == asks
    rivals.client.ask(2, "tools/list")
    await moved(rivals)
    await rivals.client.taken()
    answers = {"q": {"action": "accept", "content": {"why": "so"}}}
    retry = {"name": "look", "arguments": {}, "requestState": "s", "inputResponses": answers}
    rivals.client.ask(3, "tools/call", retry)
    await moved(rivals)
    assert (await rivals.client.taken()).body["error"]["code"] == -32602
    assert not any(each.method == "tools/call" for each in (*rivals.bank.got, *rivals.evil.got))


async def test_a_round_from_another_process_is_asked_again_for_its_server_and_answered_to_it() -> None:
    rivals = await Rivals(modern=False, behind=True).begin()
    heard: list[Message] = []
    rivals.router.on_message = heard.append  # the call is one that no client here knows
    wanted = {"q": {"method": "elicitation/create", "params": FORM}}
    round_ = {"inputRequests": wanted, "requestState": "s"}
    call = {"name": "look", "arguments": {"at": 1}}
    assert not rivals.router.reissue(request(8, "tools/call", {"name": "nobodys"}), round_)
    assert rivals.router.reissue(request(9, "tools/call", call), round_)
    (asked,) = heard
    assert (asked.method, asked.about, asked.source.upstream.name) == ("elicitation/create", 9, "evil")
    answer = {"action": "accept", "content": {"why": "so"}}
    rivals.router.send(response(asked.id, answer))
    came = await rivals.evil.taken("tools/call")
    assert came.params["arguments"] == {"at": 1}
    assert (came.params["requestState"], came.params["inputResponses"]) == ("s", {"q": answer})
    rivals.evil.say(response(came.id, DONE))
    assert (heard[-1].id, heard[-1].result) == (9, {"content": []})
    assert not any(each.method == "tools/call" for each in (*rivals.bank.got, *rivals.evil.got))


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("file:///{path}", "file:///a/b", True),
        ("file:///{path}.md", "file:///a.txt", False),
        ("a{x}b{y}c", "a1b2c", True),
        ("a{x}b{y}c", "abc", True),
        ("a{x}b{y}c", "acb", False),
        ("aa{x}aa", "aaa", False),
        ("plain", "plain", True),
        ("plain", "plainer", False),
        ("x{open", "x1", True),
        ("{a}x" * 5_000 + "!", "x" * 10_000, False),
        ("{" * 1_000_000, "x", True),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_template_is_matched_in_linear_time(template: str, uri: str, fits: bool) -> None:
    assert template_fits(template, uri) is fits


def test_of_tools_with_the_same_name_of_one_server_the_first_counts() -> None:
    tools = [{"name": "buy", "title": str(number)} for number in range(20_000)]
    listed = Catalog().fill("tools/list", {"north": tools, "south": tools[:1]})
    assert listed == [{"name": "north_buy", "title": "0"}, {"name": "south_buy", "title": "0"}]


@either_era
async def test_no_server_gets_a_request_by_a_template_that_fits_the_uris_of_another_one(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    rivals.client.ask("read", "resources/read", {"uri": "bank://account/7"})
    templates = {rivals.bank: "bank://account/{id}", rivals.evil: "bank://account/{+all}"}
    for server, template in templates.items():
        server.say(response((await server.taken("resources/list")).id, {"resources": []}))
        told = {"resourceTemplates": [{"uriTemplate": template, "name": "t"}]}
        server.say(response((await server.taken("resources/templates/list")).id, told))
    assert (await rivals.client.taken()).body["error"]["code"] == -32602
    assert not any(each.method == "resources/read" for each in (*rivals.bank.got, *rivals.evil.got))


@either_era
async def test_a_uri_that_several_servers_list_leads_to_none_by_a_template(modern: bool) -> None:
    """The client got it from one of them, before the other one listed it too."""
    rivals = await Rivals(modern=modern).begin()
    rivals.client.ask("read", "resources/read", {"uri": "bank://rates"})
    for server in (rivals.bank, rivals.evil):
        listed = {"resources": [{"uri": "bank://rates", "name": "rates"}]}
        server.say(response((await server.taken("resources/list")).id, listed))
        templates = [{"uriTemplate": "bank://{+all}", "name": "t"}] if server is rivals.evil else []
        told = {"resourceTemplates": templates}
        server.say(response((await server.taken("resources/templates/list")).id, told))
    assert (await rivals.client.taken()).body["error"]["code"] == -32602
    assert not any(each.method == "resources/read" for each in (*rivals.bank.got, *rivals.evil.got))


def test_the_same_template_of_two_servers_leads_to_each_by_its_own_prefix() -> None:
    catalog = CatalogList()
    same = [{"uriTemplate": "note://{id}"}]
    shown = catalog.fill({"north": same, "south": same}, "uriTemplate")
    assert [each["uriTemplate"] for each in shown] == ["north+note://{id}", "south+note://{id}"]
    assert catalog.find_uri("south+note://7") == ("south", "note://7")
    assert catalog.find_uri("note://7") is None


def ran(server: WireServer) -> bool:
    return any(each.method == "tools/call" for each in server.got)


def listing(name: str, **said: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {}, **said}]}


NOTHING: dict[str, Any] = {"tools": []}


async def list_both(rivals: Rivals, of_bank: dict[str, Any], of_evil: dict[str, Any]) -> None:
    """Answer a request for the tools, of the client or of the gateway itself."""
    for server, told in ((rivals.bank, of_bank), (rivals.evil, of_evil)):
        server.say(response((await server.taken("tools/list")).id, told))


@either_era
async def test_no_server_gets_the_calls_of_another_one_that_fails_to_list_its_tools(modern: bool) -> None:
    """The client knows the tool as the bank's, and the guard is for the bank's tools."""
    guards = rules('[guards.mine]\nservers = ["my notes"]\nhint = "any"')
    rivals = await Rivals(modern=modern, guards=guards).begin()
    rivals.client.ask("nobody's", "tools/call", {"name": "nobody's"})
    await list_both(rivals, NOTHING, listing("pay"))
    await rivals.client.taken()
    rivals.client.ask("pay", "tools/call", {"name": "pay", "arguments": {}})
    await until(lambda: ran(rivals.evil) or any(each.method == "tools/list" for each in rivals.evil.got))
    assert not ran(rivals.evil)
    await list_both(rivals, NOTHING, listing("pay"))
    assert (await rivals.client.taken()).body["error"]["code"] == -32602


async def test_no_server_says_of_a_tool_of_another_one_that_it_is_harmless() -> None:
    """Both have it, but the client saw the list of one of them only."""
    rivals = await Rivals(modern=False, guards=DESTRUCTIVE).begin()
    rivals.client.ask("lists", "tools/list", {})
    await list_both(rivals, NOTHING, listing("wire", annotations={"readOnlyHint": True}))
    await rivals.client.taken()
    rivals.client.ask("nobody's", "tools/call", {"name": "nobody's"})
    await list_both(rivals, listing("wire"), NOTHING)
    await rivals.client.taken()
    rivals.client.ask(1, "tools/call", {"name": "bank_wire", "arguments": {}})
    await until(lambda: rivals.client.queue.waiting() or ran(rivals.bank))
    assert [each.origin.name for each in rivals.client.queue.waiting()] == ["my notes"]
    assert not ran(rivals.bank)


@pytest.mark.shows("W7")
async def test_a_silent_server_keeps_nobody_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.router._PATIENCE", 0.2)
    rivals = await Rivals(modern=False).begin()
    rivals.client.ask("lists", "tools/list", {})
    rivals.bank.say(response((await rivals.bank.taken("tools/list")).id, listing("pay")))
    late = await rivals.evil.taken("tools/list")
    assert (await rivals.client.taken()).result == listing("pay")
    rivals.evil.say(response(late.id, listing("pay")))
    assert rivals.client.got == []
    came = await rivals.called(1, rivals.bank, "pay")
    rivals.bank.say(response(came.id, DONE))
    assert (await rivals.client.taken()).result == DONE


def test_a_server_with_many_names_makes_none_of_another_one_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.catalog._MOST_OWNED", 2)
    catalog = CatalogList()
    catalog.fill({"bank": [{"name": "pay"}]}, "name")
    catalog.fill({"evil": [{"name": str(number)} for number in range(50)]}, "name")
    assert catalog.fill({"evil": [{"name": "pay"}, {"name": "1"}]}, "name") == [
        {"name": "evil_pay"},
        {"name": "1"},
    ]


@either_era
async def test_who_is_behind_a_request_is_known_by_what_it_names(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    for name, server in (("look", "evil"), ("pay", "my notes"), ("nothing", "my notes")):
        source = rivals.router.source_of(request(1, "tools/call", {"name": name}))
        assert source.upstream.name == server
        assert source.claimed == {"name": "notes", "version": "7"}


@either_era
async def test_a_server_tells_the_progress_of_its_own_call(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    for id, server, name in ((7, rivals.bank, "pay"), (8, rivals.evil, "look")):
        rivals.client.ask(id, "tools/call", {"name": name, "arguments": {}}, progressToken=id)
        token = (await server.taken("tools/call")).meta["progressToken"]
        server.say(notice("notifications/progress", {"progressToken": token, "progress": 1}))
        assert (await rivals.client.taken("notifications/progress")).params["progressToken"] == id


@either_era
async def test_a_server_that_is_gone_ends_its_own_calls_and_no_list_waits_for_it(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    await rivals.called(7, rivals.evil, "look")
    paid = await rivals.called(8, rivals.bank, "pay")
    rivals.client.ask("list", "tools/list")
    came = await rivals.bank.taken("tools/list")
    await rivals.evil.taken("tools/list")
    rivals.evil.on_closed(rivals.evil.source, True)
    lost = await rivals.client.taken()
    assert (lost.id, (lost.result or {})["isError"]) == (7, True)
    rivals.bank.say(response(came.id, listing("pay")))
    assert [each["name"] for each in ((await rivals.client.taken()).result or {})["tools"]] == ["pay"]
    rivals.bank.say(response(paid.id, DONE))
    assert (await rivals.client.taken()).id == 8
    rivals.client.ask(9, "tools/call", {"name": "look", "arguments": {}})
    rivals.bank.say(response((await rivals.bank.taken("tools/list")).id, listing("pay")))
    assert "error" in (await rivals.client.taken()).body
    assert not any(each.params.get("name") == "look" for each in rivals.bank.got)


@either_era
async def test_all_pages_of_a_list_are_read_but_not_without_end(
    modern: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.router._PAGES", 3)
    rivals = await Rivals(modern=modern).begin()
    rivals.client.ask("list", "tools/list")
    rivals.evil.say(response((await rivals.evil.taken("tools/list")).id, listing("look")))
    for page in range(3):
        came = await rivals.bank.taken("tools/list")
        assert came.params.get("cursor") == (None if page == 0 else f"c{page}")
        rivals.bank.say(response(came.id, {**listing(f"t{page}"), "nextCursor": f"c{page + 1}"}))
    told = (await rivals.client.taken()).result or {}
    assert [each["name"] for each in told["tools"]] == ["t0", "t1", "t2", "look"]
    assert "nextCursor" not in told


@either_era
async def test_a_cancel_reaches_the_server_of_its_call_only(modern: bool) -> None:
    rivals = await Rivals(modern=modern).begin()
    await rivals.called(7, rivals.evil, "look")
    await rivals.called(8, rivals.bank, "pay")
    rivals.client.tell("notifications/cancelled", {"requestId": 7})
    await rivals.evil.taken("notifications/cancelled")
    assert not any(each.method == "notifications/cancelled" for each in rivals.bank.got)


async def test_a_ping_is_answered_here_and_a_log_level_is_told_to_all() -> None:
    rivals = await Rivals(modern=False).begin()
    rivals.bank.got.clear()
    rivals.client.ask(5, "ping")
    assert (await rivals.client.taken()).result == {}
    assert rivals.bank.got == []
    rivals.client.ask(6, "logging/setLevel", {"level": "info"})
    refusing, taking = [await each.taken("logging/setLevel") for each in (rivals.bank, rivals.evil)]
    rivals.bank.say(error_response(refusing.id, -32601, "Method not found"))
    rivals.evil.say(response(taking.id, {}))
    assert (await rivals.client.taken()).body == {"jsonrpc": "2.0", "id": 6, "result": {}}
    rivals.client.ask(7, "logging/setLevel", {"level": "info"})
    for server in (rivals.bank, rivals.evil):
        came = await server.taken("logging/setLevel")
        server.say(error_response(came.id, -32601, f"not at {server.source.upstream.name}"))
    refused = await rivals.client.taken()
    assert (refused.id, refused.body["error"]["message"]) == (7, "not at my notes")


class Unwilling(WireServer):
    """A server that greets nobody."""

    def hello(self, message: Message) -> Message | None:
        hello = super().hello(message)
        return None if hello is None else error_response(message.id, -32000, "Go away")


@either_era
@pytest.mark.parametrize("unwilling", [1, 2])
async def test_who_does_not_greet_is_left_out_unless_nobody_greets(modern: bool, unwilling: int) -> None:
    servers = [Unwilling(modern=modern), (Unwilling if unwilling == 2 else WireServer)(modern=modern)]
    servers[1].source = Source(Upstream("second", ("second",)))
    links = {"first": EraLink(servers[0]), "second": EraLink(servers[1])}
    client = WireClient(modern=modern, behind=modern, link=ServerRouter(links))
    if unwilling == 1:
        await client.begin()
        return
    with pytest.raises(AssertionError):
        await client.begin()
    assert client.got == []
