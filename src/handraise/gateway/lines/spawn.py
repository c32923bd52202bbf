"""Start a server's process, before anything else is done."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import ExitStack
from typing import IO, Final

from handraise.errors import SetupError
from handraise.gateway.upstreams import Upstream

_NOT_REMOTE: Final = {"SHLVL": "1"}
"""Where it is missing, `bash -c` takes a socket as its input for a remote login, and runs ~/.bashrc first."""


def start(upstream: Upstream, errors: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start the server's process. Its standard error goes where ours goes, or to a file.

    Its standard input and output are socket pairs. Any process of the same user can open a pipe of another one as
    /proc/PID/fd/0 and write an answer into it, past desk, policy and ledger. A socket cannot be opened so.
    """
    if os.name != "posix":  # there is no /proc, and a socket is no standard stream
        return _started(upstream, subprocess.PIPE, subprocess.PIPE, errors)
    with ExitStack() as pairs:
        (our_input, stdin), (our_output, stdout) = socket.socketpair(), socket.socketpair()
        for each in (our_input, stdin, our_output, stdout):
            pairs.enter_context(each)
        process = _started(upstream, stdin.fileno(), stdout.fileno(), errors)
        process.stdin = os.fdopen(our_input.detach(), "wb", 0)
        process.stdout = os.fdopen(our_output.detach(), "rb", 0)
    return process


def _started(
    upstream: Upstream, stdin: int, stdout: int, errors: IO[bytes] | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - the command is the user's own, an argument list
            upstream.command,
            stdin=stdin,
            stdout=stdout,
            stderr=errors,
            env={**_NOT_REMOTE, **os.environ, **upstream.environment},
            cwd=upstream.directory,
        )
    except OSError as error:
        raise SetupError(
            f"{upstream.name}: {upstream.command[0]} cannot be started: {error.strerror}"
        ) from None
