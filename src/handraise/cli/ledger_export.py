"""`handraise ledger export` and `report`: the ledger for other programs, and for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handraise.cli.ledger_file import Where, opened
from handraise.cli.ledger_run import moment, run
from handraise.cli.ledger_show import Action, Kind, Person, Server, Since, Tool, Until, filter_of

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
_PAGE = 1000


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
        Path | None, typer.Option("-o", "--output", help="A file; without it, standard output.")
    ] = None,
) -> None:
    """Write events for another program: JSON Lines, CSV, CloudEvents 1.0, or OpenTelemetry logs (OTLP JSON).

    Contents are never exported, only their hashes.
    """
    from handraise.ledger.export import FORMATS

    if to not in FORMATS:
        raise typer.BadParameter(f"the format is {', '.join(FORMATS)}")
    wanted = filter_of(server, person, tool, action, kind, since, until)

    async def work() -> int:
        async with opened(ledger) as found:
            chosen = await _chosen(found, wanted)
            _write(FORMATS[to](chosen, found.keys.verifier.origin), out)
        return 0

    run(work())


def report(
    ledger: Where = None,
    since: Since = None,
    until: Until = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file; without it, standard output.")
    ] = None,
) -> None:
    """Write one self-contained page about what was asked and decided, to be read or printed."""
    start, end = moment(since), moment(until)

    async def work() -> int:
        from handraise.ledger.audit import verify
        from handraise.ledger.filters import Filter
        from handraise.ledger.report import Standing, render_report

        async with opened(ledger) as found:
            checked = await verify(found)
            chosen = await _chosen(found, Filter(since=start, until=end))
            name = found.keys.verifier.origin
        standing = Standing(
            name,
            checked.records,
            checked.root.hex(),
            "sound" if checked.sound else "unsound",
            tuple(finding.sentence for finding in checked.findings),
        )
        now = datetime.now().astimezone()
        page = render_report(
            (event for _, event in chosen), now=now, since=_when(start), until=_when(end), standing=standing
        )
        _write([page], out)
        return 0

    run(work())


async def _chosen(ledger: Ledger, wanted: Filter) -> list[tuple[int, Event]]:
    return [(number, event) async for number, event in ledger.events() if wanted.matches(event)]


def _write(lines: Iterable[str], out: Path | None) -> None:
    if out is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    with out.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _when(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000).astimezone()
