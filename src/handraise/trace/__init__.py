"""Messages about questions on the wire: each with its direction, kind and time, secrets masked.

For learning and for support. The messages themselves are never touched.
"""

from handraise.trace.messages import Direction, Trace, TracedMessage, TraceReader, show_json, show_text

__all__ = ["Direction", "Trace", "TraceReader", "TracedMessage", "show_json", "show_text"]
