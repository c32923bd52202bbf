"""A trace while it is written: messages or bytes in, lines out. It never disturbs what it watches."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from handraise.trace.crossings import Direction, Reader
from handraise.trace.show import show_json, show_text

logger = logging.getLogger(__name__)

MAX_LINE: Final = 4 * 1024 * 1024
"""Bytes of a message; a longer one is passed on and not shown."""


class Trace:
    """Writes down what crosses, from whichever thread it is told."""

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        as_json: bool = False,
        colour: bool = False,
        full: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write: Callable[[str], object] | None = write
        self._as_json = as_json
        self._colour = colour
        self._full = full
        self._clock = clock
        self._began = clock()
        self._reader = Reader()
        self._rest: dict[Direction, bytearray] = {"to server": bytearray(), "to client": bytearray()}
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since the trace began."""
        return self._clock() - self._began

    def message(self, direction: Direction, message: Any, at: float | None = None) -> None:
        """A message crosses: now, unless it is known when."""
        at = self.now() if at is None else at
        with self._lock:
            if self._write is None:
                return
            try:
                self._write(self._shown(direction, message, at))
            except (OSError, ValueError):  # the disk is full, the terminal is gone: what is watched goes on
                self._write = None
                logger.warning("the trace cannot be written any more")

    def feed(self, direction: Direction, chunk: bytes, at: float | None = None) -> None:
        """Bytes of a stream of lines cross, in whatever pieces."""
        rest = self._rest[direction]
        rest += chunk
        *lines, tail = rest.split(b"\n") if b"\n" in chunk else (rest,)
        self._rest[direction] = bytearray(tail[: MAX_LINE + 1])
        for line in lines:
            if line.strip():
                self.message(direction, _parsed(bytes(line)), at)

    def _shown(self, direction: Direction, message: Any, at: float) -> str:
        try:
            crossing = self._reader.read(direction, message, at)
        except Exception:  # noqa: BLE001 - whatever the other side sends, the trace goes on
            crossing = self._reader.read(direction, None, at)
        if self._as_json:
            return show_json(crossing) + "\n"
        return "".join(f"{line}\n" for line in show_text(crossing, colour=self._colour, full=self._full))


def _parsed(line: bytes) -> Any:
    """The message of a line; None when it cannot be read. What it said then is not shown: it could be anything."""
    if len(line) > MAX_LINE:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
