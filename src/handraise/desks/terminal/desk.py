"""The terminal desk from outside: it takes the screen while a question waits, and gives it back after."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from handraise.desks.codes import AnswerCode
from handraise.desks.language import language_of_terminal
from handraise.desks.lines import LineDesk
from handraise.desks.queue import Queue
from handraise.desks.terminal_session import TerminalSession, flush_typed
from handraise.errors import SetupError, UsageError

if TYPE_CHECKING:
    from handraise.desks.terminal.app import DeskApp

EXTRA = "terminal"
LINES = "HANDRAISE_LINES"
"""Set to anything, this environment variable asks for plain lines: for screen readers, say."""


def is_installed() -> bool:
    """Whether what draws the terminal desk is there."""
    return find_spec("textual") is not None


def desk_for_terminal(
    queue: Queue, stdin: TextIO, stdout: TextIO, env: Mapping[str, str], *, code: AnswerCode | None = None
) -> TerminalDesk | LineDesk | None:
    """The desk for a terminal: full screen where that works, plain lines where not, None where nobody sits.

    With a `code`, it also says how to answer from another terminal.
    """
    if not (stdin.isatty() and stdout.isatty()):
        return None
    session = TerminalSession(queue, code=code, language=language_of_terminal(env))
    if env.get(LINES) or env.get("TERM", "dumb") == "dumb" or not _can_draw():
        return LineDesk(session, stdin, stdout)
    return TerminalDesk(session)


def _can_draw() -> bool:
    """Whether there is something to draw with, and standard error, on which it draws, is a terminal."""
    return is_installed() and sys.__stderr__ is not None and sys.__stderr__.isatty()


class TerminalDesk:
    """Shows the questions of a queue on the whole terminal, one at a time.

    The screen is drawn on standard error. Whatever is printed or logged meanwhile is kept in a place of its own (F10)
    and written out when the screen closes. Give `server_log` to a server as its standard error:
    `stdio_client(parameters, errlog=desk.server_log)`.
    """

    def __init__(self, session: TerminalSession) -> None:
        self._session = session
        self._log = PrintLog()
        session.printed = self._log.lines

    @property
    def server_log(self) -> TextIO:
        """Where a server's standard error goes, so that it is not drawn over the screen."""
        return self._log.pipe()

    def app(self) -> DeskApp:
        """The screen for what waits now. It ends by itself when nothing waits any more."""
        if not is_installed():
            raise SetupError(
                f"the terminal desk needs textual; install it with: pip install 'handraise[{EXTRA}]'"
            )
        from handraise.desks.terminal.app import DeskApp

        return DeskApp(self._session, self._log.write)

    async def run(self) -> None:
        """Show what waits, until cancelled."""
        self.app()  # a missing extra is told at once, not at the first question
        async for waiting in self._session.queue.changes():
            if waiting:
                flush_typed(sys.__stdin__)
                self._log.hold()
                try:
                    await self._sit(self.app())
                finally:
                    self._log.release()
                    self._tell()

    async def _sit(self, app: DeskApp) -> None:
        sitting = asyncio.create_task(app.run_async())
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
        for line in self._session.take_lines():
            print(line, file=sys.stderr)


class PrintLog:
    """Output of the program while the desk has the screen: kept, shown on demand, written out afterwards.

    Textual catches what Python prints. Log handlers that were made before, and other parts of this process, write to
    the terminal by the descriptor of standard error; so that one leads into a pipe while the screen is drawn.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[str] | None = None
        self._rest = ""
        self._pipe: TextIO | None = None
        self._terminal: TextIOWrapper | None = None
        self._saved: tuple[int, TextIOWrapper] | None = None

    def lines(self) -> list[str]:
        """What is held back now."""
        with self._lock:
            return list(self._held or ())

    def write(self, text: str) -> None:
        """Take what was printed; while nothing is held back, it goes straight to the terminal."""
        with self._lock:
            *whole, self._rest = (self._rest + text).split("\n")
            if self._held is not None:
                self._held += whole
                return
        for line in whole:
            print(line, file=sys.stderr)

    def pipe(self) -> TextIO:
        """A file with a descriptor, for other processes to write to."""
        if self._pipe is None:
            reading, writing = os.pipe()
            self._pipe = os.fdopen(writing, "w", buffering=1)
            threading.Thread(target=self._read, args=(reading,), name="handraise-log", daemon=True).start()
        return self._pipe

    def hold(self) -> None:
        """From now on nothing may reach the terminal but the screen itself."""
        with self._lock:
            self._held = []
        error = sys.__stderr__
        if error is not None and error.isatty():
            error.flush()
            saved = os.dup(error.fileno())
            self._saved = saved, error
            self._terminal = os.fdopen(os.dup(saved), "w")
            os.dup2(self.pipe().fileno(), error.fileno())
            sys.__stderr__ = self._terminal  # type: ignore[misc]  # the screen is drawn on it

    def release(self) -> None:
        """The screen is gone: write out what was held back."""
        if self._saved is not None:
            saved, error = self._saved
            os.dup2(saved, error.fileno())
            os.close(saved)
            sys.__stderr__ = error  # type: ignore[misc]
            self._saved = None
            if self._terminal is not None:
                self._terminal.close()
        with self._lock:
            held, self._held = self._held or [], None
            if self._rest:
                held.append(self._rest)
                self._rest = ""
        for line in held:
            print(line, file=sys.stderr)

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "r", errors="replace") as stream:
            for line in stream:
                self.write(line)
