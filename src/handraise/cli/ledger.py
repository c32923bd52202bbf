"""`handraise ledger`: show the ledger as a table, for other programs, and as a page."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeAlias

import typer

from handraise.disk import open_stream, replacing
from handraise.display import for_line, for_terminal
from handraise.errors import SetupError
from handraise.policy.places import DATABASE_URLS

if TYPE_CHECKING:
    from handraise.ledger import Ledger, LedgerEvent
    from handraise.ledger.views import EventFilter

app = typer.Typer(
    help="Read and verify the record of every question.\n\n"
    "`handraise call` and the gateway write the ledger into a file in your data directory "
    "(HANDRAISE_LEDGER names another one). It names each server, each decision, and the call that used the answer. "
    "Begin with `handraise ledger show`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

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
ServerFilter: TypeAlias = Annotated[
    str | None, typer.Option("--server", help="Only this server, by your name for it.")
]
PersonFilter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--person",
        help="Only this person: the subject, the login name, or the person as `export --format csv` writes it.",
    ),
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
_EXAMPLES = """Examples:

\b
  handraise ledger show
  handraise ledger show --server notes --action decline --since 7d
  handraise ledger show --kind refused --json
  handraise ledger show --follow
  handraise ledger show --tool delete_note --contents
"""
_EXPORT_EXAMPLES = """Examples:

\b
  handraise ledger export > events.jsonl
  handraise ledger export --format csv --since 30d -o july.csv
  handraise ledger export --format cloudevents --server notes
  handraise ledger export --format otel
"""
_REPORT_EXAMPLES = """Examples:

\b
  handraise ledger report -o report.html
  handraise ledger report --since 2026-07-01 --until 2026-08-01 -o july.html
"""


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
    """Run a command's work, and exit with its status."""
    import asyncio

    try:
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


@app.command(epilog=_EXAMPLES)
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
    with_contents: Annotated[
        bool,
        typer.Option("--contents", help="Show messages and answers too, as far as `ledger.keep` kept them."),
    ] = False,
) -> None:
    """Show what was asked and decided, the newest event last.

    A question has several events. They share its id, which `--json` shows. Messages and answers are shown only with
    `--contents`.
    """
    import asyncio

    wanted = filter_of(server, person, tool, action, kind, since, until)

    async def work() -> int:
        async with open_existing_ledger(ledger) as found:
            table = _Table(found, as_json, with_contents)
            last = await _newest(table, wanted, limit)
            if with_contents and not (table.has_contents or follow):
                typer.echo(
                    "No contents of these events were kept: see `ledger.keep` in your policy.", err=True
                )
            while follow:
                await asyncio.sleep(_EVERY)
                async for number, event in found.events(last):
                    last = number
                    if wanted.matches(event):
                        await table.print(number, event)
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


async def _newest(table: _Table, wanted: EventFilter, limit: int) -> int:
    """Print the newest events; returns the number of the last one."""
    chosen: list[tuple[int, LedgerEvent]] = []
    newest = 0
    async for number, event in table.ledger.newest():
        newest = newest or number
        if wanted.matches(event):
            chosen.append((number, event))
        if len(chosen) == limit or (wanted.since is not None and event.time < wanted.since):
            break
    if not table.as_json and not chosen:
        typer.echo("No such events." if newest else "The ledger is empty.")
    elif not table.as_json:
        typer.echo(_row("no.", "when", "what", "server", "tool", "how"))
    for number, event in reversed(chosen):
        await table.print(number, event)
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


class _Table:
    """Prints events: as rows, or as JSON; with their contents if they are wanted."""

    def __init__(self, ledger: Ledger, as_json: bool, with_contents: bool) -> None:
        self.ledger = ledger
        self.as_json = as_json
        self.has_contents = False
        self._with_contents = with_contents

    async def print(self, number: int, event: LedgerEvent) -> None:
        """Print one event."""
        from handraise.ledger.views import json_line

        contents = await self.ledger.contents(event) if self._with_contents else {}
        self.has_contents = self.has_contents or bool(contents)
        if self.as_json:
            typer.echo(json_line(number, event, contents))
            return
        when = datetime.fromtimestamp(event.time / 1000).astimezone()
        request = event.about.request
        tool = "" if request is None else request.target or request.method
        row = _row(str(number), f"{when:%m-%d %H:%M:%S}", event.kind, event.about.server.id, tool, how(event))
        typer.echo(row)
        for line in _lines_of(contents) if event.kind != "shown" else []:  # it was asked in the same words
            typer.echo(f"        {line}")


def _lines_of(contents: Mapping[str, str]) -> Iterator[str]:
    """A message and the fields of an answer, inert, as wide as the terminal."""
    answer = json.loads(contents.get("answer", "null"))
    said = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in (answer or {}).items()
    }
    texts = [contents.get("message", ""), *(f"{name}: {value}" for name, value in said.items())]
    for text in texts:
        yield from for_terminal(text, columns=shutil.get_terminal_size((80, 24)).columns - 8) if text else []


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
    shown = for_line(text)
    return f"{shown if len(shown) <= width else shown[: width - 1] + '…':{width}}"


@app.command(epilog=_EXPORT_EXAMPLES)
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


@app.command(epilog=_REPORT_EXAMPLES)
def report(
    ledger: LedgerOption = None,
    since: Since = None,
    until: Until = None,
    out: OutputFile = None,
) -> None:
    """Write a report of what was asked and decided. It is one HTML page."""
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
