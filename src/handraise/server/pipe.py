"""Writing to the client at the other end of our standard output, at once.

The SDK writes a message over stdio in a worker thread and flushes it in another one, which takes longer than
everything that is ours about a question. One that the pipe takes as a whole needs neither: it is written where it was
made, if nobody else is writing.

Private names: `stdio._claims`, `_StreamClaim.private_fd`; `ContextSendStream._inner`, `MemoryObjectSendStream._state`;
what the SDK calls the function that writes, and the file in there. A test pins them and says what to do when they move.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import weakref
from typing import Any

from mcp.server import stdio
from mcp.shared._context_streams import ContextSendStream
from mcp_types import JSONRPCRequest

_WRITER = "stdio_server.<locals>.stdout_writer"
_STDOUT = 1

_known: list[weakref.ref[Any]] = []
"""The task that was found to write to our standard output, if one was."""


def write_at_once(stream: ContextSendStream[Any], message: JSONRPCRequest) -> bool:
    """Write a message that is to go through a stream, if that leads to our standard output and nobody has to wait.

    False when it has to go through the stream.
    """
    claim = stdio._claims.get(_STDOUT)
    if claim is None or claim.private_fd is None:
        return False
    # Whoever writes waits for the next message only when the one before has left.
    waiting = stream._inner._state.waiting_receivers
    if len(waiting) != 1:
        return False
    writer: Any = next(iter(waiting.values())).task_info.coro
    if not (_known and _known[0]() is writer):
        if _file_of(writer) != claim.private_fd:
            return False
        _known[:] = (weakref.ref(writer),)
    line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    if not _takes(claim.private_fd, line):
        return False
    try:
        while line:
            line = line[os.write(claim.private_fd, line) :]
    except OSError:
        return False  # the client is gone: whoever writes will find that out
    return True


def _file_of(writer: Any) -> int | None:
    """The file that a task of the SDK writes messages to, if it is such a task.

    A process may serve other clients beside the one at its standard output, over streams that the author opened.
    """
    while writer is not None and getattr(writer, "__qualname__", "") != _WRITER:
        writer = getattr(writer, "cr_await", None)
    if writer is None:
        return None
    try:
        return int(writer.cr_frame.f_locals["stdout"].wrapped.buffer.fileno())
    except (AttributeError, LookupError, OSError, ValueError):
        return None  # what the author opened may be no file


def _takes(file: int, line: bytes) -> bool:
    """Whether a file is a pipe or a socket that has room for all of a line now."""
    if sys.platform == "win32" or len(line) > select.PIPE_BUF:
        return False
    mode = os.fstat(file).st_mode
    if not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode):
        return False
    poll = select.poll()
    poll.register(file, select.POLLOUT)
    return poll.poll(0) == [(file, select.POLLOUT)]
