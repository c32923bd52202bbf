"""What goes wrong in a command, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from handraise.errors import HandraiseError


@contextmanager
def telling(status: int = 2) -> Iterator[None]:
    """What goes wrong meanwhile is told on standard error; then the command ends with this status."""
    try:
        yield
    except HandraiseError as error:
        typer.echo(f"handraise: {error}", err=True)
        raise typer.Exit(status) from None
