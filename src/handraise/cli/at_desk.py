"""The desk of a command's user."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from handraise.errors import SetupError

if TYPE_CHECKING:
    import asyncio

    from handraise.client.consent import DeskMode
    from handraise.desks import Desk, Queue
    from handraise.desks.codes import AnswerCode
    from handraise.desks.endings import Earlier
    from handraise.desks.gate import PolicyGate

DESKS = "terminal|web|parked|none|script:FILE"
BOTH: tuple[DeskMode, ...] = ("form", "url")
_WITHOUT_TERMINAL = "To be asked, run this in a terminal. To answer from a file: --desk script:FILE"


@dataclass(frozen=True, slots=True)
class OpenDesk:
    """A desk that is open."""

    modes: tuple[DeskMode, ...]
    """The modes that it can show."""
    server_log: TextIO | None = None
    """The file for a server's standard error, so that it does not disturb the desk; None for ours."""


@asynccontextmanager
async def at_desk(
    chosen: str | None,
    queue: Queue,
    gate: PolicyGate,
    *,
    as_json: bool = False,
    earlier: Earlier | None = None,
) -> AsyncIterator[OpenDesk]:
    """Keep a desk open. A desk that fails ends the command.

    Without a choice it is the terminal. Without a terminal the policy's rule for runs without a person applies.
    """
    from handraise.desks.codes import AnswerCode

    if chosen == "none":
        yield OpenDesk(())
        return
    code = AnswerCode()
    terminal = _terminal(queue, code) if chosen in (None, "terminal") else None
    async with AsyncExitStack() as open_desks:
        if chosen == "web":
            await _open_web(open_desks, queue, gate, code, earlier)
        else:
            desk = _desk(chosen, terminal, queue, gate, code, as_json)
            await open_desks.enter_async_context(_serving(desk))
        if not (chosen or "").startswith("script:"):
            await _open_listener(open_desks, queue, code, needed=chosen == "parked")
        yield OpenDesk(BOTH, getattr(terminal, "server_log", None))


async def _open_web(
    open_desks: AsyncExitStack, queue: Queue, gate: PolicyGate, code: AnswerCode, earlier: Earlier | None
) -> None:
    from handraise.desks.web import WebDesk

    if not sys.stderr.isatty():  # a reader of our output, such as a model, could sign in with the link
        raise typer.BadParameter(
            "the sign-in link of the web desk is shown on a terminal only; run this in one"
        )
    desk = await open_desks.enter_async_context(WebDesk(queue, gate=gate, code=code, earlier=earlier))
    typer.echo(f"Answer here: {desk.sign_in_url()}", err=True)


async def _open_listener(open_desks: AsyncExitStack, queue: Queue, code: AnswerCode, *, needed: bool) -> None:
    """Let `handraise answer` reach the questions. Most desks also work without it."""
    from handraise.desks.control import AnswerListener

    try:
        await open_desks.enter_async_context(AnswerListener(queue, code))
    except SetupError as error:
        if needed:
            raise
        typer.echo(f"handraise: nothing can be answered by its id here: {error}", err=True)


def _desk(
    chosen: str | None, terminal: Desk | None, queue: Queue, gate: PolicyGate, code: AnswerCode, as_json: bool
) -> Coroutine[Any, Any, None]:
    if chosen is None:
        return _undecided(terminal, queue, gate, code, as_json)
    if chosen.startswith("script:"):
        from handraise.desks.scripted import ScriptedDesk, read_script

        return ScriptedDesk(queue, read_script(Path(chosen.removeprefix("script:")))).run()
    if chosen == "parked":
        return _parked(queue, code, as_json)
    if chosen == "terminal":
        if terminal is None:
            raise typer.BadParameter(
                "there is no terminal to answer at; run this in one, or answer from a file with --desk script:FILE"
            )
        return terminal.run()
    raise typer.BadParameter(f"the desk is one of {DESKS.replace('|', ', ')}; it is not {chosen!r}")


def _undecided(
    terminal: Desk | None, queue: Queue, gate: PolicyGate, code: AnswerCode, as_json: bool
) -> Coroutine[Any, Any, None]:
    from handraise.desks.headless import HeadlessDesk
    from handraise.policy import Park

    if terminal is not None:
        return terminal.run()
    rule = gate.policy.settings.headless.decision()
    if isinstance(rule, Park):
        return _parked(queue, code, as_json, advice=_WITHOUT_TERMINAL)
    return HeadlessDesk(queue, rule, sys.stderr).run()


def _terminal(queue: Queue, code: AnswerCode) -> Desk | None:
    from handraise.desks.terminal import desk_for_terminal

    return desk_for_terminal(queue, sys.stdin, sys.stderr, os.environ, code=code)


def _parked(queue: Queue, code: AnswerCode, as_json: bool, advice: str = "") -> Coroutine[Any, Any, None]:
    from handraise.desks.headless import ParkedDesk

    return ParkedDesk(queue, code, sys.stderr, as_json=as_json, advice=advice).run()


@asynccontextmanager
async def _serving(desk: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    import asyncio

    watching = asyncio.create_task(_serve(desk, asyncio.current_task()))
    try:
        yield
    finally:
        watching.cancel()
        # the screen is given back before anything is printed
        await asyncio.gather(watching, return_exceptions=True)


async def _serve(desk: Coroutine[Any, Any, None], command: asyncio.Task[Any] | None) -> None:
    try:
        await desk
    except Exception as error:  # noqa: BLE001 - the command cannot go on without its desk
        typer.echo(f"handraise: {error}", err=True)
        if command is not None:
            command.cancel()
