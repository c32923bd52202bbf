"""The client at our own standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from handraise.gateway.lines.pipes import LineReader, LineWriter
from handraise.gateway.messages import LONGEST, Message, fault, read


class StdioPort:
    """Messages to and from the client that started us."""

    def __init__(
        self, took: Callable[[Message], None], on_noise: Callable[[bytes], None] | None = None
    ) -> None:
        self._took_message = took
        self._on_noise = on_noise
        self.reader = LineReader(self._took, self._ended, self._refuse)
        self.writer = LineWriter()
        self.ended = asyncio.Event()

    async def open(self) -> None:
        """Start to listen, on copies: the streams themselves are not ours to close."""
        await self.writer.open(os.fdopen(os.dup(1), "wb", 0))
        await self.reader.open(os.fdopen(os.dup(0), "rb", 0))

    def send(self, message: Message) -> None:
        self.writer.write(message.raw)

    def _took(self, line: bytes) -> None:
        messages = read(line)
        for message in messages:
            self._took_message(message)
        if not messages and self._on_noise is not None:
            self._on_noise(line)

    def _refuse(self, start: bytes) -> None:
        text = f"A message may have {LONGEST // 2**20} MiB; this one is longer and was not passed on."
        self.send(fault(None, -32600, text))

    def _ended(self) -> None:
        self.ended.set()

    async def aclose(self) -> None:
        """Write what waits. A terminal is shared with whoever started us, so that it is left as it was."""
        await self.writer.close()
        self.reader.close()
        for number in (0, 1):
            os.set_blocking(number, True)
