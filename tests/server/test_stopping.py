"""A server that stops while a body is suspended at its question: the body is told, and tidies up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from tests.server.peers import ROOT, free_port, wait_until_open
from tests.server.rounds import CAPABILITIES
from tests.server.shop import Effects
from tests.waiting import until

from handraise.revisions import Revision

pytestmark = [pytest.mark.slow, pytest.mark.shows("O2")]

LEGACY = pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
ME = {"name": "by hand", "version": "1"}


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@contextmanager
def started(programs: Path, effects: Effects, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(programs / "python"), "tests/server/shift.py", str(effects.path), *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def messages(revision: Revision) -> list[dict[str, Any]]:
    """What a client says up to its question."""
    call: dict[str, Any] = {"name": "work", "arguments": {}}
    if revision.modern:
        call["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": str(revision),
            "io.modelcontextprotocol/clientInfo": ME,
            "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
        }
        return [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}]
    hello = {"protocolVersion": str(revision), "capabilities": CAPABILITIES, "clientInfo": ME}
    return [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
    ]


@pytest.mark.shows("C8")
def test_the_end_of_its_input_withdraws_the_question(
    programs: Path, effects: Effects, revision: Revision
) -> None:
    with started(programs, effects, "stdio") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages(revision):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        assert any(b"Go on?" in line for line in iter(process.stdout.readline, b""))
        process.stdin.close()
        assert process.wait(20) == 0
    assert effects()[1:] == ["withdrawn", "finally", "stopped"]


class Web:
    """A client over HTTP whose question is open."""

    def __init__(self, url: str, browser: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self.url, self.browser, self.headers = url, browser, headers

    async def end_session(self) -> None:
        await self.browser.delete(self.url, headers=self.headers)


@asynccontextmanager
async def asked_over_http(
    programs: Path, effects: Effects, revision: Revision
) -> AsyncIterator[tuple[Web, subprocess.Popen[bytes]]]:
    port = free_port()
    async with AsyncExitStack() as open_:
        process = open_.enter_context(started(programs, effects, "http", str(port)))
        wait_until_open(port, process)
        browser = await open_.enter_async_context(httpx.AsyncClient(timeout=20))
        web = Web(f"http://127.0.0.1:{port}/mcp", browser, {"mcp-protocol-version": str(revision)})
        web.headers["accept"] = "application/json, text/event-stream"
        for message in messages(revision):
            headers = web.headers
            if revision.modern:
                headers = {**headers, "mcp-method": "tools/call", "mcp-name": "work"}
            posted = browser.stream("POST", web.url, json=message, headers=headers)
            reply = await open_.enter_async_context(posted)
            if "mcp-session-id" in reply.headers:
                web.headers["mcp-session-id"] = reply.headers["mcp-session-id"]
            async for line in reply.aiter_lines():
                if "Go on?" in line or '"id":0' in line:
                    break
        assert effects()[0].startswith("asks")
        yield web, process


@LEGACY
async def test_a_client_that_ends_its_session_withdraws_the_question(
    programs: Path, effects: Effects, revision: Revision
) -> None:
    async with asked_over_http(programs, effects, revision) as (web, _process):
        await web.end_session()
        await until(lambda: effects()[1:] == ["withdrawn", "finally"])


@pytest.mark.shows("C8")
async def test_a_server_that_is_told_to_stop_lets_its_bodies_tidy_up(
    programs: Path, effects: Effects, revision: Revision
) -> None:
    async with asked_over_http(programs, effects, revision) as (_web, process):
        os.kill(int(effects()[0].split()[1]), signal.SIGTERM)
        await until(lambda: process.poll() is not None)
    assert effects()[1:3] == ["withdrawn", "finally"]
