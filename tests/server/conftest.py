"""One table: kinds of servers, transports and revisions, covered pairwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp import Client, StdioServerParameters
from tests.server.kinds.servers import made, target_of
from tests.server.kinds.ways import WAYS, Way
from tests.server.peers import REVISIONS, ROOT, connect, http_server, text_of
from tests.server.rounds import sign_in

from handraise.revisions import Revision

JUNE, NOVEMBER, JULY = REVISIONS
KINDS = ("mcpserver", "lowlevel", "fastmcp")


@pytest.fixture(autouse=True)
def _nobody_is_signed_in() -> Iterator[None]:
    """A test that signs somebody in does not do it for the next one."""
    sign_in(None)
    yield
    sign_in(None)


class Cell(NamedTuple):
    """A server of one kind at the end of one transport, on one revision."""

    kind: str
    transport: str
    revision: Revision

    def __str__(self) -> str:
        return "-".join(self)


CELLS = [
    Cell("mcpserver", "memory", JULY),
    Cell("lowlevel", "memory", NOVEMBER),
    Cell("fastmcp", "memory", JUNE),
    Cell("mcpserver", "stdio", NOVEMBER),
    Cell("lowlevel", "stdio", JUNE),
    Cell("fastmcp", "stdio", JULY),
    Cell("mcpserver", "http", JUNE),
    Cell("lowlevel", "http", JULY),
    Cell("fastmcp", "http", NOVEMBER),
]
"""Every pair of kind and transport, of kind and revision, and of transport and revision occurs."""


def cells(**wanted: Callable[[Any], bool]) -> pytest.MarkDecorator:
    """The cells that a test is about. Those with a process or FastMCP take longer, and are marked slow."""
    chosen = [cell for cell in CELLS if all(test(getattr(cell, name)) for name, test in wanted.items())]
    return pytest.mark.parametrize("place", [_marked(cell) for cell in chosen], indirect=True, ids=str)


def _marked(cell: Cell) -> Any:
    slow = cell.transport != "memory"
    return pytest.param(cell, marks=pytest.mark.slow) if slow else cell


everywhere = cells()
legacy = cells(revision=lambda revision: revision.legacy)
modern = cells(revision=lambda revision: revision.modern)
with_links = cells(revision=lambda revision: revision.url_mode)

_RUNS = count()


@dataclass
class Place:
    """A server that a test connects to."""

    cell: Cell
    target: Callable[[], Any]

    def __post_init__(self) -> None:
        self.run = f"run-{next(_RUNS)}-{id(self)}"

    @property
    def revision(self) -> Revision:
        return self.cell.revision

    def client(self, person: Any = None, **options: Any) -> AbstractAsyncContextManager[Client]:
        return connect(self.target(), self.revision, person, **options)

    def runs(self, label: str = "") -> list[tuple[Way, str]]:
        """Each way to a body, with a name of its own for the effects of it."""
        return [(way, f"{self.run}-{way}{label}") for way in WAYS]

    async def did(self, client: Client, run: str) -> str:
        """The effects of a body, from the server where they happened."""
        return text_of(await client.call_tool("effects", {"run": run}))

    async def until(self, client: Client, run: str, done: str) -> None:
        """Wait until these effects happened."""
        with anyio.fail_after(60):
            while (seen := await self.did(client, run)) != done:
                assert done.startswith(seen), f"{seen} instead of {done}"
                await anyio.sleep(0.01)


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture(scope="session")
def kinds_url(programs: Path) -> Iterator[str]:
    with http_server("tests.server.kinds.servers", programs) as url:
        yield url


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Place:
    cell: Cell = request.param
    if cell.transport == "memory":
        return Place(cell, lambda: target_of(made(cell.kind)))
    if cell.transport == "stdio":
        served = StdioServerParameters(
            command=str(request.getfixturevalue("programs") / "python"),
            args=["tests/server/kinds/servers.py", "stdio", cell.kind],
            cwd=ROOT,
            env={"FASTMCP_LOG_LEVEL": "CRITICAL", "PYTHONPATH": str(ROOT)},
        )
        return Place(cell, lambda: served)
    url = request.getfixturevalue("kinds_url").replace("/mcp", f"/{cell.kind}/mcp")
    return Place(cell, lambda: url)
