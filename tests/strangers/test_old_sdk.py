"""Clients and servers of the official SDK's 1.x line, each in an environment of its own."""

from __future__ import annotations

import pytest
from mcp import StdioServerParameters
from tests.client.hosts import host
from tests.server.peers import http_server, text_of
from tests.strangers.programs import NOTES, OLD_SDKS, old_client, old_server, through_gateway

from handraise.desks.scripted import Line
from handraise.revisions import Revision

pytestmark = pytest.mark.stranger

SPOKEN = {"1.12.4": Revision.JUNE_2025, "1.30.0": Revision.NOVEMBER_2025}
ACCEPT = {"action": "accept", "content": {"answer": "old"}}
each_version = pytest.mark.parametrize("version", OLD_SDKS)


def test_every_environment_has_its_revision() -> None:
    assert sorted(SPOKEN) == OLD_SDKS


@each_version
def test_an_old_client_is_asked(version: str, environment: dict[str, str]) -> None:
    seen = old_client(version, "delete", {"title": "a"}, ACCEPT, NOTES, environment)
    assert (seen["revision"], seen["asked"]) == (SPOKEN[version], ["Why delete a?"])
    assert seen["text"] == "deleted a: old"


@each_version
def test_an_old_client_is_asked_over_http(version: str, environment: dict[str, str]) -> None:
    with http_server("tests.gateway.notes") as url:
        seen = old_client(version, "rename", {"title": "a"}, ACCEPT, [url], environment)
    assert seen["asked"] == ["New name of a?", "Why old?"]
    assert seen["text"] == "a is old because old"


@each_version
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_an_old_client_says_no(version: str, action: str, environment: dict[str, str]) -> None:
    seen = old_client(version, "delete", {"title": "a"}, {"action": action}, NOTES, environment)
    assert seen["text"] == f"kept: {action}"


@each_version
def test_an_old_client_that_cannot_be_asked_is_told(version: str, environment: dict[str, str]) -> None:
    seen = old_client(version, "delete", {"title": "a"}, "none", NOTES, environment)
    assert seen["error"]
    assert "deleted" not in seen["text"]


@each_version
def test_an_old_client_is_asked_through_the_gateway(version: str, environment: dict[str, str]) -> None:
    seen = old_client(version, "delete", {"title": "a"}, ACCEPT, through_gateway(NOTES), environment)
    assert seen["asked"] == ["Why delete a?"]
    assert seen["text"] == "deleted a: old"


@each_version
def test_an_old_client_that_cannot_be_asked_is_parked_by_the_gateway(
    version: str, environment: dict[str, str]
) -> None:
    server = through_gateway(NOTES, "--hold", "0")
    seen = old_client(version, "delete", {"title": "a"}, "none", server, environment)
    assert "handraise_resume" in seen["tools"]
    assert "waits for the user" in seen["text"]


@pytest.mark.anyio
@each_version
@pytest.mark.parametrize("gateway", [False, True], ids=["direct", "through the gateway"])
async def test_our_client_answers_an_old_server(
    version: str, gateway: bool, environment: dict[str, str]
) -> None:
    command = through_gateway(old_server(version)) if gateway else old_server(version)
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    revision = SPOKEN[version]
    async with host(server, revision, [Line("accept", {"reason": "old"})]) as kit:
        result = await kit.client.call_tool("delete", {"title": "a"})
    assert text_of(result) == "deleted a: old"


@pytest.mark.anyio
@each_version
async def test_an_old_server_speaks_with_a_modern_client_through_the_gateway(
    version: str, environment: dict[str, str]
) -> None:
    command = through_gateway(old_server(version))
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with host(server, Revision.JULY_2026, [Line("decline")]) as kit:
        result = await kit.client.call_tool("delete", {"title": "a"})
    assert text_of(result) == "kept: decline"
