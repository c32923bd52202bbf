"""Start a server's process, before anything else is done."""

from __future__ import annotations

import os
import subprocess
from typing import IO

from handraise.errors import SetupError
from handraise.gateway.upstreams import Upstream


def start(upstream: Upstream, errors: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """Start the server's process. What it writes to standard error goes where ours goes, or to a file."""
    try:
        return subprocess.Popen(  # noqa: S603 - the command is the user's own, an argument list
            upstream.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **upstream.environment} if upstream.environment else None,
            cwd=upstream.directory,
        )
    except OSError as error:
        raise SetupError(
            f"{upstream.name}: {upstream.command[0]} cannot be started: {error.strerror}"
        ) from None
