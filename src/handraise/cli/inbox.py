"""`handraise inbox`: open the desk of a gateway that waits for you."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from handraise.cli.check import AsJson

EXAMPLES = """Examples:

\b
  handraise inbox
  handraise inbox --all

Exit status: 0 when a desk was opened or nothing waits, 1 when a desk could not be opened, 2 for wrong use.
"""


def inbox(
    everything: bool = typer.Option(False, "--all", help="Open every desk, also where nothing waits."),
    as_json: AsJson = False,
) -> None:
    """Open the desk of every gateway in which a question waits for you, in your browser.

    It works at a terminal of your own only: the link that signs you in must not be seen by a model, and is given to
    your browser, not printed.
    """
    desks = [(door, seen) for door in _doors() if (seen := _knock(door, {"do": "look"})) is not None]
    if as_json:
        typer.echo(json.dumps([seen for _, seen in desks]))
        return
    wanted = [(door, seen) for door, seen in desks if everything or seen.get("waiting")]
    if not wanted:
        typer.echo("Nothing waits." if desks else "No gateway waits for you.")
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise typer.BadParameter("this opens your desk, and needs you at a terminal")
    opened = [_open(door, seen) for door, seen in wanted]
    raise typer.Exit(0 if all(opened) else 1)


def _open(door: Path, seen: dict[str, Any]) -> bool:
    from handraise.display import for_line
    from handraise.urls import inspect_url
    from handraise.urls.open import Opened, open_url

    asking = for_line(", ".join(seen.get("servers") or ["no server"]))
    reply = _knock(door, {"do": "sign in"}) or {"refused": "Its gateway ended meanwhile."}
    link = reply.get("link")
    if not isinstance(link, str):
        typer.echo(f"handraise: {for_line(str(reply.get('refused')))}", err=True)
        return False
    result = open_url(inspect_url(link, transport="stdio", server_host=None))
    if isinstance(result, Opened):
        typer.echo(f"Opened the desk where {asking} asks you.", err=True)
        return True
    return _show(link, result.sentence)


def _show(link: str, why: str) -> bool:
    """Without a browser here, the person carries the link over: it goes to their terminal and nowhere else."""
    from handraise.desks.parked import show_at_terminal

    return show_at_terminal(f"handraise: {why}\nSign in once, within ten minutes: {link}\n")


def _doors() -> Iterator[Path]:
    import os

    from handraise.desks.counter.place import counter_directory, require_private
    from handraise.errors import SetupError
    from handraise.gateway.door import DOOR

    directory = counter_directory(os.environ)
    try:
        require_private(directory)
        yield from sorted(path for path in directory.iterdir() if path.suffix == DOOR)
    except (OSError, SetupError):
        return


def _knock(door: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """The reply to a request; None when nobody is there any more."""
    try:
        with socket.socket(socket.AF_UNIX) as visit, visit.makefile("rwb") as stream:
            visit.settimeout(10)
            visit.connect(str(door))
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            reply = json.loads(stream.readline(65536))
    except (OSError, ValueError):
        return None
    return reply if isinstance(reply, dict) else None
