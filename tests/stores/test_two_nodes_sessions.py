"""Legacy sessions on two node processes behind a load balancer that sends no request where the last one went."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.postgres import PostgresServer
from tests.stores.cluster import Cluster, Program, running_cluster

from handraise.revisions import Revision
from handraise.testing import ScriptedPerson, connect

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.anyio]

CONVERSATIONS = int(os.environ.get("HANDRAISE_CONVERSATIONS", "200"))
CLIENTS = 20
ROUTED = {"sessions": "routed"}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "bare", "version": "1"},
    },
}
LEGACY = (Revision.JUNE_2025, Revision.NOVEMBER_2025)


class Person(ScriptedPerson):
    """Answers every question with a name of their own."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.was_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.was_asked.set()
        await self.may_answer.wait()
        return types.ElicitResult(action="accept", content={"answer": self.name})


def talking(cluster: Cluster, revision: Revision, person: Person) -> Any:
    return connect(cluster.url, revision, person, modes=("form",), read_timeout_seconds=30.0)


async def say(client: Client, tool: str, job: str) -> str:
    result = await client.call_tool(tool, {"job": job})
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def routed(postgres: PostgresServer, nursery: Program) -> Iterator[Cluster]:
    with running_cluster(nursery, postgres.new_database(), ROUTED, ROUTED) as cluster:
        yield cluster


@pytest.mark.shows("X2", "S1")
async def test_hundreds_of_legacy_conversations_ask_in_body_without_sticky_routing_and_none_fails(
    routed: Cluster,
) -> None:
    ends: list[str] = []

    async def converse(number: int) -> None:
        person = Person(f"p{number}")
        async with talking(routed, LEGACY[number % 2], person) as client:
            for at in range(CONVERSATIONS // CLIENTS):
                ends.append(await say(client, "twice", f"{number}.{at}"))
                assert ends[-1] == f"{number}.{at} p{number} p{number}"

    await asyncio.gather(*(converse(number) for number in range(CLIENTS)))
    uses = routed.uses()
    assert len(ends) == len(uses) == CONVERSATIONS // CLIENTS * CLIENTS
    assert {len(each) for each in uses.values()} == {1}


@pytest.mark.shows("X2")
async def test_when_the_node_of_a_session_is_killed_its_call_ends_and_the_client_starts_anew(
    routed: Cluster,
) -> None:
    for revision in LEGACY:
        person = Person("ada")
        async with talking(routed, revision, person) as client:
            home = int((await say(client, "parked", "where")).split()[-1])
            person.was_asked.clear()
            person.may_answer.clear()
            call = asyncio.ensure_future(say(client, "parked", f"lost {revision}"))
            await asyncio.wait_for(person.was_asked.wait(), 10)
            routed.kill(next(node for node in routed.nodes if node.pid == home))
            with pytest.raises(MCPError, match="ended without a response"):
                await asyncio.wait_for(call, 10)
            with pytest.raises(MCPError, match="Session not found"):
                await say(client, "parked", "again")
        routed.start(ROUTED)
        async with talking(routed, revision, Person("bob")) as client:
            assert f"anew {revision} bob" in await say(client, "parked", f"anew {revision}")
    assert not [line for line in routed.done() if line.startswith(("lost", "again")) and " used " in line]


@pytest.mark.shows("X2")
async def test_when_a_node_is_killed_that_carries_a_call_to_another_the_call_ends_and_its_session_goes_on(
    routed: Cluster,
) -> None:
    for revision in LEGACY:
        home, carrier = routed.nodes
        person, job = Person("ada"), f"carried-{revision}"
        routed.send_to(home)
        async with talking(routed, revision, person) as client:
            assert f"where ada on {home.pid}" == await say(client, "parked", "where")
            routed.send_to(carrier)
            person.was_asked.clear()
            person.may_answer.clear()
            call = asyncio.ensure_future(say(client, "parked", job))
            await asyncio.wait_for(person.was_asked.wait(), 10)
            routed.kill(carrier)
            with pytest.raises(MCPError, match="ended without a response"):
                await asyncio.wait_for(call, 10)
            person.may_answer.set()
            assert f"next ada on {home.pid}" == await say(client, "parked", "next")
        assert len(routed.uses().get(job, [])) <= 1
        routed.start(ROUTED)


@pytest.mark.shows("X2")
async def test_where_nodes_cannot_reach_each_other_an_answer_still_goes_by_the_store(
    postgres: PostgresServer, nursery: Program
) -> None:
    apart = {"sessions": "letters"}
    with running_cluster(nursery, postgres.new_database(), apart, apart) as cluster:
        home, other = (f"http://127.0.0.1:{node.port}/mcp" for node in cluster.nodes)
        async with httpx2.AsyncClient(headers=HEADERS, timeout=20.0, trust_env=False) as http:
            began = await http.post(home, json=INITIALIZE)
            http.headers["mcp-session-id"] = began.headers["mcp-session-id"]
            await http.post(home, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            params = {"name": "parked", "arguments": {"job": "1"}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            async with http.stream("POST", home, json=call) as stream:
                said = (
                    json.loads(line[5:]) async for line in stream.aiter_lines() if line.startswith("data: {")
                )
                question = await anext(said)
                result = {"action": "accept", "content": {"answer": "Ada"}}
                answered = await http.post(
                    other, json={"jsonrpc": "2.0", "id": question["id"], "result": result}
                )
                end = await anext(said)
    assert answered.status_code == 202
    assert end["result"]["content"][0]["text"].startswith("1 Ada on ")
