"""Lines from a text stream, for as long as their question waits."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TextIO

from handraise.desks.queue import Queue
from handraise.desks.typeahead import flush_typed
from handraise.desks.waiting import Waiting


class Gone(Exception):
    """The question was answered elsewhere or withdrawn meanwhile."""


class InputClosed(Exception):
    """Nobody can write any more."""


class LineReader:
    """Reads without holding up anything else. A read that was begun cannot be undone, so its line serves the next."""

    def __init__(self, queue: Queue, stream: TextIO) -> None:
        self._queue = queue
        self._stream = stream
        self._begun: asyncio.Future[str] | None = None

    def flush(self) -> None:
        """Throw away what was typed already, where the stream is a terminal, and a line that came for nobody."""
        flush_typed(self._stream)
        if self._begun is not None and self._begun.done():
            self._begun = None

    async def line(self, waiting: Waiting) -> str:
        """The next line, unless the question ends before it comes."""
        line = self._begun = self._begun or self._begin()
        ended = asyncio.create_task(self._ended(waiting))
        try:
            await asyncio.wait((line, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if self._queue.find(waiting.id) is None:
            raise Gone
        self._begun = None
        if not (text := line.result()):
            raise InputClosed
        return text

    def _begin(self) -> asyncio.Future[str]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            try:
                line = self._stream.readline()
            except (OSError, ValueError):  # closed, or not text
                line = ""
            with suppress(RuntimeError):  # the program ended meanwhile
                loop.call_soon_threadsafe(_settle, future, line)

        threading.Thread(target=read, name="handraise-lines", daemon=True).start()
        return future

    async def _ended(self, waiting: Waiting) -> None:
        async for _ in self._queue.changes():
            if self._queue.find(waiting.id) is None:
                return


def _settle(future: asyncio.Future[str], line: str) -> None:
    if not future.done():
        future.set_result(line)
