"""For server authors: ask, and installing Handraise into a server."""

from handraise import questions as _questions
from handraise.errors import Stopped
from handraise.server.ask import Ask, ask
from handraise.server.asking import Asking, Prepared
from handraise.server.boundary import Boundary
from handraise.server.calls import CURRENT
from handraise.server.flows import complete
from handraise.server.inquiries import ModelReply, Root
from handraise.server.install import Handraise
from handraise.server.replay import once, replayable

__all__ = [
    "Ask",
    "Asking",
    "Boundary",
    "Handraise",
    "ModelReply",
    "Prepared",
    "Root",
    "ask",
    "complete",
    "once",
    "replayable",
]


def _fit_to_stop(stopped: Stopped) -> Stopped:
    call = CURRENT.get(None)
    return stopped if call is None else call.raisable(stopped)  # type: ignore[return-value]


_questions.fit_to_stop = _fit_to_stop
