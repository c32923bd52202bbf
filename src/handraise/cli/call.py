"""`handraise call` and `handraise tools`: a small real client, with a desk where you answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from handraise.cli.beside import Beside
from handraise.cli.calling import Wanted, list_tools, make_call
from handraise.cli.options import AsJson, Name, Url
from handraise.cli.servers import chosen_server
from handraise.errors import HandraiseError, Stopped

if TYPE_CHECKING:
    from mcp import MCPError

Revision: TypeAlias = Annotated[
    str,
    typer.Option(
        "--revision",
        metavar="auto|legacy|2026-07-28",
        help="How to speak to the server. legacy offers 2025-11-25; 2025-06-18 is spoken to servers that know no "
        "other, since the SDK's client cannot offer it.",
    ),
]

EXAMPLES = """Examples:

\b
  handraise call -- python server.py               which tools are there?
  handraise call greet '{"name": "Ada"}' -- python server.py
  handraise call greet --desk web --url http://127.0.0.1:8000/mcp
  handraise call greet --desk parked -- python server.py    answer by id
  handraise call greet --desk script:answers.json --json -- python server.py
  handraise call sort --root ~/Notes -- python server.py    it may know this
  handraise call greet --trace -- python server.py          see the wire

Exit status: 0 when the tool succeeded, 1 when it failed, 2 for wrong use, 3 when the server cannot be reached.
"""
TOOLS_EXAMPLES = """Examples:

\b
  handraise tools -- python server.py
  handraise tools --url http://127.0.0.1:8000/mcp --json

Exit status: 0 when they are listed, 1 when the server answered with an error, 2 for wrong use, 3 when it cannot be
reached.
"""


def call(
    context: typer.Context,
    tool: Annotated[
        str | None, typer.Argument(metavar="TOOL", help="The tool to call; without it they are listed.")
    ] = None,
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
    beside = Beside(full_screen=tool is not None and desk in (None, "terminal") and sys.stderr.isatty())
    tell = beside.trace(as_json) if trace else None
    if tool is None:
        run(list_tools(server, mode, as_json, tell))
    else:
        wanted = Wanted(tool, given, tuple(root or ()), desk, mode, as_json)
        run(make_call(server, wanted, beside, tell))


def tools(
    context: typer.Context,
    url: Url = None,
    name: Name = None,
    revision: Revision = "auto",
    as_json: AsJson = False,
) -> None:
    """List the tools of a server. Its command stands behind `--`."""
    run(list_tools(chosen_server(context.obj or (), url, name), spoken_revision(revision), as_json))


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

    from handraise.cli.stray import tell_stray_lines

    tell_stray_lines()
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
        case MCPError() if _hung_up(error):
            typer.echo(
                "handraise: the server hung up before it answered; run its command by itself to see why",
                err=True,
            )
            return 3
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
            typer.echo(f"handraise: the server cannot be reached: {_out_of_reach(error)}", err=True)
            return 3


def _hung_up(error: MCPError) -> bool:
    """Whether the SDK says so, and not a server that uses the same code for something else."""
    from mcp_types import CONNECTION_CLOSED

    return (error.code, error.message) == (CONNECTION_CLOSED, "Connection closed")


def _out_of_reach(error: BaseException) -> str:
    from httpx2 import ConnectError

    match error:
        case OSError(filename=str(program), strerror=str(why)):
            return f"{program}: {why}. Its command, as you would type it, stands behind `--`"
        case ConnectError():
            return "nobody listens there. Start it, or correct --url"
        case _:
            return str(error) or type(error).__name__
