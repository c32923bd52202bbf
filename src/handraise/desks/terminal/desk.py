"""The terminal desk from outside: it takes the screen while a question waits, and gives it back after."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO

from handraise.desks.clerk import Clerk
from handraise.desks.counter import Code
from handraise.desks.queue import Queue
from handraise.desks.typeahead import flush_typed
from handraise.errors import SetupError, UsageError
from handraise.urls import open_url

if TYPE_CHECKING:
    from handraise.desks.terminal.app import DeskApp

EXTRA = "terminal"


def is_installed() -> bool:
    """Whether what draws the terminal desk is there."""
    return find_spec("textual") is not None


class TerminalDesk:
    """Shows the questions of a queue on the whole terminal, one at a time.

    The screen is drawn on standard error, so that what a program prints as its result stays clean.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        clock: Callable[[], float] = time.monotonic,
        opener: Callable[..., object] | None = None,
        report: TextIO | None = None,
        code: Code | None = None,
    ) -> None:
        self._queue = queue
        self._clerk = Clerk(queue, clock=clock, opener=opener or open_url, code=code)
        self._report = report

    def app(self) -> DeskApp:
        """The screen for what waits now. It ends by itself when nothing waits any more."""
        if not is_installed():
            raise SetupError(
                f"the terminal desk needs textual; install it with: pip install 'handraise[{EXTRA}]'"
            )
        from handraise.desks.terminal.app import DeskApp

        return DeskApp(self._clerk)

    async def run(self) -> None:
        """Show what waits, until cancelled."""
        self.app()  # a missing extra is told at once, not at the first question
        async for waiting in self._queue.changes():
            if waiting:
                flush_typed(sys.__stdin__)
                try:
                    await self._sit(self.app())
                finally:
                    self._tell()

    async def _sit(self, app: DeskApp) -> None:
        # A mouse is not asked for: so the terminal's own selection works, and a link can be copied.
        sitting = asyncio.create_task(app.run_async(mouse=False))
        try:
            await asyncio.shield(sitting)
        except asyncio.CancelledError:
            app.exit()
            await sitting
            raise
        if app.return_code:
            raise UsageError("the terminal desk broke off; what waits can be answered at another desk")

    def _tell(self) -> None:
        """Leave a line for each question on the ordinary screen: the other one is wiped."""
        report = self._report or sys.stderr
        for line in self._clerk.take_lines():
            print(line, file=report)
