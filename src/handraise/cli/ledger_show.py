"""`handraise ledger show`, `export` and `report`: the ledger as a table, for other programs, and as a page."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypeAlias

import typer

from handraise.cli.ledger_common import LedgerOption, open_existing_ledger, parse_time_option, run
from handraise.disk import open_stream, replacing
from handraise.errors import SetupError

if TYPE_CHECKING:
    from handraise.ledger import Ledger, LedgerEvent
    from handraise.ledger.views import EventFilter


EXAMPLES = """Examples:

\b
  handraise ledger show
  handraise ledger show --server notes --action decline --since 7d
  handraise ledger show --kind refused --json
  handraise ledger show --follow
"""

ServerFilter: TypeAlias = Annotated[
    str | None, typer.Option("--server", help="Only this server, by your name for it.")
]
PersonFilter: TypeAlias = Annotated[
    str | None, typer.Option("--person", help="Only this person: a subject, or the whole key.")
]
ToolFilter: TypeAlias = Annotated[str | None, typer.Option("--tool", help="Only questions of this tool.")]
ActionFilter: TypeAlias = Annotated[
    str | None,
    typer.Option("--action", metavar="accept|said_no|decline|cancel", help="Only these decisions."),
]
KindFilter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only events of this kind: asked, shown, decided, opened, completed, "
        "used, refused, expired, withdrawn, failed or ambiguous.",
    ),
]
Since: TypeAlias = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="From this time on: 2026-07-28, or how long ago: 7d, 12h."),
]
Until: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time.")]

OutputFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="A file to write to, which only you can read; otherwise standard output."
    ),
]

_EVERY = 0.5


def show(
    ledger: LedgerOption = None,
    server: ServerFilter = None,
    person: PersonFilter = None,
    tool: ToolFilter = None,
    action: ActionFilter = None,
    kind: KindFilter = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many of the newest events to show.")] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line, with every detail.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep showing new events until you press Ctrl+C.")
    ] = False,
) -> None:
    """Show what was asked and decided, the newest event last.

    A question has several events. They share its id, which `--json` shows. They contain no messages and no answers.
    """
    import asyncio

    wanted = filter_of(server, person, tool, action, kind, since, until)

    async def work() -> int:
        async with open_existing_ledger(ledger) as found:
            last = await _newest(found, wanted, limit, as_json)
            while follow:
                await asyncio.sleep(_EVERY)
                async for number, event in found.events(last):
                    last = number
                    if wanted.matches(event):
                        _print(number, event, as_json)
        return 0

    run(work())


def filter_of(
    server: str | None,
    person: str | None,
    tool: str | None,
    action: str | None,
    kind: str | None,
    since: str | None,
    until: str | None,
) -> EventFilter:
    """The filter of a command line; a usage error for unknown words."""
    from handraise.ledger.events import KINDS, OUTCOMES
    from handraise.ledger.views import EventFilter

    if action is not None and action not in OUTCOMES:
        raise typer.BadParameter(f"the action is one of {', '.join(OUTCOMES)}")
    if kind is not None and kind not in KINDS:
        raise typer.BadParameter(f"the kind is one of {', '.join(KINDS)}")
    return EventFilter(server, person, tool, action, kind, parse_time_option(since), parse_time_option(until))


async def _newest(ledger: Ledger, wanted: EventFilter, limit: int, as_json: bool) -> int:
    """Print the newest events; returns the number of the last one."""
    chosen: list[tuple[int, LedgerEvent]] = []
    newest = 0
    async for number, event in ledger.newest():
        newest = newest or number
        if wanted.matches(event):
            chosen.append((number, event))
        if len(chosen) == limit or (wanted.since is not None and event.time < wanted.since):
            break
    if not as_json and not chosen:
        typer.echo("No such events." if newest else "The ledger is empty.")
    elif not as_json:
        typer.echo(_row("no.", "when", "what", "server", "tool", "how"))
    for number, event in reversed(chosen):
        _print(number, event, as_json)
    return newest


_NARROW = 79
"""In a narrower terminal there is no room for the date and the tool."""


def _row(number: str, when: str, what: str, server: str, tool: str, how: str) -> str:
    """One line of the table, as wide as the terminal."""
    columns = shutil.get_terminal_size((80, 24)).columns
    if columns < _NARROW:
        start = f"{number:>6}  {when[-8:]:8}  {what:9}  {_short(server, 10)}  "
    else:
        start = f"{number:>6}  {when:14}  {what:9}  {_short(server, 10)}  {_short(tool, 10)}  "
    return (start + _short(how, max(16, columns - len(start)))).rstrip()


def _print(number: int, event: LedgerEvent, as_json: bool) -> None:
    if as_json:
        from handraise.ledger.views import json_line

        typer.echo(json_line(number, event))
        return
    when = datetime.fromtimestamp(event.time / 1000).astimezone()
    request = event.about.request
    tool = "" if request is None else request.target or request.method
    row = _row(str(number), f"{when:%m-%d %H:%M:%S}", event.kind, event.about.server.id, tool, how(event))
    typer.echo(row)


def how(event: LedgerEvent) -> str:
    """The details of an event, in a few words."""
    took = "" if event.latency is None else f"{event.latency / 1000:.1f} s"
    match event.kind:
        case "asked" | "shown":
            words = [event.about.mode or "", ", ".join(field.name for field in event.fields)]
        case "decided":
            with_passkey = " with a passkey" if event.how == "passkey" else ""
            words = [
                f"{(event.outcome or '').replace('_', ' ')} by {event.decided_by}{with_passkey}",
                took,
                *event.reasons,
            ]
        case "opened":
            words = [event.link.host or "" if event.link is not None else ""]
        case "used":
            words = ["" if event.used is None else _ENDED[event.used.ended]]
        case "expired":
            words = [took]
        case _:
            words = list(event.reasons)
    return ", ".join(word for word in words if word)


_ENDED = {
    "result": "call ended: result",
    "error": "call ended: error",
    "cancelled": "call ended: cancelled",
    "stopped": "call stopped by a no",
}


def _short(text: str, width: int) -> str:
    """The text, inert, in at most this many cells."""
    from handraise.display import for_line

    shown = for_line(text)
    return f"{shown if len(shown) <= width else shown[: width - 1] + '…':{width}}"


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
    ledger: LedgerOption = None,
    to: Annotated[
        str, typer.Option("--format", metavar="jsonl|csv|cloudevents|otel", help="The format.")
    ] = "jsonl",
    server: ServerFilter = None,
    person: PersonFilter = None,
    tool: ToolFilter = None,
    action: ActionFilter = None,
    kind: KindFilter = None,
    since: Since = None,
    until: Until = None,
    out: OutputFile = None,
) -> None:
    """Write events for another program.

    As JSON Lines, CSV, CloudEvents 1.0 or OpenTelemetry logs (OTLP JSON). Contents are never exported, only their
    hashes.
    """
    from handraise.ledger.views import FORMATS

    if to not in FORMATS:
        raise typer.BadParameter(f"the format is {', '.join(FORMATS)}")
    wanted = filter_of(server, person, tool, action, kind, since, until)

    async def work() -> int:
        async with open_existing_ledger(ledger) as found:
            lines = FORMATS[to](_chosen(found, wanted), found.keys.verifier.origin)
            with output_file(out) as file:
                async for line in lines:
                    file.write(f"{line}\n")
        return 0

    run(work())


def report(
    ledger: LedgerOption = None,
    since: Since = None,
    until: Until = None,
    out: OutputFile = None,
) -> None:
    """Write one page about what was asked and decided. It needs no other file. You can print it."""
    start, end = parse_time_option(since), parse_time_option(until)

    async def work() -> int:

        from handraise.ledger.report import LedgerStatus, render_report
        from handraise.ledger.views import EventFilter

        async with open_existing_ledger(ledger) as found:
            checked = await found.verify()
            chosen = [event async for _, event in _chosen(found, EventFilter(since=start, until=end))]
            name = found.keys.verifier.origin
        standing = LedgerStatus(
            name,
            checked.records,
            checked.root.hex(),
            checked.verdict.value,
            (*(finding.sentence for finding in checked.findings), *checked.doubts),
        )
        now = datetime.now().astimezone()
        page = render_report(chosen, now=now, since=_when(start), until=_when(end), standing=standing)
        with output_file(out) as file:
            file.write(f"{page}\n")
        return 0

    run(work())


async def _chosen(ledger: Ledger, wanted: EventFilter) -> AsyncIterator[tuple[int, LedgerEvent]]:
    async for number, event in ledger.events():
        if wanted.matches(event):
            yield number, event


@contextmanager
def output_file(out: Path | None) -> Iterator[TextIO]:
    """Standard output, or a private file that is replaced only when it is complete."""
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
