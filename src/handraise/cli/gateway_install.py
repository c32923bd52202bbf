"""`handraise gateway install`: route a client's servers through the gateway."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handraise.cli.gateway_doctor import own_desk
from handraise.display import for_line
from handraise.errors import SetupError
from handraise.gateway.clients.table import CLIENTS, KnownClient

if TYPE_CHECKING:
    from handraise.gateway.clients.rewriting import Plan

EXAMPLES = """Examples:

\b
  handraise gateway install --client claude-desktop
  handraise gateway install --client codex --server github --dry-run
  handraise gateway install --client claude-code --project
  handraise gateway install --client cursor --undo

Exit status: 0 when it is done or there was nothing to do, 1 when you said no, 2 for wrong use or a file that cannot be
used.
"""


def install(
    client: Annotated[
        str,
        typer.Option(
            "--client",
            help=f"{', '.join(list(CLIENTS)[:-1])} or {list(CLIENTS)[-1]}.",
        ),
    ],
    server: Annotated[
        list[str] | None,
        typer.Option("--server", metavar="NAME", help="Only this server; may be repeated."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="The configuration file, if it is not the client's usual one."),
    ] = None,
    project: Annotated[
        bool,
        typer.Option("--project", help="The servers of the project in this folder, like those in .mcp.json."),
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the gateway again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before writing.")] = False,
) -> None:
    """Put the gateway in front of the servers of a client.

    It rewrites the client's configuration. Before it writes, it shows every command in full and asks you. It keeps a
    copy of the old file in your data directory. It does not change comments, layout, or entries that it does not
    understand.
    """
    if client not in CLIENTS:
        raise typer.BadParameter(
            f"{client!r} is not a known client; use {', '.join(CLIENTS)}", param_hint="--client"
        )
    chosen = server or []
    places = _places(CLIENTS[client], file, project, chosen)
    statuses = [
        _install(known, path, chosen, shared, own=file is None, undo=undo, dry_run=dry_run, yes=yes)
        for known, path, shared in places
    ]
    raise typer.Exit(max(statuses))


def _places(
    client: KnownClient, file: Path | None, project: bool, servers: list[str]
) -> list[tuple[KnownClient, Path, bool]]:
    """The files to change, how to read each, and whether it is shared with others."""
    from handraise.gateway.clients.rewriting import has_any

    if not project:
        own = [(client, path, False) for path in ((file,) if file else client.paths())]
        return (
            own if len(own) == 1 else [each for each in own if has_any(client, each[1], servers)] or own[:1]
        )
    if file is not None:
        raise typer.BadParameter("give --file or --project, not both")
    known = client.in_folder(Path.cwd())
    if not known:
        raise typer.BadParameter(f"{client.title} has no servers of single projects", param_hint="--project")
    found = [each for each in known if each[1].is_file()]
    if not found:
        missing = " and no ".join(str(path) for _, path, _ in known)
        raise SetupError(f"there is no {missing}; run this in the folder of a project that has one")
    return [each for each in found if has_any(each[0], each[1], servers)] or found


def _install(
    client: KnownClient,
    path: Path,
    servers: list[str],
    shared: bool,
    *,
    own: bool,
    undo: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    from handraise.gateway.clients.rewriting import backup_directory, plan, write

    ours = ["handraise"] if shared else ()  # a local path is useless to others
    planned = plan(client, path, servers=servers, undo=undo, gateway=ours, backups=backup_directory())
    _show(planned)
    if planned.by_hand:
        typer.echo(
            f"Nothing was changed: {client.title} keeps its servers in YAML, which you write yourself."
        )
        return 0
    if not planned.changes or dry_run:
        typer.echo("Nothing is to do." if not planned.changes else "Nothing was changed.")
        return 0
    if not yes and not _confirmed():
        typer.echo("Nothing was changed.")
        return 1
    backup = write(planned, datetime.now().astimezone(), backup_directory())
    typer.echo(f"Done. The file as it was: {_line(str(backup))}")
    if own:  # with --file the reading program is unknown
        typer.echo(f"Restart {client.title} to have it take effect.")
    _advise_desk_code()
    return 0


def _advise_desk_code() -> None:
    desk = own_desk()
    if not desk["process_facts"] and not desk["desk_code"]:
        typer.echo("Then make your desk code, which your desk opens with on this system: handraise desk code")


def _show(planned: Plan) -> None:
    typer.echo(f"{_line(str(planned.path))}\n")
    for change in planned.changes:
        typer.echo(
            f"  {_line(change.server)}\n    now:   {_line(change.before)}\n    then:  {_line(change.after)}"
        )
        for at, line in enumerate(planned.by_hand.get(change.server, ())):
            typer.echo(f"    {'write: ' if not at else '       '}{_line(line)}")
        typer.echo("")
    for left in planned.left:
        typer.echo(f"  {_line(left.server)}\n    stays: {_line(left.why)}\n")


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise typer.BadParameter("this asks before it writes, and needs you at a terminal; or give --yes")
    return typer.confirm("Write this?", default=False)


def _line(text: str) -> str:
    """The whole text, inert. A person must see a command in full to consent to it."""
    return for_line(text, limit=10 * len(text) + 100)
