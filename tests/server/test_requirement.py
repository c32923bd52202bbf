"""`ask.require`: -32042 on 2025-11-25, a round on 2026-07-28, and a link that is remembered for its person."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import DECLINE, Person, connect, runtime_of, text_of
from tests.server.rounds import by_hand, sign_in

from handraise import Handraise, SqliteStore, UrlQuestion, ask, complete
from handraise import Person as Somebody
from handraise.errors import UnsafeUrl
from handraise.revisions import Revision
from handraise.server.client_requests import UrlRequest
from handraise.server.served import ServedCall, current_call
from handraise.stores import MemoryStore
from handraise.this_user import local_person

URL = "https://mcp.example.com/connect?e=Zk3q"


WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


ACCEPT = types.ElicitResult(action="accept")


def gate(name: str = "gate", **options: Any) -> MCPServer:
    """A server whose tools need a link first that has no id of the author's."""
    server = Handraise(**options).install(MCPServer(name))

    @server.tool()
    async def enter() -> str:
        await ask.require(URL, timeout=30)
        return "inside"

    @server.tool()
    async def look() -> str:
        await ask.require(UrlQuestion("Please look.", URL + "&look"), timeout=30)
        return "seen"

    return server


async def required_id(client: Any, tool: str = "enter") -> str:
    with pytest.raises(MCPError) as needed:
        await client.call_tool(tool)
    assert needed.value.code == -32042
    return str(needed.value.data["elicitations"][0]["elicitationId"])


@pytest.mark.shows("L3", "X4")
@pytest.mark.parametrize("durable", [False, True], ids=["memory", "another process"])
async def test_a_required_link_without_an_id_is_remembered_for_the_person_and_server(
    durable: bool, tmp_path: Any
) -> None:
    november, path = Revision.NOVEMBER_2025, tmp_path / "store.db"
    store: Any = path if durable else MemoryStore()
    server, other = gate(store=store), gate("other", store=store)
    async with connect(server, november, Person()) as client, connect(other, november, Person()) as another:
        chosen = await required_id(client)
        again = gate(store=path) if durable else server  # as another process that shares the store has it
        async with connect(again, november, Person()) as second:
            assert await required_id(second) == chosen, "it is one question, until it is finished"
            ids = {chosen, await required_id(client, "look"), await required_id(another)}
            assert len(ids) == 3
            await complete(chosen, person=local_person())
            for each in (client, second):
                assert text_of(await each.call_tool("enter")) == "inside"
        assert {await required_id(client, "look"), await required_id(another)} == ids - {chosen}


@pytest.mark.shows("L3")
async def test_a_required_link_without_an_id_is_another_ones_for_another_person() -> None:
    server, chosen = gate(hold=0.05), {}
    async with by_hand(server) as rounds:
        for name in ("ada", "mallory"):
            sign_in(name)
            await rounds.call("enter", {})
            flows = runtime_of(server).flows.store._flows  # type: ignore[attr-defined]
            chosen[name] = next(
                f.elicitation_id
                for f in flows.values()
                if f.person == Somebody("https://id.example", name, "token").key
            )
        await complete(chosen["ada"], person=Somebody("https://id.example", "ada", "token"))
        assert (await rounds.call("enter", {}))["resultType"] == "input_required"
        sign_in("ada")
        assert (await rounds.call("enter", {}))["content"][0]["text"] == "inside"
        sign_in(None)


@pytest.mark.shows("L3", "L4")
async def test_a_required_link_without_an_id_is_finished_once_on_the_modern_revision(tmp_path: Any) -> None:
    path = tmp_path / "store.db"
    server, elsewhere = gate(store=path), SqliteStore(path)

    async def finish(_params: Any) -> types.ElicitResult:
        about = UrlRequest(UrlQuestion("", URL))
        chosen = (await about.remembered(calls[-1])).question.elicitation_id
        await complete(str(chosen), person=calls[-1].person, store=elsewhere)
        return ACCEPT

    calls: list[ServedCall] = []

    @server.tool()
    async def twice() -> str:
        calls.append(current_call())
        await ask.require(URL, timeout=30)
        await ask.require(URL, timeout=30)
        return "inside"

    async with connect(server, Revision.JULY_2026, Person(finish)) as client:
        assert text_of(await client.call_tool("twice")) == "inside"
        assert text_of(await client.call_tool("enter")) == "inside"
    await elsewhere.aclose()


@pytest.mark.shows("L3", "C9")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_what_is_remembered_of_a_required_link_ends_with_its_time(revision: Revision) -> None:
    store = MemoryStore()
    server = Handraise(store=store).install(MCPServer("gate"))

    @server.tool()
    async def enter() -> str:
        await ask.require(URL, timeout=0.2)
        return "inside"

    async with connect(server, revision, Person(DECLINE)) as client:
        if revision.legacy:
            await required_id(client)
        else:
            assert (await client.call_tool("enter")).is_error
        assert len(store._flows) == 2
        await store.prune(store.now() + 1)
        assert store._flows == {}


@pytest.mark.shows("L6")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_an_unsafe_link_is_not_required_either(revision: Revision) -> None:
    server = Handraise().install(MCPServer("bank"))

    @server.tool()
    async def files() -> str:
        try:
            await ask.require("https://example.com/?access_token=abcdefghijklmnop")
        except UnsafeUrl:
            return "refused"
        return "files"

    async with connect(server, revision, Person()) as client:
        assert text_of(await client.call_tool("files")) == "refused"


@pytest.mark.shows("L3")
async def test_everything_that_is_required_first_is_listed_at_once() -> None:
    server = Handraise().install(MCPServer("bank"))

    @server.tool()
    async def files() -> str:
        await ask.require(UrlQuestion("Sign here.", URL, "one"), UrlQuestion("And here.", URL, "two"))
        return "files"

    async with connect(server, Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("files")
    listed = needed.value.data["elicitations"]
    assert [link["elicitationId"] for link in listed] == ["one", "two"]


@pytest.mark.shows("O1", "O3")
async def test_a_no_to_one_of_several_that_are_required_ends_the_call_at_once() -> None:
    server = Handraise(hold=30).install(MCPServer("bank"))

    @server.tool()
    async def files() -> str:
        await ask.require("https://mcp.example.com/one", "https://mcp.example.com/two")
        return "files"

    async with connect(server, Revision.JULY_2026, Person(ACCEPT, DECLINE)) as client:
        with anyio.fail_after(60):
            declined = await client.call_tool("files")
    assert text_of(declined) == "The person declined."


@pytest.mark.shows("N6", "L3")
async def test_the_first_revision_has_no_links_whatever_its_client_declares() -> None:
    async with connect(gate(), Revision.JUNE_2025, Person(), modes="form url") as client:
        assert "their client cannot" in text_of(await client.call_tool("enter"))
