"""`handraise call` and `handraise tools`: a small real client, with a desk where you answer."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from handraise.cli.at_desk import DESKS, at_desk
from handraise.cli.common import (
    AsJson,
    Env,
    Name,
    Url,
    chosen_server,
    client_target,
    wants_colour,
)
from handraise.display import for_line, for_terminal, inert
from handraise.errors import HandraiseError, Stopped
from handraise.gateway.upstreams import Upstream

if TYPE_CHECKING:
    from handraise.desks import Queue
    from handraise.ledger import Ledger
    from handraise.policy import Settings
    from handraise.sdk.streams import Tell


class StatusOutput:
    """Standard error, shared with a desk that may draw on the whole terminal."""

    def __init__(self, *, full_screen: bool) -> None:
        self._full_screen = full_screen
        self._queue: Queue | None = None
        self._held: list[str] = []

    @asynccontextmanager
    async def holding(self, queue: Queue) -> AsyncIterator[None]:
        """Hold back lines while the desk is open, and print them afterwards."""
        self._queue = queue
        try:
            yield
        finally:
            self._queue = None
            for text in self._held:
                typer.echo(text, err=True, nl=False)
            self._held.clear()

    def trace(self, as_json: bool) -> Tell:
        """A trace that prints at once, or after the call if a desk uses the screen."""
        from handraise.trace import Trace

        return Trace(self._keep, as_json=as_json, colour=wants_colour()).message

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """One line for a progress notice; none while a question is on the screen."""
        if self._full_screen and self._queue is not None and self._queue.waiting():
            return
        part = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
        typer.echo(f"… {part} {for_line(message or '')}".rstrip(), err=True)

    def _keep(self, text: str) -> None:
        if self._full_screen:
            self._held.append(text)
        else:
            typer.echo(text, err=True, nl=False)


@asynccontextmanager
async def _own_ledger(settings: Settings) -> AsyncIterator[Ledger | None]:
    """The user's own ledger for a command that asks. Closing signs a checkpoint."""
    from handraise.ledger.own_ledger import own_ledger

    ledger = own_ledger(settings)
    if ledger is None:
        yield None
        return
    try:
        await ledger.start()
        yield ledger
    finally:
        await ledger.aclose()


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
    server: Upstream,
    tool: str,
    arguments: dict[str, Any],
    *,
    folders: list[Path],
    desk: str | None,
    revision: str,
    as_json: bool,
    beside: StatusOutput,
    tell: Tell | None,
) -> int:
    """Make the call with a desk open, and print its result; returns the exit status. The server may know `folders`."""
    from importlib.metadata import version

    from handraise.client import Consent, ConsentClient, Roots
    from handraise.desks import Queue
    from handraise.desks.gate import PolicyGate
    from handraise.ledger.own_ledger import policy_version
    from handraise.ledger.views import desk_history
    from handraise.policy import load_policy
    from handraise.questions import Origin
    from handraise.sdk.client import has_failed, implementation
    from handraise.this_user import local_person

    queue = Queue(web_desk="handraise call --desk web")
    settings = (policy := load_policy()).settings
    named = settings.named(server.name, server.target)
    known: list[str | Path] = [*folders, *(named.roots if named is not None else ())]
    # The user chose them for this server, which is consent.
    roots = Roots(known, allowed=True) if known else None
    gate = PolicyGate(policy)
    async with (
        _own_ledger(settings) as ledger,
        beside.holding(queue),
        at_desk(
            desk, queue, gate, as_json=as_json, earlier=None if ledger is None else desk_history(ledger)
        ) as opened,
    ):
        consent = Consent(
            queue,
            origin=Origin(server.name, server.target),
            person=local_person(),
            gate=gate,
            modes=opened.modes,
            roots=roots,
            ledger=ledger,
            policy_version=policy_version(settings),
            transport=server.transport,
            server_host=server.host,
            limits=settings.forms.limits(),
        )
        this = implementation("handraise", version("handraise"))
        async with ConsentClient(
            client_target(server, tell, opened.server_log), consent, mode=revision, client_info=this
        ) as client:
            result = await client.call_tool(tool, arguments, progress_callback=beside.progress)
    failed = has_failed(result)
    _show(result, failed, as_json)
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

Exit status: 0 when it listed the tools, 1 when the server answered with an error, 2 for wrong use, 3 when it cannot be
reached.
"""


def call(
    context: typer.Context,
    tool: Annotated[
        str | None,
        typer.Argument(metavar="TOOL", help="The tool to call. Without it, the command lists the tools."),
    ] = None,
    arguments: Annotated[str, typer.Argument(metavar="ARGUMENTS_JSON", help="Its arguments.")] = "{}",
    desk: Annotated[
        str | None,
        typer.Option(
            "--desk",
            metavar=DESKS,
            help="Where you answer questions. none: nowhere, like a client that cannot ask. Default: the terminal; "
            "without a terminal, `headless` in your policy decides.",
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

    The server's command follows `--`. Your policy judges every question (see `handraise policy`). The desk shows which
    server asks, and because of which call. The result goes to standard output, everything else to standard error.
    """
    server = chosen_server(context.obj or (), url, name, env)
    given = _parsed(arguments)
    mode = spoken_revision(revision)
    beside = StatusOutput(full_screen=tool is not None and desk in (None, "terminal") and sys.stderr.isatty())
    tell = beside.trace(as_json) if trace else None
    if tool is None:
        run(list_tools(server, mode, as_json, tell))
    else:
        run(
            make_call(
                server,
                tool,
                given,
                folders=root or [],
                desk=desk,
                revision=mode,
                as_json=as_json,
                beside=beside,
                tell=tell,
            )
        )


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

    _tell_stray_lines()
    try:
        status = asyncio.run(work)
    except (
        BrokenPipeError
    ):  # nobody reads our output, as with `| head`; the server's pipe breaks in a group of errors
        raise
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the outermost handler of the command
        status = _explain(error)
    raise typer.Exit(status)


def _tell_stray_lines() -> None:
    """Print once that the server wrote a line that is not a message, with the line."""
    logger = logging.getLogger("mcp.client.stdio")
    logger.addHandler(_OnlyTheFirst())
    logger.propagate = False


class _OnlyTheFirst(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger(record.name).disabled = True
        typer.echo(
            f"handraise: the server wrote something that is no message of the protocol{_written(record)}\n"
            "handraise: a server's standard output is for messages only; let it print to standard error",
            err=True,
        )


def _written(record: logging.LogRecord) -> str:
    from pydantic import ValidationError

    error = record.exc_info[1] if record.exc_info else None
    if not isinstance(error, ValidationError):
        return ""
    return f": {for_line(str(error.errors()[0]['input']))[:200]}"


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
