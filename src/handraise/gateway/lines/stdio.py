"""The client at our own standard input and output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from handraise.gateway.lines.pipes import LineReader, LineWriter
from handraise.gateway.messages import Message, Unreadable, parse_message, too_long


class StdioPort:
    """Messages to and from the client that started us."""

    def __init__(self, took: Callable[[Message], None]) -> None:
        self._took_message = took
        self.reader = LineReader(self._took, self._ended, lambda start: self._refuse(too_long(start)))
        self.writer = LineWriter()
        self.ended = asyncio.Event()

    async def open(self) -> None:
        """Start to listen, on copies: the streams themselves are not ours to close."""
        await self.writer.open(os.fdopen(os.dup(1), "wb", 0))
        await self.reader.open(os.fdopen(os.dup(0), "rb", 0))

    def send(self, message: Message) -> None:
        self.writer.write(message.raw)

    def _took(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = parse_message(line)
        except Unreadable as error:
            self._refuse(error)
        else:
            self._took_message(message)

    def _refuse(self, error: Unreadable) -> None:
        """Tell the client. A server that waits for the client's answer hears that there is none."""
        self.send(error.refusal())
        if error.is_response:
            self._took_message(error.stand_in())

    def _ended(self) -> None:
        self.ended.set()

    async def aclose(self) -> None:
        """Write what waits. A terminal is shared with whoever started us, so that it is left as it was."""
        await self.writer.close()
        self.reader.close()
        for number in (0, 1):
            os.set_blocking(number, True)
