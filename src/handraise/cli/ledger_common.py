"""Shared by the commands of `handraise ledger`: the choice of a ledger, and the exit status."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from handraise.cli.common import report_errors
from handraise.policy.places import DATABASE_URLS

if TYPE_CHECKING:
    from handraise.ledger import Ledger
    from handraise.policy import Settings


LedgerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="HANDRAISE_LEDGER",
        metavar="FILE",
        help=f"The ledger's file, or {DATABASE_URLS} with its keys in HANDRAISE_STORE_KEYS; without it, the file in "
        "your data directory.",
        show_default=False,
    ),
]


@asynccontextmanager
async def open_own_ledger(settings: Settings) -> AsyncIterator[Ledger | None]:
    """The user's own ledger for a command that asks. Closing signs a checkpoint."""
    from handraise.ledger.own_ledger import own_ledger

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
async def open_existing_ledger(where: str | None, *, or_lost: bool = False) -> AsyncIterator[Ledger]:
    """An existing ledger for a command that reads it. Closing signs nothing.

    With `or_lost` also one whose file is gone or destroyed, if a file beside it shows that it was there.
    """
    from handraise.ledger import Ledger
    from handraise.ledger.own_ledger import checkpoint_copies
    from handraise.policy import load_policy

    ledger = Ledger.at(_existing(where, or_lost=or_lost), elsewhere=checkpoint_copies(load_policy().settings))
    try:
        yield ledger
    finally:
        await ledger.store.aclose()


def _existing(where: str | None, *, or_lost: bool) -> Path | str:
    from handraise.ledger.own_ledger import ledger_place

    path = ledger_place({**os.environ, "HANDRAISE_LEDGER": where or ""})
    if isinstance(path, str):
        return path
    if or_lost and any(path.with_name(path.name + end).is_file() for end in (".head", ".signing.key")):
        return path
    if not path.is_file():
        raise typer.BadParameter(f"there is no ledger at {path}; name another one with --ledger")
    if not _is_ledger(path):
        raise typer.BadParameter(f"{path} is no ledger; name another one with --ledger")
    return path


def _is_ledger(path: Path) -> bool:
    """Whether a file is a ledger. Checked first, because opening would add the ledger's tables to another database."""
    from handraise.stores.sqlite_file import reading_uri

    try:
        with closing(sqlite3.connect(reading_uri(path), uri=True)) as db:
            found = db.execute("SELECT count(*) FROM sqlite_schema WHERE name IN ('events', 'leaves')")
            return bool(found.fetchone() == (2,))
    except sqlite3.DatabaseError:
        return False


def run(work: Coroutine[Any, Any, int]) -> None:
    """Run a command's work; returns its exit status, or 2 after printing an error."""
    import asyncio

    try:
        with report_errors():
            status = asyncio.run(work)
    except KeyboardInterrupt:
        status = 130
    raise typer.Exit(status)


def parse_time_option(text: str | None) -> int | None:
    """A typed time as milliseconds since 1970."""
    from handraise.ledger.views import parse_when

    if text is None:
        return None
    try:
        return parse_when(text, datetime.now().astimezone())
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is no time; use 2026-07-28, 2026-07-28T09:30 or how long ago, like 90d, 12h or 30m"
        ) from None
