"""Server-sent events, as the streams of streamable HTTP have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

MOST_SECONDS: Final = 60.0
"""The longest pause before a stream is resumed, whatever the server says."""
_LONGEST_RETRY: Final = 9


class Event(NamedTuple):
    """One event."""

    data: bytes
    id: str | None = None
    retry: float | None = None
    """Seconds."""


class Events:
    """Parses events from chunks of a stream."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.size = 0
        """Bytes of the incomplete event."""
        self._data: list[bytes] = []
        self._id: str | None = None
        self._retry: float | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        events = []
        for line in self._lines(chunk):
            line = line.removesuffix(b"\r")
            if line:
                self._take(line)
                continue
            if self._data or self._id is not None:
                events.append(Event(b"\n".join(self._data), self._id, self._retry))
                self._data, self._id, self._retry = [], None, None
            self.size = 0
        return events

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes. A long line is joined once, not for every chunk."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self.size += len(line)
            yield b"".join((*self._rest, line))
            self._rest = []
        self._rest.append(rest)
        self.size += len(rest)

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self._retry = min(int(value[:_LONGEST_RETRY]) / 1000, MOST_SECONDS)
