"""`@guard` over both transports, on three revisions: nothing before consent, nothing after a decline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from tests.server.peers import DECLINE, REVISIONS, ROOT, Person, accept, connect, http_server, text_of

from handraise.errors import CATEGORY
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.shows("U1")]


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, programs: Path) -> Iterator[Any]:
    if request.param == "http":
        with http_server("tests.guards.served", programs) as url:
            yield url
        return
    command = ["tests/guards/served.py", "stdio"]
    yield StdioServerParameters(command=str(programs / "python"), args=command, cwd=ROOT)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_a_tool_in_another_process_waits_for_its_person(target: Any, revision: Revision) -> None:
    person = Person(DECLINE, accept(typed="two"), accept(typed="2"))
    async with connect(target, revision, person) as client:

        async def left() -> str:
            return text_of(await client.call_tool("left", {"group": "old"}))

        declined = await client.call_tool("delete", {"group": "old"})
        assert (declined.meta or {})[CATEGORY] == "user_declined"
        assert await left() == "2"
        assert text_of(await client.call_tool("delete", {"group": "old"})) == "deleted 2"
        assert await left() == "3"
    assert person.messages[0].startswith("Delete 2 contacts of old?")
    assert len(person.asked) == 3
