"""Run a command of `handraise ledger`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any

import typer

from handraise.cli.telling import telling


def run(work: Coroutine[Any, Any, int]) -> None:
    """Do the work of a command; its exit status, or 2 with one line that says what is wrong."""
    try:
        with telling():
            status = asyncio.run(work)
    except KeyboardInterrupt:
        status = 130
    raise typer.Exit(status)


def moment(text: str | None) -> int | None:
    """A time that somebody typed, in milliseconds since 1970."""
    from handraise.ledger.filters import parse_when

    if text is None:
        return None
    try:
        return parse_when(text, datetime.now().astimezone())
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is no time; use 2026-07-28, 2026-07-28T09:30 or how long ago, like 90d, 12h or 30m"
        ) from None
