"""Which ledger a command reads or writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from handraise.ledger import Ledger
    from handraise.policy import Settings

Where: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        envvar="HANDRAISE_LEDGER",
        help="The ledger's file; without it, the one in your data directory.",
        show_default=False,
    ),
]


@asynccontextmanager
async def recorded(settings: Settings) -> AsyncIterator[Ledger | None]:
    """The user's own ledger, for a command that asks; closed with a checkpoint."""
    from handraise.ledger.home import own_ledger

    ledger = own_ledger(settings)
    if ledger is None:
        yield None
        return
    try:
        await ledger.start()
        yield ledger
    finally:
        await ledger.aclose()


@asynccontextmanager
async def opened(where: Path | None) -> AsyncIterator[Ledger]:
    """A ledger that is there already, for a command that looks at it. Nothing is signed when it is let go of."""
    from handraise.ledger import Ledger
    from handraise.ledger.home import places
    from handraise.policy import load_policy

    ledger = Ledger.at(_existing(where), elsewhere=places(load_policy().settings))
    try:
        yield ledger
    finally:
        await ledger.store.aclose()


def _existing(where: Path | None) -> Path:
    from handraise.ledger.home import ledger_path

    path = ledger_path() if where is None else where.expanduser()
    if not path.is_file():
        raise typer.BadParameter(f"there is no ledger at {path}; name another one with --ledger")
    return path
