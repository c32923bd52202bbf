"""A server of any kind stops while bodies wait at their questions: they are told, and tidy up."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from tests.server.kinds.ways import WAYS
from tests.server.peers import ROOT, free_port, wait_until_open
from tests.server.rounds import CAPABILITIES
from tests.server.shop import Effects
from tests.waiting import until

from handraise.revisions import Revision

pytestmark = [pytest.mark.slow, pytest.mark.shows("O2")]

LEGACY = pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
ME = {"name": "by hand", "version": "1"}
TOLD = Counter(withdrawn=len(WAYS), **{"finally": len(WAYS)})


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@contextmanager
def started(programs: Path, effects: Effects, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(programs / "python"), "tests/server/kinds/servers.py", *words, str(effects.path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def hello(revision: Revision) -> list[dict[str, Any]]:
    """What a client says first."""
    if revision.modern:
        return []
    params = {"protocolVersion": str(revision), "capabilities": CAPABILITIES, "clientInfo": ME}
    return [
        {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]


def calls(revision: Revision) -> list[dict[str, Any]]:
    """A body is called as a tool, as a prompt and as a resource."""
    about = {
        "io.modelcontextprotocol/protocolVersion": str(revision),
        "io.modelcontextprotocol/clientInfo": ME,
        "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    }
    meta = {"_meta": about} if revision.modern else {}
    return [
        {
            "jsonrpc": "2.0",
            "id": str(way),
            "method": way.method,
            "params": {**way.params("wait", str(way)), **meta},
        }
        for way in WAYS
    ]


@pytest.mark.shows("C8")
def test_the_end_of_its_input_withdraws_every_question(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> None:
    with started(programs, effects, "stdio", kind) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in [*hello(revision), *calls(revision)]:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        asked = (line for line in iter(process.stdout.readline, b"") if b"Go on?" in line)
        assert len(list(islice(asked, len(WAYS)))) == len(WAYS)
        process.stdin.close()
        assert process.wait(20) == 0
    *told, last = effects()
    assert Counter(told) == TOLD
    assert last == "stopped"


class Web:
    """A client over HTTP whose questions are open."""

    def __init__(self, url: str, browser: httpx.AsyncClient, revision: Revision) -> None:
        self.url, self.browser = url, browser
        self.headers = {
            "mcp-protocol-version": str(revision),
            "accept": "application/json, text/event-stream",
        }

    @asynccontextmanager
    async def saying(self, message: dict[str, Any]) -> AsyncIterator[None]:
        """Say something, and hear the first that is said to it."""
        target = message.get("params", {}).get("name") or message.get("params", {}).get("uri")
        named = {} if target is None else {"mcp-method": message["method"], "mcp-name": target}
        posted = self.browser.stream("POST", self.url, json=message, headers={**self.headers, **named})
        async with posted as reply:
            if "mcp-session-id" in reply.headers:
                self.headers["mcp-session-id"] = reply.headers["mcp-session-id"]
            async for line in reply.aiter_lines():
                if "Go on?" in line or "serverInfo" in line:
                    break
            yield

    async def end_session(self) -> None:
        await self.browser.delete(self.url, headers=self.headers)


@asynccontextmanager
async def asked_over_http(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> AsyncIterator[tuple[Web, subprocess.Popen[bytes]]]:
    port = free_port()
    async with AsyncExitStack() as open_:
        process = open_.enter_context(started(programs, effects, "http", str(port)))
        wait_until_open(port, process)
        browser = await open_.enter_async_context(httpx.AsyncClient(timeout=20))
        web = Web(f"http://127.0.0.1:{port}/{kind}/mcp", browser, revision)
        for message in [*hello(revision), *calls(revision)]:
            await open_.enter_async_context(web.saying(message))
        assert effects() == []
        yield web, process


@LEGACY
async def test_a_client_that_ends_its_session_withdraws_every_question(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> None:
    async with asked_over_http(programs, effects, kind, revision) as (web, _process):
        await web.end_session()
        await until(lambda: Counter(effects()) == TOLD)


@pytest.mark.shows("C8")
async def test_a_server_that_is_told_to_stop_lets_its_bodies_tidy_up(
    programs: Path, effects: Effects, kind: str, revision: Revision
) -> None:
    async with asked_over_http(programs, effects, kind, revision) as (_web, process):
        process.terminate()
        await until(lambda: process.poll() is not None)
    assert Counter(effects()) - Counter(["stopped"]) == TOLD
