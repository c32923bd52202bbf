"""Writing to the client at the other end of our standard output, at once.

The SDK writes a message over stdio in a worker thread and flushes it in another one, which takes longer than
everything that is ours about a question. One that the pipe takes as a whole needs neither: it is written where it was
made, if nobody else is writing.

Private names: `stdio._claims`, `_StreamClaim.private_fd`; `ContextSendStream._inner`, `MemoryObjectSendStream._state`
and what the SDK calls the task that writes. A test pins them and says what to do when they move.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from typing import Any

from mcp.server import stdio
from mcp.shared._context_streams import ContextSendStream
from mcp_types import JSONRPCRequest

_WRITER = "mcp.server.stdio.stdio_server.<locals>.stdout_writer"
_STDOUT = 1


def write_at_once(stream: ContextSendStream[Any], message: JSONRPCRequest) -> bool:
    """Write a message that is to go through a stream, if that leads to our standard output and nobody has to wait.

    False when it has to go through the stream.
    """
    claim = stdio._claims.get(_STDOUT)
    if claim is None or claim.private_fd is None:
        return False
    # Whoever writes waits for the next message only when the one before has left.
    waiting = stream._inner._state.waiting_receivers
    if len(waiting) != 1 or next(iter(waiting.values())).task_info.name != _WRITER:
        return False
    line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    if not _takes(claim.private_fd, line):
        return False
    try:
        while line:
            line = line[os.write(claim.private_fd, line) :]
    except OSError:
        return False  # the client is gone: whoever writes will find that out
    return True


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
