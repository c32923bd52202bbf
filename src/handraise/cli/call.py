"""`handraise call` and `handraise tools`: a small real client, with a desk where you answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from handraise.cli.beside import Beside
from handraise.cli.servers import Server, chosen_server
from handraise.errors import HandraiseError, Stopped

if TYPE_CHECKING:
    from handraise.client.tap import Tell

Url: TypeAlias = Annotated[str | None, typer.Option("--url", help="A server over streamable HTTP.")]
Name: TypeAlias = Annotated[
    str | None, typer.Option("--name", help="What you call the server; the desk shows it.")
]
Revision: TypeAlias = Annotated[
    str, typer.Option("--revision", metavar="auto|legacy|2026-07-28", help="How to speak to the server.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

EXAMPLES = """Examples:

\b
  handraise call -- python server.py                       what tools are there?
  handraise call greet '{"name": "Ada"}' -- python server.py
  handraise call greet --desk web --url http://127.0.0.1:8000/mcp
  handraise call greet --desk parked -- python server.py   answer later: handraise answer
  handraise call greet --desk script:answers.json --json -- python server.py
  handraise call sort --root ~/Notes -- python server.py   a folder that it may know
  handraise call greet --trace -- python server.py         see what crosses the wire

Exit status: 0 when the tool succeeded, 1 when it failed, 2 for wrong use, 3 when the server cannot be reached.
"""


def call(
    context: typer.Context,
    tool: Annotated[str | None, typer.Argument(help="The tool to call; without it they are listed.")] = None,
    arguments: Annotated[str, typer.Argument(metavar="ARGUMENTS_JSON", help="Its arguments.")] = "{}",
    desk: Annotated[
        str | None,
        typer.Option(
            "--desk",
            metavar="terminal|web|parked|none|script:FILE",
            help="Where you answer questions. Without it: the terminal, or where there is none, "
            "what `headless` in your policy says.",
        ),
    ] = None,
    url: Url = None,
    name: Name = None,
    revision: Revision = "auto",
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root", metavar="DIR", help="A folder that the server may know; as often as you like."
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show on standard error what crosses the wire, secrets masked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Call a tool of a server, and answer what it asks.

    The server's command stands behind `--`. Every question passes your policy (see `handraise policy`) and
    shows which server asks, because of which call. The result goes to standard output, all else beside it.
    """
    server = chosen_server(context.obj or (), url, name)
    given = _parsed(arguments)
    mode = spoken_revision(revision)
    if tool is None:
        run(_list(server, mode, as_json))
    else:
        beside = Beside(full_screen=desk in (None, "terminal") and sys.stderr.isatty())
        told = beside.trace(as_json) if trace else None
        run(_call(server, mode, desk, tool, given, as_json, root or (), beside, told))


def tools(
    context: typer.Context,
    url: Url = None,
    name: Name = None,
    revision: Revision = "auto",
    as_json: AsJson = False,
) -> None:
    """List the tools of a server. Its command stands behind `--`."""
    run(_list(chosen_server(context.obj or (), url, name), spoken_revision(revision), as_json))


def _parsed(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise typer.BadParameter(f"the arguments are no JSON: {error}") from None
    if not isinstance(given, dict):
        raise typer.BadParameter('the arguments are a JSON object, like \'{"name": "Ada"}\'')
    return given


def spoken_revision(revision: str) -> str:
    """The revision that was asked for, as the SDK's client wants it."""
    if revision not in ("auto", "legacy", "2026-07-28"):
        raise typer.BadParameter("the revision is auto, legacy or 2026-07-28")
    return revision


def run(work: Coroutine[Any, Any, int]) -> None:
    """Do the work of a command with a server, and end with its exit status."""
    import asyncio

    try:
        status = asyncio.run(work)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the outermost handler of the command
        status = _explain(error)
    raise typer.Exit(status)


def _explain(error: BaseException) -> int:
    """Say what went wrong in one line; the exit status for it."""
    from asyncio import CancelledError

    from mcp import InputRequiredRoundsExceededError
    from mcp.shared.exceptions import MCPError

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case CancelledError():
            return 1  # the desk ended the command, and said why
        case typer.BadParameter() | typer.Exit():
            raise error
        case MCPError():
            typer.echo(f"handraise: the server answered with an error: {error}", err=True)
            return 1
        case InputRequiredRoundsExceededError():
            typer.echo(
                f"handraise: the server kept asking; given up after {error.max_rounds} rounds", err=True
            )
            return 1
        case Stopped():
            typer.echo(f"handraise: {error}", err=True)
            return 1
        case HandraiseError():
            typer.echo(f"handraise: {error}", err=True)
            return 2
        case _:
            typer.echo(
                f"handraise: the server cannot be reached: {str(error) or type(error).__name__}", err=True
            )
            return 3


async def _list(server: Server, mode: str, as_json: bool) -> int:
    from mcp import Client

    from handraise.display import for_line

    async with Client(server.target(), mode=mode) as client:
        listed = (await client.list_tools()).tools
    if as_json:
        typer.echo(
            json.dumps([tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed])
        )
        return 0
    width = max((len(tool.name) for tool in listed), default=0)
    for tool in listed:
        typer.echo(
            f"{for_line(tool.name):{width}}  {for_line((tool.description or '').strip().partition(chr(10))[0])}"
        )
    return 0


async def _call(
    server: Server,
    mode: str,
    desk: str | None,
    tool: str,
    arguments: dict[str, Any],
    as_json: bool,
    folders: Sequence[Path],
    beside: Beside,
    tell: Tell | None,
) -> int:
    from importlib.metadata import version

    from mcp_types import Implementation

    from handraise.cli.at_desk import at_desk
    from handraise.cli.ledger_file import recorded
    from handraise.client import Consent, ConsentClient, Roots
    from handraise.desks import Queue
    from handraise.desks.gate import PolicyGate
    from handraise.ledger.events import Client
    from handraise.ledger.home import policy_version
    from handraise.policy import load_policy
    from handraise.server.person import local_person

    roots = (
        Roots(folders, allowed=True) if folders else None
    )  # named for this very server, on its command line
    queue = Queue()
    settings = (policy := load_policy()).settings
    gate = PolicyGate(policy)
    async with (
        recorded(settings) as ledger,
        beside.holding(queue),
        at_desk(desk, queue, gate, as_json=as_json) as modes,
    ):
        consent = Consent(
            queue,
            origin=server.origin,
            person=local_person(),
            gate=gate,
            modes=modes,
            roots=roots,
            ledger=ledger,
            policy_version=policy_version(settings),
            transport=server.transport,
            server_host=server.host,
        )
        this = Implementation(name="handraise", version=version("handraise"))
        consent.client = Client(this.name, this.version)
        async with ConsentClient(server.target(tell), consent, mode=mode, client_info=this) as client:
            result = await client.call_tool(tool, arguments, progress_callback=beside.progress)
    _show(result, as_json)
    return 1 if result.is_error else 0


def _show(result: Any, as_json: bool) -> None:
    from handraise.display import for_terminal

    if as_json:
        typer.echo(json.dumps(result.model_dump(by_alias=True, exclude_none=True, mode="json")))
        return
    for block in result.content:
        shown = block.text if block.type == "text" else f"[{block.type}]"
        for line in for_terminal(shown):
            typer.echo(line, err=result.is_error)
