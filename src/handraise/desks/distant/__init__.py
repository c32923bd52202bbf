"""A queue in another process, seen from here: its questions are shown at this terminal, and decided there."""

from handraise.desks.distant.hosting import reply_to
from handraise.desks.distant.queue import DistantQueue

__all__ = ["DistantQueue", "reply_to"]
