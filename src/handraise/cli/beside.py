"""What a command says beside its result: progress and the trace, on standard error, never across a desk's screen."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from handraise.client.tap import Tell
    from handraise.desks import Queue


class Beside:
    """Standard error, shared with a desk that may draw on the whole terminal."""

    def __init__(self, *, full_screen: bool) -> None:
        self._full_screen = full_screen
        self._queue: Queue | None = None
        self._held: list[str] = []

    @asynccontextmanager
    async def holding(self, queue: Queue) -> AsyncIterator[None]:
        """While the desk is open. What was held back is printed when it has given the terminal back."""
        self._queue = queue
        try:
            yield
        finally:
            self._queue = None
            for text in self._held:
                typer.echo(text, err=True, nl=False)
            self._held.clear()

    def trace(self, as_json: bool) -> Tell:
        """A trace of what crosses: at once, or after the call where a desk could wipe it off the screen."""
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
    """Whether standard error is a terminal whose user has nothing against colour."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
