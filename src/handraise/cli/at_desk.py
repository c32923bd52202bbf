"""The desk at which the user of a command answers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from handraise.client.consent import DeskMode
    from handraise.desks import Queue

BOTH: tuple[DeskMode, ...] = ("form", "url")


@asynccontextmanager
async def at_desk(chosen: str, queue: Queue) -> AsyncIterator[tuple[DeskMode, ...]]:
    """Keep a desk open; what it can show. A desk that fails ends the command."""
    if chosen == "none":
        yield ()
        return
    if chosen == "web":
        from handraise.desks.web import WebDesk

        if not sys.stderr.isatty():  # whoever reads our output could sign in with the link, a model for one
            raise typer.BadParameter("the sign-in link of the web desk is shown on a terminal only")
        async with WebDesk(queue) as desk:
            typer.echo(f"Answer here: {desk.sign_in_url()}", err=True)
            yield BOTH
        return
    serving = asyncio.current_task()
    watching = asyncio.create_task(_serve(_desk(chosen, queue), serving))
    try:
        yield BOTH
    finally:
        watching.cancel()
        await asyncio.gather(
            watching, return_exceptions=True
        )  # the screen is given back before anything is printed


def _desk(chosen: str, queue: Queue) -> Coroutine[Any, Any, None]:
    if chosen.startswith("script:"):
        from handraise.desks.scripted import ScriptedDesk, read_script

        return ScriptedDesk(queue, read_script(Path(chosen.removeprefix("script:")))).serve()
    if chosen == "terminal":
        from handraise.desks.terminal import desk_for_terminal

        desk = desk_for_terminal(queue, sys.stdin, sys.stderr, os.environ)
        if desk is None:
            raise typer.BadParameter(
                "there is no terminal to answer at; choose --desk web or --desk script:FILE"
            )
        return desk.run()
    raise typer.BadParameter("the desk is terminal, web, none or script:FILE")


async def _serve(desk: Coroutine[Any, Any, None], command: asyncio.Task[Any] | None) -> None:
    try:
        await desk
    except Exception as error:  # noqa: BLE001 - the command cannot go on without its desk
        typer.echo(f"handraise: {error}", err=True)
        if command is not None:
            command.cancel()
