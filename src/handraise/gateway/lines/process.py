"""A server that is a process of ours: talked to in lines, ended in good order."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from typing import Final

from handraise.gateway.lines.pipes import LineReader, LineWriter
from handraise.gateway.links import DirectLink
from handraise.gateway.messages import Message, Unreadable, parse_message, too_long
from handraise.gateway.upstreams import Source

GRACE: Final = 5.0
"""Seconds that a server has to end after its input was closed, and again after it was told to."""


_MOST_NOISE: Final = 300
"""Bytes of a line that is no message, as far as they are shown."""


def inert(noise: bytes) -> str:
    """Bytes that nobody could read, for a terminal: no escape sequence of the server's works in it."""
    more = " …" if len(noise) > _MOST_NOISE else ""
    return ascii(noise[:_MOST_NOISE].decode("utf-8", "replace"))[1:-1] + more


class ProcessLink(DirectLink):
    """The link to a process."""

    def __init__(self, source: Source, process: subprocess.Popen[bytes]) -> None:
        super().__init__(source)
        self.process = process
        self.reader = LineReader(self._took, self._ended, lambda start: self._refuse(too_long(start), start))
        self.writer = LineWriter()
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
        if not line.strip():
            return
        try:
            message = parse_message(line)
        except Unreadable as error:
            self._refuse(error, line)
        else:
            message.source = self.source
            self.on_message(message)

    def _refuse(self, error: Unreadable, line: bytes) -> None:
        """Show on standard error what the server wrote. Nobody waits in vain for an answer that cannot be read."""
        name = inert(self.source.upstream.name.encode())
        print(f"handraise: {name} wrote no message ({error}): {inert(line)}", file=sys.stderr, flush=True)
        if error.is_response:
            self.take_unread(error)
        elif error.is_request:
            self.send(error.refusal())

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
