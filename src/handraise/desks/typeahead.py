"""What was typed before a question could be read: thrown away, and not listened to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from handraise.desks.queue import ARMED_AFTER


def flush_typed(stream: TextIO | None) -> None:
    """Throw away what was typed on a terminal and not read yet. Does nothing for anything else."""
    try:
        import termios
    except ImportError:  # not on Windows
        return
    try:
        if stream is not None and stream.isatty():
            termios.tcflush(stream.fileno(), termios.TCIFLUSH)
    except (OSError, ValueError, termios.error):
        return


class Quiet:
    """Deaf from the moment a question appears until nothing was typed for half a second.

    Somebody in the middle of a word when a question comes up goes on typing for longer than that; so every
    key that is not heard starts the half second anew.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = None

    def begin(self) -> None:
        """A question appears."""
        self._since = self._clock()

    def left(self) -> float:
        """Seconds until keys count, if none is pressed."""
        return 0.0 if self._since is None else max(0.0, self._since + ARMED_AFTER - self._clock())

    def hears(self) -> bool:
        """Whether a key that is pressed now counts."""
        if self._since is None:
            return True
        if self.left() > 0:
            self._since = self._clock()
            return False
        self._since = None
        return True
