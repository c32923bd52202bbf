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
from tests.server.peers import REVISIONS, Person, accept, text_of

from handraise import Handraise, ask
from handraise.desks import Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.gateway.asking import Asking
from handraise.gateway.bridges.eras import EraLink
from handraise.gateway.front import Front
from handraise.gateway.home import Home
from handraise.gateway.options import Options
from handraise.gateway.several.switchboard import Switchboard
from handraise.gateway.upstreams import Upstream
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
    home = Home(Options(), opening(Asking(queue, OpenGate(), timeout=300)), **more)
    links = {name: MemoryLink(shop(name), None, Upstream(name, (name,))) for name in ("north", "south")}
    for link in links.values():
        await link.open()
    board = Switchboard({name: EraLink(link) for name, link in links.items()})
    desk = ScriptedDesk(queue, script or [])
    seen = Gateway(board, home, queue, desk, OpenGate())
    serving = asyncio.create_task(desk.serve())

    def client(revision: Revision, person: Any = None) -> Any:
        return connect(_ClientSide(lambda port: Front(board, home, port), seen), revision, person)

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
