"""Clients for tests: the official SDK's, on each revision and over each transport, with a person behind it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import mcp_types as types
from mcp import Client, ClientSession, StdioServerParameters

from handraise.revisions import Revision
from handraise.server.install import _INSTALLED
from handraise.server.runtime import Runtime

ROOT = Path(__file__).parents[2]
REVISIONS = list(Revision)


def accept(**content: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


DECLINE = types.ElicitResult(action="decline")
CANCEL = types.ElicitResult(action="cancel")


class Person:
    """Answers from a list, in order, and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[types.ElicitRequestParams] = []

    async def __call__(self, _context: Any, params: types.ElicitRequestParams) -> Any:
        self.asked.append(params)
        assert self.answers, f"asked more often than expected: {params.message}"
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer(params)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return answer

    @property
    def messages(self) -> list[str]:
        return [params.message for params in self.asked]


@asynccontextmanager
async def connect(
    target: Any, revision: Revision, person: Any = None, modes: str = "form url", **options: Any
) -> AsyncIterator[Client]:
    """A client of the official SDK on one revision, which declares only the modes that are named."""
    async with offer(target, revision, person, modes, **options) as client:
        assert client.protocol_version == revision
        yield client


@asynccontextmanager
async def offer(
    target: Any, revision: Revision, person: Any = None, modes: str = "form url", **options: Any
) -> AsyncIterator[Client]:
    """A client that offers one revision. A server of 2025-06-18 makes a client of 2025-11-25 speak that."""
    mode = "2026-07-28" if revision.modern else "legacy"
    offered = revision if revision.legacy else "2025-11-25"
    declare = ClientSession._build_capabilities

    def declare_modes(session: ClientSession, version: str) -> types.ClientCapabilities:
        capabilities = declare(session, version)
        if capabilities.elicitation is not None:
            named: dict[str, Any] = {name: {} for name in modes.split()}
            capabilities.elicitation = types.ElicitationCapability.model_validate(named)
        return capabilities

    with (
        mock.patch("mcp.client.session.LATEST_HANDSHAKE_VERSION", str(offered)),
        mock.patch.object(ClientSession, "_build_capabilities", declare_modes),
    ):
        async with Client(target, mode=mode, elicitation_callback=person, **options) as client:
            yield client


def text_of(result: Any) -> str:
    """The text of a tool result."""
    return "".join(block.text for block in result.content)


def stdio_kitchen(programs: Path) -> StdioServerParameters:
    """A kitchen in a process of its own, with the `python` of a folder."""
    return StdioServerParameters(
        command=str(programs / "python"),
        args=["tests/server/kitchen.py", "stdio"],
        cwd=ROOT,
        env={"FASTMCP_LOG_LEVEL": "CRITICAL"},
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def http_server(module: str = "tests.server.kitchen", programs: Path | None = None) -> Iterator[str]:
    """A server in a process of its own, unless another is named a kitchen; the URL of its endpoint.

    With the `python` of a folder it starts at once.
    """
    port = free_port()
    quick = [] if programs is None else [str(programs / "python"), f"{module.replace('.', '/')}.py"]
    process = subprocess.Popen(
        [*(quick or [sys.executable, "-m", module]), "http", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_open(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(400):
        assert process.poll() is None, "the server ended"
        if _is_open(port):
            return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def wait_until_closed(port: int) -> None:
    for _ in range(400):
        if not _is_open(port):
            return
        time.sleep(0.05)
    raise AssertionError("the server did not stop")


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.05)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def runtime_of(server: Any) -> Runtime:
    """Our side of a server that Handraise is installed in."""
    return _INSTALLED[server]
