"""Which desk a terminal gets: the whole screen, plain lines, or none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

from handraise.desks.counter import Code
from handraise.desks.lines import LineDesk
from handraise.desks.queue import Queue
from handraise.desks.terminal.desk import TerminalDesk, is_installed

LINES = "HANDRAISE_LINES"
"""Set to anything, this environment variable asks for plain lines: for screen readers, say."""


def desk_for_terminal(
    queue: Queue, stdin: TextIO, stdout: TextIO, env: Mapping[str, str], *, code: Code | None = None
) -> TerminalDesk | LineDesk | None:
    """The desk for a terminal: full screen where that works, plain lines where not, None where nobody sits.

    With a `code`, it also says how to answer from another terminal.
    """
    if not (stdin.isatty() and stdout.isatty()):
        return None
    if env.get(LINES) or env.get("TERM", "dumb") == "dumb" or not _can_draw():
        return LineDesk(queue, stdin, stdout, code=code)
    return TerminalDesk(queue, code=code)


def _can_draw() -> bool:
    """Whether there is something to draw with, and standard error, on which it draws, is a terminal."""
    return is_installed() and sys.__stderr__ is not None and sys.__stderr__.isatty()
