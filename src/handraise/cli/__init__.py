"""The command line, one module a command."""

from __future__ import annotations

import sys


def main() -> None:
    """The `handraise` command. Everything after `--` is a server's command and is left alone."""
    words = sys.argv[1:]
    from handraise.cli.app import app

    at = words.index("--") if "--" in words else len(words)
    app(args=words[:at], obj=tuple(words[at + 1 :]), prog_name="handraise")
