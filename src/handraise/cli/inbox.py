"""`handraise inbox`: open the desk of a gateway that waits for you, or one tray for all of them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from handraise.cli.common import AsJson
from handraise.display import for_line

if TYPE_CHECKING:
    from handraise.gateway.desk_socket import DeskConnection

EXAMPLES = """Examples:

\b
  handraise inbox
  handraise inbox --terminal
  handraise inbox --terminal --all
  handraise inbox --tray

Exit status: 0 when a desk was opened or nothing waits, 1 when a desk could not be opened, 2 for wrong use.
"""
_LINGER: Final = 2.0
"""Seconds that the terminal desk waits for another question: the same call often asks again."""

TRAY_PORT: Final = 7433
_NO_BROWSER = "No browser can be opened here. Answer in this terminal: handraise inbox --terminal --all"
_NO_GATEWAY = "No gateway waits for you. `handraise gateway doctor` says which of your clients have one."

_NOTHING_YET = "Nobody asked yet. Your tray opens in your browser with the first question. Ctrl+C closes it."


def inbox(
    terminal: bool = typer.Option(
        False, "--terminal", help="Answer in this terminal. If you close it, the questions keep waiting."
    ),
    everything: bool = typer.Option(
        False, "--all", help="Open every desk, even if nothing waits there. With --terminal: stay open."
    ),
    tray: bool = typer.Option(
        False,
        "--tray",
        help="Open one page with the questions of all your gateways. It stays open until Ctrl+C.",
    ),
    port: int = typer.Option(TRAY_PORT, "--port", help="With --tray: the port of that page."),
    as_json: AsJson = False,
) -> None:
    """Open the desk of every gateway where a question waits for you. It opens in your browser, or in this terminal.

    Run it in a terminal that your client did not start. If the client is your editor, do not use the terminal inside
    it. The sign-in link goes to your browser in a private file and is never printed. If no browser can be opened, you
    answer in this terminal. On macOS and Windows, and where /proc is hidden, the desk asks for your desk code: see
    `handraise desk code --help`.
    """
    from handraise.gateway.desk_socket import DeskConnection
    from handraise.processes import keep_memory_private

    keep_memory_private()  # otherwise a client's program could trace this process, which the desk lets in
    connection = DeskConnection(_ask_code)
    desks = _look(connection)
    if as_json:
        typer.echo(json.dumps([seen for _, seen in desks]))
        return
    if tray:
        if not sys.stderr.isatty():
            raise typer.BadParameter("this opens your desk, and needs you at a terminal")
        raise typer.Exit(0 if _stay(connection, port) else 1)
    wanted = [(socket, seen) for socket, seen in desks if everything or seen.get("waiting")]
    stays = terminal and everything
    if not wanted and not stays:
        typer.echo("Nothing waits." if desks else _NO_GATEWAY)
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter("this opens your desk, and needs you at a terminal")
    opened = not terminal and all(_open(connection, socket, seen) for socket, seen in wanted)
    raise typer.Exit(0 if opened or _sit(connection, [socket for socket, _ in wanted], stays=stays) else 1)


def _look(connection: DeskConnection) -> list[tuple[Path, dict[str, Any]]]:
    """The desk of each gateway that runs, and what it tells of itself."""
    from handraise.gateway.desk_socket import desk_sockets

    asked = ((socket, connection.ask_desk(socket, {"do": "look"})) for socket in desk_sockets())
    return [(socket, seen) for socket, seen in asked if seen is not None]


def _stay(connection: DeskConnection, port: int) -> bool:
    """Keep the tray open, and follow gateways that start and end."""
    import asyncio

    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(_serve_tray(connection, port))
    return True


async def _serve_tray(connection: DeskConnection, port: int) -> bool:
    import asyncio

    from handraise.access import AccessCheck
    from handraise.desks.remote import LOOK, RemoteQueue
    from handraise.desks.web import WebDesk
    from handraise.gateway.desk_socket import desk_sockets
    from handraise.urls.open import Opened, open_file

    access = AccessCheck()
    queue = RemoteQueue(desk_sockets, connection.ask_desk, access)
    async with WebDesk(queue, port=port, access=access) as desk:
        if not (desks := await asyncio.to_thread(_look, connection)):
            typer.echo(_NOTHING_YET, err=True)
        while not desks:  # no client is known yet: the desk could not tell its programs from the person
            await asyncio.sleep(LOOK)
            desks = await asyncio.to_thread(_look, connection)
        access.add_families([seen.get("clients") for _, seen in desks])
        if isinstance(open_file(desk.sign_in_file()), Opened):
            typer.echo(f"Your tray is at http://127.0.0.1:{desk.port}. Ctrl+C closes it.", err=True)
        else:
            typer.echo(_NO_BROWSER, err=True)
            return False
        await queue.follow()
    return True


def _ask_code() -> str:
    return getpass("Your desk code: ")


def _open(connection: DeskConnection, socket: Path, seen: dict[str, Any]) -> bool:
    """Open a desk in the browser through a private file."""
    from handraise.urls.open import Opened, open_file

    file = (connection.ask_desk(socket, {"do": "sign in"}) or {}).get("file")
    if not isinstance(file, str):
        return False
    if isinstance(open_file(Path(file)), Opened):
        asking = for_line(", ".join(seen.get("servers") or ["no server"]))
        typer.echo(f"Opened the desk where {asking} asks you.", err=True)
        return True
    typer.echo("No browser can be opened here, so you answer in this terminal.", err=True)
    return False


def _sit(connection: DeskConnection, wanted: list[Path], *, stays: bool) -> bool:
    """Answer at this terminal until no question waits, or until it is closed."""
    import asyncio

    from handraise.desks.remote import RemoteQueue
    from handraise.gateway.desk_socket import desk_sockets

    replies = [connection.ask_desk(socket, {"do": "read", "known": []}) or {} for socket in wanted]
    if stays:
        typer.echo("Questions appear here. While there is none, Ctrl+C ends it.", err=True)
    elif not any("waiting" in reply for reply in replies):
        why = next((str(reply["refused"]) for reply in replies if "refused" in reply), "Its gateway ended.")
        typer.echo(f"handraise: {for_line(why)}", err=True)
        return False
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(RemoteQueue(desk_sockets, connection.ask_desk), None if stays else _LINGER))
    return True


async def _serve(queue: Any, patience: float | None) -> None:
    import asyncio

    from handraise.desks.terminal import desk_for_terminal

    desk = desk_for_terminal(queue, sys.stdin, sys.stderr, os.environ)
    assert desk is not None  # there is a terminal
    tasks = [asyncio.ensure_future(desk.run()), asyncio.ensure_future(queue.follow(patience))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for problem in ended:
        if isinstance(problem, Exception):
            raise problem
