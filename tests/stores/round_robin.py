"""A load balancer for nodes on 2026-07-28: each request goes to the next node in turn.

    python -m tests.stores.round_robin

It prints its port, reads the ports of the nodes from its input whenever they change, and ends with its input. As usual,
a node that nothing listens at is passed over; what was sent to a node is never sent to another one.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import suppress

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)
_LONGEST_HEAD = 64 * 1024


class RoundRobin:
    """Takes turns."""

    def __init__(self) -> None:
        self.ports: list[int] = []
        self._turn = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on one connection."""
        node: asyncio.StreamWriter | None = None
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            answers, node = await self._connect()
            node.write(_CONNECTION.sub(b"", head)[:-4] + b"\r\nconnection: close\r\n\r\n")
            length = _LENGTH.search(head)
            node.write(await reader.readexactly(int(length[1]) if length else 0))
            await _first(_pump(answers, writer), reader.read())
        for end in (writer, node):
            if end is not None:
                end.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for _ in self.ports:
            self._turn += 1
            with suppress(ConnectionRefusedError):
                return await asyncio.open_connection("127.0.0.1", self.ports[self._turn % len(self.ports)])
        raise ConnectionRefusedError("no node is there")


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while part := await source.read(64 * 1024):
        sink.write(part)
        await sink.drain()


async def _first(*works: object) -> None:
    """Until the node has answered, or the client is gone."""
    tasks = [asyncio.ensure_future(work) for work in works]  # type: ignore[call-overload]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def main() -> None:
    """Serve until the input ends."""
    balancer = RoundRobin()
    server = await asyncio.start_server(balancer.serve, "127.0.0.1", 0, backlog=1024, limit=_LONGEST_HEAD)
    print(server.sockets[0].getsockname()[1], flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        balancer.ports = [int(port) for port in line.split()]
        print("taken", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
