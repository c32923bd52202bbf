"""A call that the user wants made: the client, the desk beside it, and the result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from handraise.cli.beside import Beside
from handraise.cli.servers import Server

if TYPE_CHECKING:
    from handraise.client.tap import Tell


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to call, and how."""

    tool: str
    arguments: dict[str, Any]
    folders: tuple[Path, ...]
    """The roots that the server may know."""
    desk: str | None
    revision: str
    as_json: bool


async def list_tools(server: Server, revision: str, as_json: bool, tell: Tell | None = None) -> int:
    """Print what tools there are; the exit status."""
    from mcp import Client

    from handraise.display import for_line

    async with Client(server.target(tell), mode=revision) as client:
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


async def make_call(server: Server, wanted: Wanted, beside: Beside, tell: Tell | None = None) -> int:
    """Make the call with a desk beside it, and print its result; the exit status."""
    from importlib.metadata import version

    from mcp_types import Implementation

    from handraise.cli.at_desk import at_desk
    from handraise.cli.ledger_file import recorded
    from handraise.client import Consent, ConsentClient, Roots
    from handraise.desks import Queue
    from handraise.desks.gate import PolicyGate
    from handraise.ledger.earlier import earlier
    from handraise.ledger.home import policy_version
    from handraise.policy import load_policy
    from handraise.this_user import local_person

    queue = Queue(web_desk="handraise call --desk web")
    settings = (policy := load_policy()).settings
    named = settings.named(server.origin.name, server.origin.target)
    folders: list[str | Path] = [*wanted.folders, *(named.roots if named is not None else ())]
    # The user named them for this very server: that is the person's consent.
    roots = Roots(folders, allowed=True) if folders else None
    gate = PolicyGate(policy)
    async with (
        recorded(settings) as ledger,
        beside.holding(queue),
        at_desk(
            wanted.desk,
            queue,
            gate,
            as_json=wanted.as_json,
            earlier=None if ledger is None else earlier(ledger),
        ) as modes,
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
        async with ConsentClient(
            server.target(tell), consent, mode=wanted.revision, client_info=this
        ) as client:
            result = await client.call_tool(wanted.tool, wanted.arguments, progress_callback=beside.progress)
    _show(result, wanted.as_json)
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
