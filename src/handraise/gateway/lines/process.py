"""A server that is a process of ours: talked to in lines, ended in good order."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Callable
from typing import Final

from handraise.gateway.lines.pipes import LineReader, LineWriter
from handraise.gateway.links import DirectLink
from handraise.gateway.messages import Message, read, too_long
from handraise.gateway.upstreams import Source

GRACE: Final = 5.0
"""Seconds that a server has to end after its input was closed, and again after it was told to."""


class ProcessLink(DirectLink):
    """The link to a process."""

    def __init__(
        self,
        source: Source,
        process: subprocess.Popen[bytes],
        on_noise: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__(source)
        self.process = process
        self.reader = LineReader(self._took, self._ended, self._refuse)
        self.writer = LineWriter()
        self._on_noise = on_noise
        self._over = asyncio.Event()

    async def open(self) -> None:
        """Start to listen."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        await self.writer.open(self.process.stdin)
        await self.reader.open(self.process.stdout)

    def send(self, message: Message) -> None:
        self.writer.write(message.raw)

    def _took(self, line: bytes) -> None:
        messages = read(line)
        for message in messages:
            message.source = self.source
            self.on_message(message)
        # What looks like a message and cannot be read by us must not be read by others.
        if not messages and self._on_noise is not None and not line.lstrip().startswith((b"{", b"[")):
            self._on_noise(line)

    def _refuse(self, start: bytes) -> None:
        message = too_long(start)
        message.source = self.source
        self.on_message(message)

    def _ended(self) -> None:
        self._over.set()
        self.on_closed(self.source, True)

    async def aclose(self) -> None:
        """Close its input, wait, then tell it to end, then end it."""
        await self.writer.close()
        for last_resort in (self.process.terminate, self.process.kill):
            if await self._exited():
                break
            with contextlib.suppress(ProcessLookupError):
                last_resort()
        await asyncio.to_thread(self.process.wait)
        with contextlib.suppress(TimeoutError):  # a child of its own may keep the pipe open
            await asyncio.wait_for(self._over.wait(), 1.0)  # for its last words
        self.reader.close()

    async def status(self) -> int:
        """The exit status of a process that ended; of one that a signal ended, as shells tell it."""
        code = await asyncio.to_thread(self.process.wait)
        return code if code >= 0 else 128 - code

    async def _exited(self) -> bool:
        try:
            await asyncio.to_thread(self.process.wait, GRACE)
        except subprocess.TimeoutExpired:
            return False
        return True
