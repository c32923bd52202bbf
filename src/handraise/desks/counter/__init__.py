"""The counter: where a command in another terminal sees what waits, and answers it with a code shown at a desk."""

from handraise.desks.counter.code import Code
from handraise.desks.counter.serving import Counter

__all__ = ["Code", "Counter"]
