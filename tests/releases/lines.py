"""A client of our own that speaks lines of JSON: it needs no SDK, so it is the same for every generation."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

MODERN = "2026-07-28"
Answer = Callable[[Mapping[str, Any]], Any]


class Shop:
    """A connection to one shop."""

    def __init__(
        self, process: asyncio.subprocess.Process, kind: str, revision: str, folder: Path, modes: Any
    ) -> None:
        self._process = process
        self.kind = kind
        self.revision = revision
        self.folder = folder
        """Where the shop keeps its effects and its ledger."""
        self._capabilities = (
            {} if modes is False else {"elicitation": modes, "roots": {"listChanged": True}, "sampling": {}}
        )
        self.answers: list[Any] = []
        """Results for the questions to come; a callable gets the question's params; None leaves it open."""
        self.asked: list[Mapping[str, Any]] = []
        self.notices: list[Mapping[str, Any]] = []
        self.roots: list[str] = []
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._number = 0
        self._reader = asyncio.create_task(self._read())

    def forget(self) -> None:
        """Forget every question, notice and effect so far."""
        self.answers, self.asked, self.notices, self.roots = [], [], [], []
        (self.folder / "effects").unlink(missing_ok=True)

    async def start(self) -> None:
        if self.revision == MODERN:
            await self.request("server/discover", {})
        else:
            params = {
                "protocolVersion": self.revision,
                "capabilities": self._capabilities,
                "clientInfo": _CLIENT,
            }
            result = await self.request("initialize", params)
            assert result["result"]["protocolVersion"] == self.revision, result
            self.send({"method": "notifications/initialized"})

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait_for(self._process.wait(), 20)
        self._reader.cancel()

    def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def begin(self, method: str, params: Mapping[str, Any]) -> tuple[int, asyncio.Future[Any]]:
        """Send a request; its id and its response to come."""
        self._number += 1
        if self.revision == MODERN:
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": _CLIENT,
                "io.modelcontextprotocol/clientCapabilities": self._capabilities,
            }
            params = {**params, "_meta": meta}
        future = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        self.send({"id": self._number, "method": method, "params": params})
        return self._number, future

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """A request and its response, across all rounds."""
        while True:
            response = await asyncio.wait_for(self.begin(method, params)[1], 60)
            result = response.get("result", {})
            if result.get("resultType") != "input_required":
                return response
            answers = {key: self._answer(each) for key, each in result["inputRequests"].items()}
            params = {**params, "inputResponses": answers, "requestState": result["requestState"]}

    async def call(self, tool: str, article: str = "tea") -> Any:
        """The result of a tool, or its error."""
        response = await self.request("tools/call", {"name": tool, "arguments": {"article": article}})
        return response.get("result") or response["error"]

    async def text(self, tool: str, article: str = "tea") -> str:
        """The text of a tool's result."""
        return str((await self.call(tool, article))["content"][0]["text"])

    def _answer(self, request: Mapping[str, Any]) -> Any:
        if request["method"] == "roots/list":
            return {"roots": [{"uri": uri} for uri in self.roots]}
        params = request["params"]
        if request["method"] == "sampling/createMessage":
            said = params["messages"][0]["content"]["text"]
            content = {"type": "text", "text": f"{said} Steam."}
            return {"role": "assistant", "content": content, "model": "small", "stopReason": "endTurn"}
        self.asked.append(params)
        answer = self.answers.pop(0)
        return answer(params) if callable(answer) else answer

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "method" not in message:
                if not (waiting := self._waiting.pop(message["id"])).done():
                    waiting.set_result(message)
            elif "id" in message:
                if (answer := self._answer(message)) is not None:
                    self.send({"id": message["id"], "result": answer})
            else:
                self.notices.append(message)


_CLIENT = {"name": "lines", "version": "1"}


@asynccontextmanager
async def shop(kind: str, revision: str, folder: Path, modes: Any = None) -> AsyncIterator[Shop]:
    """A shop in a process of its own, and a client of it."""
    process = await _started(kind, folder)
    declared = {"form": {}, "url": {}} if modes is None else modes
    client = Shop(process, kind, revision, folder, declared)
    try:
        await asyncio.wait_for(client.start(), 60)
        yield client
    finally:
        if process.returncode is None:
            await client.close()


async def _started(kind: str, folder: Path, *options: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore",
        str(Path(__file__).with_name("shop.py")),
        kind,
        str(folder),
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
        env={
            **os.environ,
            "FASTMCP_LOG_LEVEL": "CRITICAL",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        },
    )


@asynccontextmanager
async def http_shop(kind: str, folder: Path, *options: str) -> AsyncIterator[HttpShop]:
    """A shop that serves HTTP in a process of its own, and Ann's client of it on 2025-11-25."""
    process = await _started(kind, folder, "http", *options)
    assert process.stdout is not None
    try:
        port = int(await asyncio.wait_for(process.stdout.readline(), 60))
        headers = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer ann"}
        async with httpx.AsyncClient(
            headers=headers, timeout=30, follow_redirects=True, trust_env=False
        ) as client:
            yield HttpShop(client, f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        await process.wait()


class HttpShop:
    """A connection to a shop over HTTP."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client, self._url, self._number = client, url, 0
        self.answers: list[Any] = []

    async def start(self) -> None:
        capabilities: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": _CLIENT}
        await self.request("initialize", params)
        await self._post({"method": "notifications/initialized"})

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """A request and its response. Questions on its stream are answered."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        async with self._client.stream("POST", self._url, json=message) as response:
            assert response.status_code == 200, await response.aread()
            if session := response.headers.get("mcp-session-id"):
                self._client.headers["mcp-session-id"] = session
            if response.headers["content-type"].startswith("application/json"):
                return json.loads(await response.aread())
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    got = json.loads(line[6:])
                    if got.get("id") == self._number and "method" not in got:
                        return got
                    if "id" in got:
                        await self._post({"id": got["id"], "result": self.answers.pop(0)})
        raise AssertionError("the stream ended without a response")

    async def text(self, tool: str, article: str = "tea") -> str:
        """The text of a tool's result."""
        response = await self.request("tools/call", {"name": tool, "arguments": {"article": article}})
        return str(response["result"]["content"][0]["text"])

    async def _post(self, message: Mapping[str, Any]) -> None:
        (await self._client.post(self._url, json={"jsonrpc": "2.0", **message})).raise_for_status()


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}
