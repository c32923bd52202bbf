"""A child of the process that runs the tests, at a terminal of its own."""

from __future__ import annotations

import os
import pty
import traceback
from collections.abc import Callable


def fork_at_terminal(do: Callable[[], object]) -> tuple[int, int]:
    """Run this in a child; the child's number and its terminal.

    The child ends here even if it fails. Otherwise it would run the rest of the tests a second time.
    """
    child, terminal = pty.fork()
    if child == 0:
        try:
            do()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child, terminal
