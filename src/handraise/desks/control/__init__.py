"""The control socket of a process: a command in another terminal lists what waits, and answers it with a code."""

from handraise.desks.control.code import AnswerCode
from handraise.desks.control.listener import AnswerListener

__all__ = ["AnswerCode", "AnswerListener"]
