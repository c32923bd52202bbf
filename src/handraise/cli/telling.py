"""What goes wrong in a command, in one line; and what is left of something that it deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

from handraise.errors import HandraiseError

if TYPE_CHECKING:
    from handraise.disk import Leftover

NOT_YET_GONE: Final = 3
"""The exit status of a command whose contents are deleted, and still on the disk."""


@contextmanager
def telling(status: int = 2) -> Iterator[None]:
    """What goes wrong meanwhile is told on standard error; then the command ends with this status."""
    try:
        yield
    except HandraiseError as error:
        typer.echo(f"handraise: {error}", err=True)
        raise typer.Exit(status) from None


def tell_leftover(left: Leftover | None, command: str) -> int:
    """Say on standard error where deleted contents still are; the exit status: 0, or 3 to run `command` again."""
    if left is None:
        return 0
    then = f" When that is over, run this again: {command}" if left.again else ""
    typer.echo(f"handraise: deleted, but still on the disk in {left.where}: {left.why}.{then}", err=True)
    return NOT_YET_GONE if left.again else 0
