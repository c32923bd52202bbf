"""What crosses the wire when somebody is asked: each message with its direction, its kind and its time, secrets masked.

For learning and for support. The messages themselves are never touched.
"""

from handraise.trace.crossings import Crossing, Direction, Reader
from handraise.trace.recorder import Trace
from handraise.trace.show import show_json, show_text

__all__ = ["Crossing", "Direction", "Reader", "Trace", "show_json", "show_text"]
