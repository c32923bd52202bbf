"""`handraise ledger export` and `report`: the ledger for other programs, and for people."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from handraise.cli.ledger_file import Where, opened
from handraise.cli.ledger_run import moment, run
from handraise.cli.ledger_show import Action, Kind, Person, Server, Since, Tool, Until, filter_of
from handraise.disk import open_stream, replacing
from handraise.errors import SetupError

if TYPE_CHECKING:
    from handraise.ledger import Event, Ledger
    from handraise.ledger.filters import Filter

EXPORT_EXAMPLES = """Examples:

\b
  handraise ledger export > events.jsonl
  handraise ledger export --format csv --since 30d -o july.csv
  handraise ledger export --format cloudevents --server notes
  handraise ledger export --format otel
"""
REPORT_EXAMPLES = """Examples:

\b
  handraise ledger report -o report.html
  handraise ledger report --since 2026-07-01 --until 2026-08-01 -o july.html
"""


def export(
    ledger: Where = None,
    to: Annotated[
        str, typer.Option("--format", metavar="jsonl|csv|cloudevents|otel", help="What to write.")
    ] = "jsonl",
    server: Server = None,
    person: Person = None,
    tool: Tool = None,
    action: Action = None,
    kind: Kind = None,
    since: Since = None,
    until: Until = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file, for you alone to read; without it, standard output."),
    ] = None,
) -> None:
    """Write events for another program.

    As JSON Lines, CSV, CloudEvents 1.0 or OpenTelemetry logs (OTLP JSON). Contents are never exported, only their
    hashes.
    """
    from handraise.ledger.export import FORMATS

    if to not in FORMATS:
        raise typer.BadParameter(f"the format is {', '.join(FORMATS)}")
    wanted = filter_of(server, person, tool, action, kind, since, until)

    async def work() -> int:
        async with opened(ledger) as found:
            lines = FORMATS[to](_chosen(found, wanted), found.keys.verifier.origin)
            with written(out) as file:
                async for line in lines:
                    file.write(f"{line}\n")
        return 0

    run(work())


def report(
    ledger: Where = None,
    since: Since = None,
    until: Until = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file, for you alone to read; without it, standard output."),
    ] = None,
) -> None:
    """Write one page about what was asked and decided. It needs no other file, and can be printed."""
    start, end = moment(since), moment(until)

    async def work() -> int:
        from handraise.ledger.audit import verify
        from handraise.ledger.filters import Filter
        from handraise.ledger.report import Standing, render_report

        async with opened(ledger) as found:
            checked = await verify(found)
            chosen = [event async for _, event in _chosen(found, Filter(since=start, until=end))]
            name = found.keys.verifier.origin
        standing = Standing(
            name,
            checked.records,
            checked.root.hex(),
            checked.verdict.value,
            (*(finding.sentence for finding in checked.findings), *checked.doubts),
        )
        now = datetime.now().astimezone()
        page = render_report(chosen, now=now, since=_when(start), until=_when(end), standing=standing)
        with written(out) as file:
            file.write(f"{page}\n")
        return 0

    run(work())


async def _chosen(ledger: Ledger, wanted: Filter) -> AsyncIterator[tuple[int, Event]]:
    async for number, event in ledger.events():
        if wanted.matches(event):
            yield number, event


@contextmanager
def written(out: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that only its owner can read. It is there when all of it is, and else as it was."""
    if out is None:
        yield sys.stdout
        return
    is_stream = out.exists() and not out.is_file()  # a device or a pipe
    try:
        with open_stream(out) if is_stream else replacing(out) as file:
            yield file
    except OSError as error:
        raise SetupError(f"{out} cannot be written: {error.strerror}") from None


def _when(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000).astimezone()
