"""`handraise ledger show`: events as a table, newest at the end, or as JSON Lines."""

from __future__ import annotations

import asyncio
import shutil
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from handraise.cli.ledger_file import Where, opened
from handraise.cli.ledger_run import moment, run

if TYPE_CHECKING:
    from handraise.ledger import Event, Ledger
    from handraise.ledger.filters import Filter

EXAMPLES = """Examples:

\b
  handraise ledger show
  handraise ledger show --server notes --action decline --since 7d
  handraise ledger show --kind refused --json
  handraise ledger show --follow
"""

Server: TypeAlias = Annotated[
    str | None, typer.Option("--server", help="Only this server, by your name for it.")
]
Person: TypeAlias = Annotated[
    str | None, typer.Option("--person", help="Only this person: a subject, or the whole key.")
]
Tool: TypeAlias = Annotated[str | None, typer.Option("--tool", help="Only questions of this tool.")]
Action: TypeAlias = Annotated[
    str | None, typer.Option("--action", metavar="accept|decline|cancel", help="Only these decisions.")
]
Kind: TypeAlias = Annotated[
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
    typer.Option("--since", metavar="TIME", help="From then on: 2026-07-28, or how long ago: 7d, 12h."),
]
Until: TypeAlias = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before then.")]

_EVERY = 0.5


def show(
    ledger: Where = None,
    server: Server = None,
    person: Person = None,
    tool: Tool = None,
    action: Action = None,
    kind: Kind = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many of the newest events to show.")] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, with all that is known.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with new events, until you press Ctrl+C.")
    ] = False,
) -> None:
    """Show what was asked and decided, the newest event last.

    A question has several events, joined by its id, which `--json` shows. What was said is not in them; see
    `ledger.keep` in the policy.
    """
    wanted = filter_of(server, person, tool, action, kind, since, until)

    async def work() -> int:
        async with opened(ledger) as found:
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
) -> Filter:
    """The filter of a command line; wrong use for words that no event has."""
    from handraise.ledger.events import KINDS
    from handraise.ledger.filters import Filter

    if action not in (None, "accept", "decline", "cancel"):
        raise typer.BadParameter("the action is accept, decline or cancel")
    if kind is not None and kind not in KINDS:
        raise typer.BadParameter(f"the kind is one of {', '.join(KINDS)}")
    return Filter(server, person, tool, action, kind, moment(since), moment(until))


async def _newest(ledger: Ledger, wanted: Filter, limit: int, as_json: bool) -> int:
    """Print the newest events; the number of the very newest."""
    chosen: list[tuple[int, Event]] = []
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
        typer.echo(_HEADINGS)
    for number, event in reversed(chosen):
        _print(number, event, as_json)
    return newest


_HEADINGS = f"{'no.':>6}  {'when':14}  {'what':9}  {'server':10}  {'tool':10}  how"


def _print(number: int, event: Event, as_json: bool) -> None:
    if as_json:
        from handraise.ledger.export import json_line

        typer.echo(json_line(number, event))
        return
    when = datetime.fromtimestamp(event.time / 1000).astimezone()
    request = event.about.request
    tool = "" if request is None else request.target or request.method
    server = event.about.server.id
    start = f"{number:6}  {when:%m-%d %H:%M:%S}  {event.kind:9}  {_short(server, 10)}  {_short(tool, 10)}  "
    columns = shutil.get_terminal_size((80, 24)).columns
    typer.echo((start + _short(how(event), max(20, columns - len(start)))).rstrip())


def how(event: Event) -> str:
    """What else there is to say about an event, in a few words."""
    took = "" if event.latency is None else f"{event.latency / 1000:.1f} s"
    match event.kind:
        case "asked" | "shown":
            words = [event.about.mode or "", ", ".join(field.name for field in event.fields)]
        case "decided":
            with_passkey = " with a passkey" if event.how == "passkey" else ""
            words = [f"{event.action} by {event.decided_by}{with_passkey}", took, *event.reasons]
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
    """The text, harmless, in exactly this many cells or fewer at the end of a line."""
    from handraise.display import for_line

    shown = for_line(text)
    return f"{shown if len(shown) <= width else shown[: width - 1] + '…':{width}}"
