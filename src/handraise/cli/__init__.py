"""The command line, one module a command."""

from __future__ import annotations

import sys


def main() -> None:
    """The `handraise` command. What stands behind `--` is the command of a server, and left alone."""
    words = sys.argv[1:]
    if words[:1] == ["gateway"]:  # the server behind it is started before typer is even looked for
        from handraise.gateway.quick import run_quickly

        if (status := run_quickly(words[1:])) is not None:
            sys.exit(status)
    from handraise.cli.app import app

    at = words.index("--") if "--" in words else len(words)
    app(args=words[:at], obj=tuple(words[at + 1 :]), prog_name="handraise")
