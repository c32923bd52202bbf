"""The command line, one module a command."""

from __future__ import annotations

import sys


def main() -> None:
    """The `handraise` command. What stands behind `--` is the command of a server, and left alone."""
    from handraise.cli.app import app

    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    app(args=words[:at], obj=tuple(words[at + 1 :]), prog_name="handraise")
