"""The command line, one module a command."""

from __future__ import annotations

import errno
import os
import sys

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main() -> None:
    """The `handraise` command. Everything after `--` is a server's command and is left alone."""
    words = sys.argv[1:]
    from handraise.cli.app import app

    at = words.index("--") if "--" in words else len(words)
    try:
        app(args=words[:at], obj=tuple(words[at + 1 :]), prog_name="handraise")
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        where = error.filename or "the output"
        print(
            f"handraise: {where} cannot be written: {error.strerror}. Make room, and run it again",
            file=sys.stderr,
        )
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # otherwise the exit would write the rest once more
        sys.exit(2)
