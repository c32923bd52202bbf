"""`handraise inbox`: open the desk of a gateway that waits for you."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from handraise.cli.options import AsJson

if TYPE_CHECKING:
    from handraise.gateway.desk.visiting import Visitor

EXAMPLES = """Examples:

\b
  handraise inbox
  handraise inbox --terminal
  handraise inbox --terminal --all

Exit status: 0 when a desk was opened or nothing waits, 1 when a desk could not be opened, 2 for wrong use.
"""
_LINGER: Final = 2.0
"""Seconds for which the terminal desk waits for a next question: the same call often asks again."""

_NO_GATEWAY = "No gateway waits for you. `handraise gateway doctor` says which of your clients have one."


def inbox(
    terminal: bool = typer.Option(
        False, "--terminal", help="Answer in this terminal; closing it leaves what waits."
    ),
    everything: bool = typer.Option(
        False, "--all", help="Also where nothing waits: open every desk, or stay at this terminal."
    ),
    as_json: AsJson = False,
) -> None:
    """Open the desk of every gateway where a question waits for you. It opens in your browser, or else here.

    Run it in a terminal that your client did not start: not in the terminal inside your editor, if the editor is the
    client. The sign-in link goes to your browser in a private file and is never printed. Where no browser can be
    opened, you answer in this terminal. Where the system does not tell which program is asking (macOS, Windows, a
    hidden /proc), the desk wants your desk code: see `handraise desk code --help`.
    """
    from handraise.gateway.desk.visiting import Visitor, doors

    visitor = Visitor(_ask_code)
    desks = [(door, seen) for door in doors() if (seen := visitor.knock(door, {"do": "look"})) is not None]
    if as_json:
        typer.echo(json.dumps([seen for _, seen in desks]))
        return
    wanted = [(door, seen) for door, seen in desks if everything or seen.get("waiting")]
    stays = terminal and everything
    if not wanted and not stays:
        typer.echo("Nothing waits." if desks else _NO_GATEWAY)
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter("this opens your desk, and needs you at a terminal")
    opened = not terminal and all(_open(visitor, door, seen) for door, seen in wanted)
    raise typer.Exit(0 if opened or _sit(visitor, [door for door, _ in wanted], stays=stays) else 1)


def _ask_code() -> str:
    from getpass import getpass

    return getpass("Your desk code: ")


def _open(visitor: Visitor, door: Path, seen: dict[str, Any]) -> bool:
    """Open a desk in the browser, with a private file that leads to its sign-in page."""
    from handraise.display import for_line
    from handraise.urls.open import Opened, open_file

    file = (visitor.knock(door, {"do": "sign in"}) or {}).get("file")
    if not isinstance(file, str):
        return False
    if isinstance(open_file(Path(file)), Opened):
        asking = for_line(", ".join(seen.get("servers") or ["no server"]))
        typer.echo(f"Opened the desk where {asking} asks you.", err=True)
        return True
    typer.echo("No browser can be opened here, so you answer in this terminal.", err=True)
    return False


def _sit(visitor: Visitor, wanted: list[Path], *, stays: bool) -> bool:
    """Answer at this terminal until nothing waits any more, or for as long as it is open."""
    import asyncio

    from handraise.desks.distant import DistantQueue
    from handraise.display import for_line
    from handraise.gateway.desk.visiting import doors

    replies = [visitor.knock(door, {"do": "read", "known": []}) or {} for door in wanted]
    if stays:
        typer.echo("Questions appear here. While there is none, Ctrl+C ends it.", err=True)
    elif not any("waiting" in reply for reply in replies):
        why = next((str(reply["refused"]) for reply in replies if "refused" in reply), "Its gateway ended.")
        typer.echo(f"handraise: {for_line(why)}", err=True)
        return False
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(DistantQueue(doors, visitor.knock), None if stays else _LINGER))
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
