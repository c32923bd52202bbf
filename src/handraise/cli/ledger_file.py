"""Which ledger a command reads or writes."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from handraise.ledger import Ledger
    from handraise.policy import Settings

Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="HANDRAISE_LEDGER",
        metavar="FILE",
        help="The ledger's file, or postgresql://… with its keys in HANDRAISE_STORE_KEYS; without it, the file in "
        "your data directory.",
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
async def opened(where: str | None) -> AsyncIterator[Ledger]:
    """A ledger that is there already, for a command that looks at it. Nothing is signed when it is let go of."""
    from handraise.ledger import Ledger
    from handraise.ledger.home import places
    from handraise.policy import load_policy

    ledger = Ledger.at(_existing(where), elsewhere=places(load_policy().settings))
    try:
        yield ledger
    finally:
        await ledger.store.aclose()


def _existing(where: str | None) -> Path | str:
    from handraise.ledger.home import ledger_path
    from handraise.stores.named import is_postgres

    if where is not None and is_postgres(where):
        return where
    path = ledger_path() if where is None else Path(where).expanduser()
    if not path.is_file():
        raise typer.BadParameter(f"there is no ledger at {path}; name another one with --ledger")
    if not _is_ledger(path):
        raise typer.BadParameter(f"{path} is no ledger; name another one with --ledger")
    return path


def _is_ledger(path: Path) -> bool:
    """Whether a file is one. It is asked before it is opened for writing, which would make one of another database."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('events', 'leaves')")
            return bool(found.fetchone() == (2,))
    except sqlite3.DatabaseError:
        return False
