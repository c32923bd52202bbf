"""For server authors: ask, and installing Handraise into a server."""

from handraise import questions as _questions
from handraise.server.ask import Ask, ask
from handraise.server.asking import Asking, Prepared, Several
from handraise.server.boundary import Boundary
from handraise.server.channels import working_time
from handraise.server.client_requests import ModelReply, Root
from handraise.server.flows import complete
from handraise.server.install import Handraise
from handraise.server.replay import once, replayable
from handraise.server.served import fitting

__all__ = [
    "Ask",
    "Asking",
    "Boundary",
    "Handraise",
    "ModelReply",
    "Prepared",
    "Root",
    "Several",
    "ask",
    "complete",
    "once",
    "replayable",
    "working_time",
]

_questions.fit_to_call = fitting
