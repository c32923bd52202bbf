"""`handraise ledger erase` and `retain`: forget what was said, or all of what is too old. The proof stays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from handraise.cli.ledger_file import Where, opened
from handraise.cli.ledger_run import run
from handraise.cli.telling import tell_leftover
from handraise.errors import SetupError

if TYPE_CHECKING:
    from handraise.ledger import Ledger

ERASE_EXAMPLES = """Examples:

\b
  handraise ledger erase --person alice
  handraise ledger erase --record 4711

Exit status: 0; 1 when there is no such event; 3 when the contents are deleted and still on the disk, because another
connection reads the ledger: run it again when that has closed.
"""
RETAIN_EXAMPLES = """Examples:

\b
  handraise ledger retain --older-than 90d

Exit status: 0; 3 when the events are removed and still on the disk, because another connection reads the ledger: run
it again when that has closed.
"""


def erase(
    ledger: Where = None,
    person: Annotated[
        str | None, typer.Option("--person", help="Everything this person was asked and answered.")
    ] = None,
    record: Annotated[
        list[int] | None,
        typer.Option("--record", metavar="NUMBER", help="One record, by its number; may be repeated."),
    ] = None,
) -> None:
    """Erase what was asked and answered, for good.

    The keys that could tell go with it. That something was asked and decided stays in the ledger, and so does its
    proof.
    """
    if (person is None) == (not record):
        raise typer.BadParameter("say whose contents: either --person or --record")

    async def work() -> int:
        from handraise.ledger.filters import is_person
        from handraise.ledger.upkeep import erase as forget

        async with opened(ledger) as found:
            if person is not None:
                await _require_one(found, person)
            events, contents = await forget(
                found,
                lambda number, event: (
                    number in record
                    if record
                    else event.about.principal is not None and is_person(event.about.principal, person or "")
                ),
            )
            left = await found.tables.purge()
        typer.echo(f"{events} events; {contents} contents erased.")
        return tell_leftover(left, "handraise ledger erase, with the same options") or (0 if events else 1)

    run(work())


async def _require_one(ledger: Ledger, named: str) -> None:
    """SetupError when several people are meant: issuers choose their subjects by themselves."""
    from handraise.ledger.filters import is_person

    people = {each.about.principal async for _, each in ledger.events() if each.about.principal is not None}
    meant = sorted(each.key for each in people if is_person(each, named))
    if len(meant) > 1:
        keys = " or ".join(f"'{key}'" for key in meant)
        raise SetupError(f"{len(meant)} people are called {named}, and nothing was erased; say whose: {keys}")


def retain(
    ledger: Where = None,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="How old: a number and d, w or h, like 90d.")
    ] = ...,  # type: ignore[assignment]
) -> None:
    """Remove events that are too old, with their contents. Their hashes stay, so that the rest can still be proved.

    A signed note says how far they were removed: nobody without the ledger's key can remove events and call it that.
    """
    from handraise.ledger.filters import parse_span

    age = parse_span(older_than)
    if age is None:
        raise typer.BadParameter(f"{older_than!r} is no length of time; use 90d, 12w or 48h")

    async def work() -> int:
        from handraise.ledger.upkeep import retain as keep

        async with opened(ledger) as found:
            gone = await keep(found, since=int((time.time() - age.total_seconds()) * 1000))
            left = await found.tables.purge()
        typer.echo(f"{gone} events removed.")
        return tell_leftover(left, f"handraise ledger retain --older-than {older_than}")

    run(work())
