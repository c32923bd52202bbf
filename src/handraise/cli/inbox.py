"""`handraise inbox`: open the desk of a gateway that waits for you."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import typer

from handraise.cli.options import AsJson

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

    It works at a terminal of your own only: what signs you in must not be seen by a model. The link goes to your
    browser and is never printed; where no browser can be opened, you answer at this terminal.
    """
    from handraise.gateway.desk.visiting import doors, knock

    desks = [(door, seen) for door in doors() if (seen := knock(door, {"do": "look"})) is not None]
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
    opened = not terminal and all(_open(door, seen) for door, seen in wanted)
    raise typer.Exit(0 if opened or _sit([door for door, _ in wanted], stays=stays) else 1)


def _open(door: Path, seen: dict[str, Any]) -> bool:
    """Open a desk in the browser, with a link that signs it in once."""
    from handraise.display import for_line
    from handraise.gateway.desk.visiting import knock
    from handraise.urls import inspect_url
    from handraise.urls.open import Opened, open_url

    link = (knock(door, {"do": "sign in"}) or {}).get("link")
    if not isinstance(link, str):
        return False
    result = open_url(inspect_url(link, transport="stdio", server_host=None))
    if isinstance(result, Opened):
        asking = for_line(", ".join(seen.get("servers") or ["no server"]))
        typer.echo(f"Opened the desk where {asking} asks you.", err=True)
        return True
    typer.echo("No browser can be opened here, so you answer in this terminal.", err=True)
    return False


def _sit(wanted: list[Path], *, stays: bool) -> bool:
    """Answer at this terminal until nothing waits any more, or for as long as it is open."""
    import asyncio

    from handraise.desks.distant import DistantQueue
    from handraise.display import for_line
    from handraise.gateway.desk.visiting import doors, knock

    replies = [knock(door, {"do": "read", "known": []}) or {} for door in wanted]
    if stays:
        typer.echo("Questions appear here. While there is none, Ctrl+C ends it.", err=True)
    elif not any("waiting" in reply for reply in replies):
        why = next((str(reply["refused"]) for reply in replies if "refused" in reply), "Its gateway ended.")
        typer.echo(f"handraise: {for_line(why)}", err=True)
        return False
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(DistantQueue(doors, knock), None if stays else _LINGER))
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
