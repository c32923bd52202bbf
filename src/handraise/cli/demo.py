"""`handraise demo`: the tour, with you or a scripted person as the one who answers."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handraise.cli.at_desk import at_desk
from handraise.cli.call import RevisionOption, run, spoken_revision

if TYPE_CHECKING:
    from handraise.demo.stage import DeskOpener
    from handraise.desks import Queue
    from handraise.desks.gate import PolicyGate

EXAMPLES = """Examples:

\b
  handraise demo                           you answer, in the terminal
  handraise demo --desk web                you answer, in a browser
  handraise demo --desk script             a scripted person answers
  handraise demo --revision legacy --wire  the messages before 2026-07-28

Exit status: 0 when every step succeeded, 1 when one failed.
"""

_DESKS = ("terminal", "web", "script")


def demo(
    desk: Annotated[
        str | None,
        typer.Option(
            "--desk",
            metavar="|".join(_DESKS),
            help="Where you answer. script: a scripted person answers. Default: the terminal; without one, script.",
        ),
    ] = None,
    revision: RevisionOption = "auto",
    wire: Annotated[bool, typer.Option("--wire", help="Show the messages, secrets masked.")] = False,
) -> None:
    """Take a tour of a few minutes, with a server that asks. It works in a temporary folder of notes.

    It touches nothing outside of that folder, and leaves nothing behind.
    """
    chosen = desk or ("terminal" if sys.stdin.isatty() and sys.stdout.isatty() else "script")
    if chosen not in _DESKS:
        raise typer.BadParameter(f"the desk is one of {', '.join(_DESKS)}; it is not {chosen!r}")
    run(_tour(chosen, spoken_revision(revision), wire))


async def _tour(chosen: str, mode: str, wire: bool) -> int:
    from handraise.demo.stage import Transcript
    from handraise.demo.tour import tour
    from handraise.desks import Queue
    from handraise.sdk.client import require_newest

    require_newest("handraise demo")
    logging.getLogger("handraise").addHandler(logging.NullHandler())  # the transcript shows everything
    telling = Transcript(sys.stdout.write, colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
    scripted, queue = chosen == "script", Queue()
    async with _all_along(chosen, queue):
        broken = await tour(
            telling,
            queue=queue,
            open_desk=None if scripted else _for_a_call(chosen),
            mode=mode,
            wire=wire,
            between=None if scripted else _wait,
        )
    typer.echo(f"\n{broken} promises were not kept." if broken else "\nEvery step did what it should.")
    return 1 if broken else 0


def _all_along(chosen: str, queue: Queue) -> AbstractAsyncContextManager[Any]:
    """A web desk stays open, so that one sign-in is enough."""
    from handraise.desks.gate import PolicyGate
    from handraise.policy import Policy

    return at_desk("web", queue, PolicyGate(Policy())) if chosen == "web" else nullcontext()


def _for_a_call(chosen: str) -> DeskOpener:
    """Give the terminal to the desk while it asks, else to the transcript."""

    def opened(queue: Queue, gate: PolicyGate) -> AbstractAsyncContextManager[Any]:
        return nullcontext() if chosen == "web" else at_desk(chosen, queue, gate)

    return opened


async def _wait() -> None:
    """Wait for Enter. Not in a thread, which would block an interrupted program."""
    import asyncio

    typer.echo("\nEnter goes on ", nl=False)
    loop, pressed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, pressed.set)
    try:
        await pressed.wait()
    finally:
        loop.remove_reader(sys.stdin)
    sys.stdin.readline()
