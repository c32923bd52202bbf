"""The command line, one module a command."""

from __future__ import annotations


def main() -> None:
    """The `handraise` command."""
    from handraise.cli.app import app

    app(prog_name="handraise")
