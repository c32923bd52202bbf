"""The gateway: the cost of a call through it, beside the direct call and FastMCP's proxy; and how fast it starts.

Policy and ledger are on. The time that passes is compared, since two more processes take part; every contender takes
its turn in every round.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.ask_http import LEGACY, REVISION, ROOT, serving
from bench.ask_servers import ANSWER
from bench.measure import OURS, Bench, progress
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitResult

HANDRAISE: Final = [sys.executable, "-c", "from handraise.cli import main; main()"]
SERVER: Final = [sys.executable, "-m", "bench.ask_servers", "handraise", "stdio"]
DIRECT: Final = "direct"
PROXY: Final = "fastmcp's proxy"
PROXY_CODE: Final = """
import json, sys
from fastmcp import Client, FastMCP
from fastmcp.server import create_proxy
proxy = create_proxy(json.loads(sys.argv[1]))
proxy.run(**json.loads(sys.argv[2]), show_banner=False)
"""
CONFIG: Final = "[limits]\nper_minute = 1000\nper_hour = 10000\n"
BARS: Final = {"stdio": 1.3, "http": 1.8}
START_BAR: Final = 1.5


def run(bench: Bench) -> None:
    """Measure calls over both transports, then the start."""
    calls = 4 if bench.quick else 20
    with _surroundings():
        for transport in ("stdio", "http"):
            asyncio.run(_measure_calls(bench, transport, bench.rounds(30), calls))
        _measure_start(bench)


@contextmanager
def _surroundings() -> Iterator[None]:
    """A user of our own: policy and ledger on, nothing of the real one's, and bytecode, as when installed."""
    with tempfile.TemporaryDirectory() as home:
        config = Path(home) / "handraise.toml"
        config.write_text(CONFIG)
        known = {"HOME": home, "XDG_DATA_HOME": f"{home}/data", "HANDRAISE_CONFIG": str(config)}
        known |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": f"{home}/bytecode"}
        before = {name: os.environ.get(name) for name in known}
        os.environ.update(known, PYTHONPATH=str(ROOT), FASTMCP_LOG_LEVEL="CRITICAL")
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


async def _measure_calls(bench: Bench, transport: str, rounds: int, calls: int) -> None:
    for revision in (REVISION,) if bench.quick else (LEGACY, REVISION):
        samples: dict[str, dict[str, list[float]]] = {
            tool: {name: [] for name in _contenders(tool, revision)} for tool in TOOLS
        }
        async with _clients(transport, revision) as clients:
            for tool, taken in samples.items():
                for name in taken:
                    await _turn(clients[name], tool, 5)
            for number in range(rounds):
                progress(f"{transport}, {revision}: round {number + 1} of {rounds}")
                for tool, taken in samples.items():
                    for name in taken:
                        few = name == PROXY  # its calls over HTTP take ten times as long
                        taken[name].append(await _turn(clients[name], tool, calls // 4 if few else calls))
        for tool, title in TOOLS.items():
            bars = {DIRECT: BARS[transport]} if tool == "plain" else {}
            bench.record(f"{transport} to {transport}, {title}, {revision}", samples[tool], bars=bars)


TOOLS: Final = {"plain": "a plain call", "ask_once": "a call that asks"}


def _contenders(tool: str, revision: str) -> list[str]:
    """FastMCP's proxy takes part where it answers: on 2025-11-25 this question comes back to the server as an error."""
    return [DIRECT, OURS, *([PROXY] if (tool, revision) != ("ask_once", LEGACY) else [])]


async def _turn(client: Client, tool: str, calls: int) -> float:
    passed = []
    for _ in range(calls + 1):
        began = time.perf_counter()
        result = await client.call_tool(tool, {"trip": "Oslo"})
        passed.append(time.perf_counter() - began)
        assert not result.is_error, result
    return median(passed[1:])


async def _person(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content=ANSWER)


@asynccontextmanager
async def _clients(transport: str, revision: str) -> AsyncIterator[dict[str, Client]]:
    mode = "legacy" if revision == LEGACY else revision
    async with AsyncExitStack() as stack:
        targets = _stdio_targets() if transport == "stdio" else _http_targets(stack)
        yield {
            name: await stack.enter_async_context(
                Client(targets[name], mode=mode, elicitation_callback=_person)
            )
            for name in _contenders("plain", revision)
        }


def _stdio_targets() -> dict[str, Any]:
    config = json.dumps(
        {"mcpServers": {"bench": {"command": SERVER[0], "args": SERVER[1:], "cwd": str(ROOT)}}}
    )
    commands = {
        DIRECT: SERVER,
        OURS: [*HANDRAISE, "gateway", "--", *SERVER],
        PROXY: [sys.executable, "-c", PROXY_CODE, config, '{"transport": "stdio"}'],
    }
    return {
        name: StdioServerParameters(command=words[0], args=words[1:], cwd=ROOT, env=dict(os.environ))
        for name, words in commands.items()
    }


def _http_targets(stack: AsyncExitStack) -> dict[str, Any]:
    served = stack.enter_context(serving("handraise"))
    url = f"http://127.0.0.1:{served.port}/mcp"
    ours, proxy = _free_port(), _free_port()
    run_as = json.dumps({"transport": "http", "port": proxy, "path": "/mcp"})
    stack.enter_context(_process([*HANDRAISE, "gateway", "--http", f"127.0.0.1:{ours}", "--url", url], ours))
    stack.enter_context(_process([sys.executable, "-c", PROXY_CODE, json.dumps(url), run_as], proxy))
    return {DIRECT: url, OURS: f"http://127.0.0.1:{ours}/mcp", PROXY: f"http://127.0.0.1:{proxy}/mcp"}


@contextmanager
def _process(command: list[str], port: int) -> Iterator[None]:
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                assert process.poll() is None, command
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _measure_start(bench: Bench) -> None:
    """From starting the process to the first response."""
    commands = {DIRECT: SERVER, OURS: [*HANDRAISE, "gateway", "--", *SERVER]}
    bench.compare(
        "start to the first response, stdio",
        {name: lambda words=words: _start(words) for name, words in commands.items()},  # type: ignore[misc]
        rounds=15,
        bars={DIRECT: START_BAR},
    )


def _start(command: list[str]) -> float:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    began = time.perf_counter()
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(hello.encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        passed = time.perf_counter() - began
        process.stdin.close()
    return passed
