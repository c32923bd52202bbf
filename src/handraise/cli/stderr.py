"""A command's output on standard error: progress, the trace, and stray lines of a server."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from handraise.desks import Queue
    from handraise.sdk.streams import Tell


class StatusOutput:
    """Standard error, shared with a desk that may draw on the whole terminal."""

    def __init__(self, *, full_screen: bool) -> None:
        self._full_screen = full_screen
        self._queue: Queue | None = None
        self._held: list[str] = []

    @asynccontextmanager
    async def holding(self, queue: Queue) -> AsyncIterator[None]:
        """Hold back lines while the desk is open, and print them afterwards."""
        self._queue = queue
        try:
            yield
        finally:
            self._queue = None
            for text in self._held:
                typer.echo(text, err=True, nl=False)
            self._held.clear()

    def trace(self, as_json: bool) -> Tell:
        """A trace that prints at once, or after the call if a desk uses the screen."""
        from handraise.trace import Trace

        return Trace(self._keep, as_json=as_json, colour=wants_colour()).message

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """One line for a progress notice; none while a question is on the screen."""
        from handraise.display import for_line

        if self._full_screen and self._queue is not None and self._queue.waiting():
            return
        part = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
        typer.echo(f"… {part} {for_line(message or '')}".rstrip(), err=True)

    def _keep(self, text: str) -> None:
        if self._full_screen:
            self._held.append(text)
        else:
            typer.echo(text, err=True, nl=False)


def wants_colour() -> bool:
    """Whether standard error is a terminal that may show colour."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def tell_stray_lines() -> None:
    """Print once that the server wrote a line that is not a message, with the line."""
    logger = logging.getLogger("mcp.client.stdio")
    logger.addHandler(_OnlyTheFirst())
    logger.propagate = False


class _OnlyTheFirst(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger(record.name).disabled = True
        typer.echo(
            f"handraise: the server wrote something that is no message of the protocol{_written(record)}\n"
            "handraise: a server's standard output is for messages only; let it print to standard error",
            err=True,
        )


def _written(record: logging.LogRecord) -> str:
    from pydantic import ValidationError

    from handraise.display import for_line

    error = record.exc_info[1] if record.exc_info else None
    if not isinstance(error, ValidationError):
        return ""
    return f": {for_line(str(error.errors()[0]['input']))[:200]}"
