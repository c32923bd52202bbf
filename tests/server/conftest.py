"""The matrix: three revisions over memory, stdio and HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from tests.server.kitchen import make_kitchen
from tests.server.peers import REVISIONS, connect, http_server, stdio_kitchen

from handraise.revisions import Revision

_RUNS = count()


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture(scope="session")
def kitchen_url(programs: Path) -> Iterator[str]:
    with http_server(programs=programs) as url:
        yield url


@pytest.fixture(scope="session")
def kitchen() -> MCPServer:
    """One kitchen for all in this process, as there is one for all over HTTP: its tools take a while to make."""
    return make_kitchen()


@dataclass
class Place:
    """A kitchen at the end of one transport, on one revision."""

    transport: str
    revision: Revision
    target: Callable[[], Any]

    def __post_init__(self) -> None:
        self.run = f"run-{next(_RUNS)}-{id(self)}"

    def client(self, person: Any = None, **options: Any) -> AbstractAsyncContextManager[Client]:
        return connect(self.target(), self.revision, person, **options)

    async def effects(self, client: Client) -> list[str]:
        result = await client.call_tool("effects", {"run": self.run})
        assert result.structured_content is not None
        return list(result.structured_content["result"])


@pytest.fixture(
    params=[
        "memory",
        pytest.param("stdio", marks=pytest.mark.slow),
        pytest.param("http", marks=pytest.mark.slow),
    ]
)
def place(request: pytest.FixtureRequest, revision: Revision) -> Place:
    transport: str = request.param
    if transport == "memory":
        kitchen = request.getfixturevalue("kitchen")
        return Place(transport, revision, lambda: kitchen)
    if transport == "stdio":
        programs = request.getfixturevalue("programs")
        return Place(transport, revision, lambda: stdio_kitchen(programs))
    url = request.getfixturevalue("kitchen_url")
    return Place(transport, revision, lambda: url)
