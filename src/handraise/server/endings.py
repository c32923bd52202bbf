"""How a call ends when an error of ours leaves its body.

The framework around a tool treats an unknown exception as a crash: it logs a traceback and hides the text
from the model. So what `ask` raises is also the framework's own kind of error, and says on the wire its
one public sentence and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import FrameType
from typing import Any, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ErrorData

from handraise.conversation import SettledError
from handraise.errors import CATEGORY, HandraiseError, NotSupported, StateRefused, WireError
from handraise.revisions import Revision
from handraise.wire import MISSING_CAPABILITY, dump_missing_capability

logger = logging.getLogger(__name__)

_FRAMEWORKS = ("mcp.server.", "fastmcp.")


def sentence(error: HandraiseError) -> str:
    """What the other side may read of an error."""
    return str(error.args[0]) if error.tells_all else error.public


def as_tool_error(error: HandraiseError, framework_error: type[Exception] | None) -> HandraiseError:
    """The same error, which the framework shows to the model instead of reporting a crash."""
    if framework_error is not None and not isinstance(error, framework_error):
        error.__class__ = _mixed(type(error), framework_error)  # type: ignore[arg-type]
        error.__dict__.setdefault("log_level", logging.INFO)  # FastMCP logs at the level that errors carry
    return error


def as_protocol_error(
    error: HandraiseError, revision: Revision, framework_error: type[Exception] | None = None
) -> HandraiseError:
    """The same error, which reaches the client as a JSON-RPC error.

    As one of the framework's own, too, FastMCP logs it with its traceback at the level that it carries: a person who
    declines is no crash, and drawing the traceback takes longer than all the rest of the call.
    """
    if not isinstance(error, MCPError):
        described = describe(error, revision)
        theirs = (MCPError,) if framework_error is None else (MCPError, framework_error)
        error.__class__ = _mixed(type(error), *theirs)  # type: ignore[arg-type]
        error.__dict__["error"] = ErrorData(**described)
        error.__dict__["log_level"] = logging.DEBUG
    return error


def protocol_error(error: HandraiseError, revision: Revision) -> MCPError:
    """The JSON-RPC error for an error of ours; the reason goes to the log, the frozen sentence to the wire."""
    if isinstance(error, MCPError):
        return MCPError.from_error_data(error.error)
    logger.warning("%s: %s", error.code, error)
    return MCPError(**describe(error, revision))


@cache
def _mixed(ours: type[HandraiseError], *theirs: type[Exception]) -> type[HandraiseError]:
    namespace = {"__str__": sentence, "__module__": ours.__module__, "__doc__": ours.__doc__}
    return type(ours.__name__, (ours, *theirs), namespace)


def describe(error: BaseException, revision: Revision = Revision.JULY_2026) -> dict[str, Any]:
    """The JSON-RPC error object for what a body raised; -32021 is known on 2026-07-28 only."""
    if isinstance(error, MCPError):
        return error.error.model_dump(exclude_none=True)
    if isinstance(error, SettledError):
        return dict(error.error)
    if isinstance(error, NotSupported) and revision.modern:
        return {
            "code": MISSING_CAPABILITY,
            "message": error.public,
            "data": dump_missing_capability((error.mode,)),
        }
    if isinstance(error, StateRefused):
        # What the SDK says to any requestState it does not take, so that nobody learns whose it was.
        return {
            "code": INVALID_PARAMS,
            "message": "Invalid or expired requestState",
            "data": {"reason": "invalid_request_state"},
        }
    if isinstance(error, WireError):
        return {"code": INVALID_PARAMS, "message": error.public, "data": {"rule": error.rule}}
    if isinstance(error, HandraiseError):
        return {"code": INTERNAL_ERROR, "message": sentence(error), "data": {"reason": error.code}}
    return {"code": INTERNAL_ERROR, "message": "Internal server error"}


def error_result(error: HandraiseError) -> dict[str, Any]:
    """The tool result with which a call ends politely: a sentence that the model can use, a word for programs."""
    text = {"type": "text", "text": sentence(error)}
    return {"content": [text], "isError": True, "_meta": {CATEGORY: error.category}}


class Ending(NamedTuple):
    """An error that was raised to end a call, and the task in which that was."""

    error: Exception
    task: asyncio.Task[Any] | None

    @classmethod
    def of(cls, error: Exception) -> Ending:
        """An error that is raised now, by whoever runs."""
        try:
            return cls(error, asyncio.current_task())
        except RuntimeError:  # a worker thread
            return cls(error, None)

    @property
    def left_its_task(self) -> bool:
        """Whether a task ended with it. The author's task group then raises it as one of a group."""
        task = self.task
        return task is not None and task.done() and not task.cancelled() and task.exception() is self.error


def ending_in_result(endings: Iterable[Ending], result: Mapping[str, Any]) -> Exception | None:
    """Which of them a framework made an error's result of, if one."""
    ended = tuple(endings)
    for ending in ended:
        if _escaped(ending.error):
            return ending.error
    if _is_crash(result):
        for ending in ended:
            if ending.left_its_task:
                return ending.error
    return None


def ending_in_error(endings: Iterable[Ending], error: BaseException) -> Exception | None:
    """Which of them a framework wrapped, or a group is of, if one."""
    ended = tuple(endings)
    group = _group_in(error)
    if group is not None:
        return _ending_in_group(ended, group)
    for ending in ended:
        if _is_wrapped(ending.error, error) and _escaped(ending.error):
            return ending.error
    return None


def _ending_in_group(ended: Sequence[Ending], group: BaseExceptionGroup[Any]) -> Exception | None:
    """Which of them a group is of, unless something of the author's own is in it, too."""
    leaves = {id(leaf): leaf for leaf in _leaves(group)}
    among = [ending.error for ending in ended if id(ending.error) in leaves]
    for error in among:
        leaves.pop(id(error), None)
    ours = all(isinstance(leaf, HandraiseError) for leaf in leaves.values())
    return among[0] if among and ours else None


def _is_crash(result: Mapping[str, Any]) -> bool:
    """Whether a framework says of a tool nothing but that it failed, or that a group of tasks did."""
    texts = [str(block.get("text", "")) for block in result.get("content", ()) if isinstance(block, dict)]
    return len(texts) == 1 and _CRASH.search(texts[0]) is not None


_CRASH = re.compile(r"^Error executing tool [^:]*$|unhandled errors in a TaskGroup")


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)]


def _group_in(error: BaseException) -> BaseExceptionGroup[Any] | None:
    """The group that left the author's code, if what a framework raised is one or was raised because of one."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, BaseExceptionGroup):
        if not _is_of_framework(seen):
            return None  # the author made an error of their own of whatever it was
        seen = seen.__cause__ or seen.__context__  # MCPServer's resources say only in passing what they hide
    return seen


def _is_of_framework(error: BaseException) -> bool:
    """Whether a framework raised an error, and not code that it called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and _module_of(trace.tb_frame).startswith(_FRAMEWORKS)


def _escaped(error: BaseException) -> bool:
    """Whether an error left the author's code: its traceback then shows a frame of the framework."""
    trace = error.__traceback__
    while trace is not None:
        if _module_of(trace.tb_frame).startswith(_FRAMEWORKS):
            return True
        trace = trace.tb_next
    return False


def _is_wrapped(error: BaseException, by: BaseException) -> bool:
    """Whether an error is what another one was raised from."""
    seen: BaseException | None = by
    while seen is not None and seen is not error:
        seen = seen.__cause__
    return seen is not None


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
