"""Real pipes on both sides of a gateway in this process: the SDK's client in front, a server's process behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from tests.gateway.notes import make_notes
from tests.gateway.peers import MemoryLink

from handraise.gateway.links import Link
from handraise.gateway.messages import Message
from handraise.gateway.serve import Front, StdioPort
from handraise.gateway.servers import ProcessLink, start
from handraise.gateway.upstreams import Source, Upstream
from handraise.revisions import Revision

NOTES = Upstream(
    "my notes",
    (sys.executable, "-m", "tests.gateway.notes", "stdio"),
    environment={"PYTHONPATH": str(Path(__file__).parents[2])},
)


class PipedLink(ProcessLink):
    """A server's process, which speaks one revision only."""

    def __init__(self, only: Revision) -> None:
        super().__init__(Source(NOTES), start(NOTES))
        self._era = MemoryLink(make_notes(), only)
        self._only = only

    def send(self, message: Message) -> None:
        if (refused := self._era._refused(message)) is not None:
            refused.source = self.source
            asyncio.get_running_loop().call_soon(self.on_message, refused)
            return
        if self._only.legacy and message.method == "initialize":
            message = message.with_(params={**message.params, "protocolVersion": str(self._only)})
        super().send(message)

    async def aclose(self) -> None:
        """It goes on for whoever comes next."""

    async def end(self) -> None:
        await super().aclose()


class PipedPort(StdioPort):
    """A client at the other ends of two pipes."""

    def __init__(self, stdin: int, stdout: int) -> None:
        super().__init__()
        self._ends = stdin, stdout

    async def open(self) -> None:
        await self.writer.open(os.fdopen(self._ends[1], "wb", 0))
        await self.reader.open(os.fdopen(self._ends[0], "rb", 0))

    async def aclose(self) -> None:
        await self.writer.close()
        self.reader.close()


class PipedClient:
    """The SDK client's transport: its lines go through pipes to our front."""

    def __init__(self, make_front: Callable[[Any], Front]) -> None:
        self._make_front = make_front

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Any]:
        (our_input, their_output), (their_input, our_output) = os.pipe(), os.pipe()
        port = PipedPort(our_input, our_output)
        front = self._make_front(port)
        port.on_message = front.from_client
        await port.open()
        lines = asyncio.StreamReader()
        reading, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(their_input, "rb", 0)
        )
        async with (
            create_client_server_memory_streams() as (client, ours),
            anyio.create_task_group() as tasks,
        ):
            sent: Any = ours[0]

            async def write_all() -> None:
                async for item in sent:
                    raw = item.message.model_dump_json(by_alias=True, exclude_none=True)
                    await asyncio.to_thread(os.write, their_output, raw.encode() + b"\n")

            async def read_all() -> None:
                async for line in lines:
                    parsed = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    await ours[1].send(SessionMessage(parsed))

            tasks.start_soon(write_all)
            tasks.start_soon(read_all)
            yield client
            tasks.cancel_scope.cancel()
        await port.aclose()
        os.close(their_output)
        reading.close()

    async def __aenter__(self) -> Any:
        self._cm = self._open()
        return await self._cm.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._cm.__aexit__(*error)


@asynccontextmanager
async def piped(only: Revision) -> AsyncIterator[Link]:
    """A link to a server's own process."""
    link = PipedLink(only)
    await link.open()
    yield link
    await link.end()
