"""A server process on loopback, and a bare HTTP client that is cheap enough to open thousands of calls with."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
REVISION = "2026-07-28"
LEGACY = "2025-11-25"

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_SESSION = re.compile(rb"mcp-session-id: *(\S+)", re.IGNORECASE)
_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


class Served(NamedTuple):
    """Where a server process listens, and its id."""

    port: int
    process: int


@contextmanager
def serving(name: str, *flags: str) -> Iterator[Served]:
    """A server of `bench.ask_servers` in a process of its own, ended at the end."""
    command = [sys.executable, "-m", "bench.ask_servers", name, "http", *flags]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Served(int(process.stdout.readline()), process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


class Wire:
    """One kept connection."""

    def __init__(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = f"127.0.0.1:{port}"
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Wire:
        """Connect."""
        return cls(port, *await asyncio.open_connection("127.0.0.1", port))

    def close(self) -> None:
        """Leave without a word, as a client that was killed does."""
        self._writer.transport.abort()

    async def measure(self) -> dict[str, int]:
        """The memory of the server process, after a garbage collection."""
        self._writer.write(f"GET /measure HTTP/1.1\r\nhost: {self._host}\r\n\r\n".encode())
        held: dict[str, int] = await self._read_json()
        return held

    async def call(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """One round of a tool call on 2026-07-28: its result, or its error."""
        params = {"name": tool, "arguments": arguments, "_meta": _META, **more}
        headers = {"mcp-protocol-version": REVISION, "mcp-method": "tools/call", "mcp-name": tool}
        self._post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers)
        reply: dict[str, Any] = await self._read_json()
        return reply

    async def start_session(self) -> str:
        """The handshake of 2025-11-25; the id of the session."""
        params = {
            "protocolVersion": LEGACY,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, {})
        found = _SESSION.search(await self._head())
        assert found is not None
        return found[1].decode()

    async def say_initialized(self, session: str) -> None:
        """The end of the handshake."""
        headers = {"mcp-protocol-version": LEGACY, "mcp-session-id": session}
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        await self._head()

    async def call_and_leave_waiting(self, session: str, number: int, tool: str, trip: str) -> None:
        """A tool call on 2025-11-25 up to its question, which stays open with the connection."""
        params = {"name": tool, "arguments": {"trip": trip}}
        headers = {"mcp-protocol-version": LEGACY, "mcp-session-id": session}
        self._post({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}, headers)
        await self._reader.readuntil(b"elicitation/create")

    def _post(self, message: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        body = json.dumps(message).encode()
        lines = ["POST /mcp HTTP/1.1", f"host: {self._host}", "content-type: application/json"]
        lines += ["accept: application/json, text/event-stream", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def _head(self) -> bytes:
        return await self._reader.readuntil(b"\r\n\r\n")

    async def _read_json(self) -> Any:
        length = _LENGTH.search(await self._head())
        assert length is not None, "the server answered with a stream"
        return json.loads(await self._reader.readexactly(int(length[1])))
