"""The TypeScript SDK: its client is asked by a server of ours, its servers ask at a desk of ours."""

from __future__ import annotations

import json

import pytest
from mcp import StdioServerParameters
from tests.client.hosts import host
from tests.server.peers import http_server, text_of
from tests.strangers.programs import EVERYTHING, NOTES, ROOT, TYPESCRIPT_SERVER, typescript

from handraise.desks.scripted import Line
from handraise.revisions import Revision

pytestmark = pytest.mark.stranger

each_era = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@each_era
def test_its_client_is_asked(era: str, environment: dict[str, str]) -> None:
    seen = typescript(era, "rename", {"title": "a"}, {"answer": "old"}, NOTES, environment)
    assert seen["asked"] == ["New name of a?", "Why old?"]
    assert seen["result"]["content"][0]["text"] == "a is old because old"


@each_era
def test_its_client_is_asked_over_http(era: str, environment: dict[str, str]) -> None:
    with http_server("tests.gateway.notes") as url:
        seen = typescript(era, "delete", {"title": "a"}, {"answer": "old"}, [url], environment)
    assert seen["asked"] == ["Why delete a?"]
    assert seen["result"]["content"][0]["text"] == "deleted a: old"


def test_its_client_survives_a_person_who_thinks_for_longer_than_its_timeout(
    environment: dict[str, str],
) -> None:
    server = ["python", str(ROOT / "tests" / "server" / "kinds" / "servers.py"), "stdio", "mcpserver"]
    patient = {**environment, "PATIENCE": "4000"}
    seen = typescript("legacy", "wait", {"run": "patient"}, {"answer": "at last"}, server, patient)
    assert seen["result"]["content"][0]["text"] == "at last"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "line", [Line("accept", {"reason": "old"}), Line("decline"), Line("cancel")], ids=str
)
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_its_server_asks_at_our_desk(
    line: Line, revision: Revision, environment: dict[str, str]
) -> None:
    server = StdioServerParameters(command="node", args=TYPESCRIPT_SERVER[1:], env=environment)
    async with host(server, revision, [line]) as kit:
        result = await kit.client.call_tool("delete", {"title": "a"})
    assert [waiting.question.message for waiting in kit.desk.seen] == ["Why delete a?"]
    assert text_of(result) == ("deleted a: old" if line.action == "accept" else f"kept: {line.action}")


@pytest.mark.anyio
async def test_the_everything_server_asks_at_our_desk(environment: dict[str, str]) -> None:
    server = StdioServerParameters(command="node", args=EVERYTHING[1:], env=environment)
    answers = {"name": "Ann", "check": True}
    async with host(server, Revision.NOVEMBER_2025, [Line("accept", answers)]) as kit:
        result = await kit.client.call_tool("trigger-elicitation-request", {})
    assert "Ann" in json.dumps([block.model_dump() for block in result.content])
