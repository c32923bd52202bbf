"""`handraise call` and `handraise tools`: a small real client, with a desk where you answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from handraise.cli.at_desk import DESKS, at_desk
from handraise.cli.common import (
    AsJson,
    Env,
    Name,
    StatusOutput,
    Url,
    chosen_server,
    client_target,
    tell_stray_lines,
)
from handraise.cli.ledger import open_own_ledger
from handraise.display import for_line, for_terminal, inert
from handraise.errors import HandraiseError, Stopped
from handraise.gateway.upstreams import Upstream

if TYPE_CHECKING:
    from handraise.sdk.streams import Tell


@dataclass(frozen=True, slots=True)
class CallRequest:
    """The call's target and options."""

    tool: str
    arguments: dict[str, Any]
    folders: tuple[Path, ...]
    """The roots that the server may know."""
    desk: str | None
    revision: str
    as_json: bool


async def list_tools(server: Upstream, revision: str, as_json: bool, tell: Tell | None = None) -> int:
    """Print the tools; returns the exit status."""
    from handraise.sdk.client import plain_client

    async with plain_client(client_target(server, tell), mode=revision) as client:
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


async def make_call(
    server: Upstream, wanted: CallRequest, beside: StatusOutput, tell: Tell | None = None
) -> int:
    """Make the call with a desk open, and print its result; returns the exit status."""
    from importlib.metadata import version

    from handraise.client import Consent, ConsentClient, Roots
    from handraise.desks import Queue
    from handraise.desks.gate import PolicyGate
    from handraise.ledger.history import desk_history
    from handraise.ledger.own_ledger import policy_version
    from handraise.policy import load_policy
    from handraise.questions import Origin
    from handraise.sdk.client import has_failed, implementation
    from handraise.this_user import local_person

    queue = Queue(web_desk="handraise call --desk web")
    settings = (policy := load_policy()).settings
    named = settings.named(server.name, server.target)
    folders: list[str | Path] = [*wanted.folders, *(named.roots if named is not None else ())]
    # The user chose them for this server, which is consent.
    roots = Roots(folders, allowed=True) if folders else None
    gate = PolicyGate(policy)
    async with (
        open_own_ledger(settings) as ledger,
        beside.holding(queue),
        at_desk(
            wanted.desk,
            queue,
            gate,
            as_json=wanted.as_json,
            earlier=None if ledger is None else desk_history(ledger),
        ) as desk,
    ):
        consent = Consent(
            queue,
            origin=Origin(server.name, server.target),
            person=local_person(),
            gate=gate,
            modes=desk.modes,
            roots=roots,
            ledger=ledger,
            policy_version=policy_version(settings),
            transport=server.transport,
            server_host=server.host,
            limits=settings.forms.limits(),
        )
        this = implementation("handraise", version("handraise"))
        async with ConsentClient(
            client_target(server, tell, desk.server_log), consent, mode=wanted.revision, client_info=this
        ) as client:
            result = await client.call_tool(wanted.tool, wanted.arguments, progress_callback=beside.progress)
    failed = has_failed(result)
    _show(result, failed, wanted.as_json)
    return 1 if failed else 0


def _show(result: Any, failed: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result.model_dump(by_alias=True, exclude_none=True, mode="json")))
        return
    for block in result.content:
        shown = block.text if block.type == "text" else f"[{block.type}]"
        for line in for_terminal(shown):
            typer.echo(line, err=failed)


RevisionOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--revision",
        metavar="auto|legacy|2026-07-28",
        help="The revision to offer to the server; legacy is 2025-11-25. A server that knows only 2025-06-18 gets "
        "that one.",
    ),
]

