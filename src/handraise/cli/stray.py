"""What a server wrote to its standard output and is no message: told in one line, where the SDK logs a traceback."""

from __future__ import annotations

import logging

import typer


def tell_stray_lines() -> None:
    """Say once that the server writes what its client cannot read, and what it wrote."""
    logger = logging.getLogger("mcp.client.stdio")
    logger.addHandler(_OnlyTheFirst())
    logger.propagate = False


class _OnlyTheFirst(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger(record.name).disabled = True
        typer.echo(
            f"handraise: the server wrote something that is no message of the protocol{_written(record)}\n"
            "handraise: a server's standard output is for messages only; let it print to standard error",
            err=True,
        )


def _written(record: logging.LogRecord) -> str:
    from pydantic import ValidationError

    from handraise.display import for_line

    error = record.exc_info[1] if record.exc_info else None
    if not isinstance(error, ValidationError):
        return ""
    return f": {for_line(str(error.errors()[0]['input']))[:200]}"
