"""Byte streams as lines: readers of whole lines and of messages, and a writer that says when it is full."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import stat
import threading
from collections.abc import Callable
from typing import IO, Final, TypeAlias

from handraise.gateway.json_text import LONGEST
from handraise.gateway.messages import Message
from handraise.gateway.reading import Unreadable, parse_message, too_long

logger = logging.getLogger(__name__)

Stream: TypeAlias = IO[bytes]

MOST_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a program that does not read, before more is refused."""


class LineReader(asyncio.Protocol):
    """Calls `took` with every complete line, without its line feed."""

    def __init__(
        self, took: Callable[[bytes], None], ended: Callable[[], None], too_long: Callable[[bytes], None]
    ) -> None:
        """`too_long` gets the first bytes of a line over the size limit; the rest is dropped."""
        self._took = took
        self._ended = ended
        self._too_long = too_long
        self._parts: list[bytes] = []
        self._size = 0
        self._skips = False
        self._transport: asyncio.ReadTransport | None = None

    async def open(self, stream: Stream) -> None:
        """Start to read. A thread reads a plain file or a device, for which no event loop can wait."""
        loop = asyncio.get_running_loop()
        if not _is_device(stream):
            with contextlib.suppress(ValueError, NotImplementedError):
                await loop.connect_read_pipe(lambda: self, stream)
                return
        threading.Thread(target=self._read_all, args=(stream, loop), daemon=True).start()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for end in whole:
            self._gather(end)
            self._hand_on()
        self._gather(rest)

    def connection_lost(self, error: Exception | None) -> None:
        if self._parts:  # the last line may have no line feed
            self._hand_on()
        self._ended()

    def _gather(self, part: bytes) -> None:
        self._size += len(part)
        if self._skips or not part:
            return
        self._parts.append(part)
        if self._size > LONGEST:
            start, self._parts, self._skips = self._parts[0], [], True
            self._too_long(start)

    def _hand_on(self) -> None:
        line, skipped = b"".join(self._parts), self._skips
        self._parts, self._size, self._skips = [], 0, False
        if skipped:
            return
        try:
            self._took(line)
        except Exception:  # otherwise the next lines would be lost
            logger.exception("a line could not be handled")

    def pause(self) -> None:
        """Stop reading for a while."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Stop reading for good."""
        if self._transport is not None:
            self._transport.close()

    def _read_all(self, stream: Stream, loop: asyncio.AbstractEventLoop) -> None:
        with stream, contextlib.suppress(RuntimeError):  # the loop is closed
            while data := os.read(stream.fileno(), 65536):
                loop.call_soon_threadsafe(self.data_received, data)
            loop.call_soon_threadsafe(self.connection_lost, None)


def message_reader(
    took: Callable[[Message], None], refuse: Callable[[Unreadable, bytes], None], ended: Callable[[], None]
) -> LineReader:
    """A reader that parses every line. `refuse` gets an unreadable line, or the start of one that is too long."""

    def parse(line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = parse_message(line)
        except Unreadable as error:
            refuse(error, line)
        else:
            took(message)

    return LineReader(parse, ended, lambda start: refuse(too_long(start), start))


class LineWriter(asyncio.BaseProtocol):
    """Writes lines. Calls `on_full` when too much waits to be written, and `on_ready` afterwards."""

    def __init__(self) -> None:
        self.on_full: Callable[[], None] = lambda: None
        self.on_ready: Callable[[], None] = lambda: None
        self._transport: asyncio.WriteTransport | None = None
        self._file: Stream | None = None
        self._early: list[bytes] = []
        self._gone = asyncio.Event()

    async def open(self, stream: Stream) -> None:
        """Start to write. A plain file is written synchronously."""
        loop = asyncio.get_running_loop()
        try:
            self._transport, _ = await loop.connect_write_pipe(lambda: self, stream)
        except (ValueError, NotImplementedError):
            self._file = stream
        early, self._early = self._early, []
        for line in early:
            self.write(line)

    def write(self, line: bytes) -> None:
        """Write a line, now or when there is room."""
        if self._transport is not None:
            if not self._transport.is_closing():
                self._transport.write(line + b"\n")
        elif self._file is not None:
            self._file.write(line + b"\n")
            self._file.flush()
        else:
            self._early.append(line)

    @property
    def is_blocked(self) -> bool:
        """Whether the other side has not read for so long that no more should be written."""
        return self._transport is not None and self._transport.get_write_buffer_size() > MOST_WAITING

    def pause_writing(self) -> None:
        self.on_full()

    def resume_writing(self) -> None:
        self.on_ready()

    def connection_lost(self, error: Exception | None) -> None:
        self._gone.set()

    async def close(self) -> None:
        """Write the rest, then close."""
        if self._transport is not None:
            self._transport.close()
            await self._gone.wait()
        if self._file is not None:
            self._file.close()


def _is_device(stream: Stream) -> bool:
    """Whether it is a device such as /dev/null. asyncio takes it for a terminal, and fails later."""
    return stat.S_ISCHR(os.fstat(stream.fileno()).st_mode) and not stream.isatty()