EXAMPLES = """Examples:

\b
  handraise call -- python server.py               which tools are there?
  handraise call greet '{"name": "Ada"}' -- python server.py
  handraise call greet --desk web --url http://127.0.0.1:8000/mcp
  handraise call greet --desk parked -- python server.py    answer by id
  handraise call greet --desk script:answers.json --json -- python server.py
  handraise call sort --root ~/Notes -- python server.py    with a folder
  handraise call greet --trace -- python server.py          show the messages

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
        str | None, typer.Argument(metavar="TOOL", help="The tool to call. Without it, the tools are listed.")
    ] = None,
    arguments: Annotated[str, typer.Argument(metavar="ARGUMENTS_JSON", help="Its arguments.")] = "{}",
    desk: Annotated[
        str | None,
        typer.Option(
            "--desk",
            metavar=DESKS,
            help="Where you answer questions. Without it: the terminal, or where there is none, "
            "what `headless` in your policy says.",
        ),
    ] = None,
    url: Url = None,
    name: Name = None,
    env: Env = None,
    revision: RevisionOption = "auto",
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", metavar="DIR", help="A folder that the server may know; may be repeated."),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the messages on standard error, secrets masked.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Call a tool of a server, and answer what it asks.

    The server's command follows `--`. Every question passes your policy (see `handraise policy`) and
    shows which server asks, because of which call. The result goes to standard output, everything else to standard
    error.
    """
    server = chosen_server(context.obj or (), url, name, env)
    given = _parsed(arguments)
    mode = spoken_revision(revision)
    beside = StatusOutput(full_screen=tool is not None and desk in (None, "terminal") and sys.stderr.isatty())
    tell = beside.trace(as_json) if trace else None
    if tool is None:
        run(list_tools(server, mode, as_json, tell))
    else:
        wanted = CallRequest(tool, given, tuple(root or ()), desk, mode, as_json)
        run(make_call(server, wanted, beside, tell))


def tools(
    context: typer.Context,
    url: Url = None,
    name: Name = None,
    env: Env = None,
    revision: RevisionOption = "auto",
    as_json: AsJson = False,
) -> None:
    """List the tools of a server. Its command follows `--`."""
    run(list_tools(chosen_server(context.obj or (), url, name, env), spoken_revision(revision), as_json))


def _parsed(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise typer.BadParameter(
            f'the arguments are not JSON, such as \'{{"name": "Ada"}}\': {error}'
        ) from None
    if not isinstance(given, dict):
        raise typer.BadParameter('the arguments are a JSON object, like \'{"name": "Ada"}\'')
    return given


def spoken_revision(revision: str) -> str:
    """The chosen revision for the SDK's client."""
    if revision not in ("auto", "legacy", "2026-07-28"):
        raise typer.BadParameter("the revision is auto, legacy or 2026-07-28")
    return revision


def run(work: Coroutine[Any, Any, int]) -> None:
    """Run a command's work with a server, and exit with its status."""
    import asyncio

    tell_stray_lines()
    try:
        status = asyncio.run(work)
    except (
        BrokenPipeError
    ):  # nobody reads our output, as with `| head`; the server's pipe breaks in a group of errors
        raise
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the outermost handler of the command
        status = _explain(error)
    raise typer.Exit(status)


def _explain(error: BaseException) -> int:
    """Print an error in one line; returns the exit status."""
    from asyncio import CancelledError

    from handraise.sdk.client import fault_in, hung_up, rounds_exceeded

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    why = inert(str(error))  # a server's words may be in it
    if (fault := fault_in(error)) is not None and hung_up(fault):
        typer.echo(
            "handraise: the server hung up before it answered; run its command by itself to see why", err=True
        )
        return 3
    if fault is not None:
        typer.echo(f"handraise: the server answered with an error: {why}", err=True)
        return 1
    if (most := rounds_exceeded(error)) is not None:
        typer.echo(f"handraise: the server kept asking; given up after {most} rounds", err=True)
        return 1
    match error:
        case CancelledError():
            return 1  # the desk ended the command, and said why
        case typer.BadParameter() | typer.Exit():
            raise error
        case Stopped():
            typer.echo(f"handraise: {why}", err=True)
            return 1
        case HandraiseError():
            typer.echo(f"handraise: {why}", err=True)
            return 2
        case _:
            typer.echo(f"handraise: the server cannot be reached: {_out_of_reach(error, why)}", err=True)
            return 3


def _out_of_reach(error: BaseException, why: str) -> str:
    from httpx2 import ConnectError

    match error:
        case OSError(filename=str(program), strerror=str(problem)):
            return f"{program}: {problem}. Write the server's command after `--`, as you would type it"
        case ConnectError():
            return "nobody listens there. Start it, or correct --url"
        case _:
            return why or type(error).__name__
