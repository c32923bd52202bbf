"""The matrix: three kinds of servers on three revisions over memory, stdio and HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tests.server.conftest import Place
from tests.server.kinds.servers import made, target_of
from tests.server.kinds.ways import WAYS, Way
from tests.server.peers import ROOT, http_server, text_of

from handraise.revisions import Revision


class Kind(Place):
    """A server of one kind at the end of one transport, on one revision."""

    def runs(self, label: str = "") -> list[tuple[Way, str]]:
        """Each way to a body, with a name of its own for the effects of it."""
        return [(way, f"{self.run}-{way}{label}") for way in WAYS]

    async def did(self, client: Client, run: str) -> str:
        """The effects of a body, from the server where they happened."""
        return text_of(await client.call_tool("effects", {"run": run}))

    async def until(self, client: Client, run: str, done: str) -> None:
        """Wait until these effects happened."""
        with anyio.fail_after(30):
            while (seen := await self.did(client, run)) != done:
                assert done.startswith(seen), f"{seen} instead of {done}"
                await anyio.sleep(0.01)


@pytest.fixture(scope="session")
def kinds_url(programs: Path) -> Iterator[str]:
    with http_server("tests.server.kinds.servers", programs) as url:
        yield url


@pytest.fixture(params=["mcpserver", "lowlevel", pytest.param("fastmcp", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(
    params=[
        "memory",
        pytest.param("stdio", marks=pytest.mark.slow),
        pytest.param("http", marks=pytest.mark.slow),
    ]
)
def place(request: pytest.FixtureRequest, kind: str, revision: Revision) -> Kind:
    transport: str = request.param
    if transport == "memory":
        return Kind(transport, revision, lambda: target_of(made(kind)))
    if transport == "stdio":
        served = StdioServerParameters(
            command=str(request.getfixturevalue("programs") / "python"),
            args=["tests/server/kinds/servers.py", "stdio", kind],
            cwd=ROOT,
            env={"FASTMCP_LOG_LEVEL": "CRITICAL", "PYTHONPATH": str(ROOT)},
        )
        return Kind(transport, revision, lambda: served)
    url = request.getfixturevalue("kinds_url").replace("/mcp", f"/{kind}/mcp")
    return Kind(transport, revision, lambda: url)
