"""A host for tests: a queue, a script for its desk, and the client kit around the official SDK's client."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import anyio
import uvicorn

from handraise.client import Consent, ConsentClient
from handraise.desks import Decision, Queue, Waiting
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.policy import ALLOW, PolicyRuling
from handraise.questions import Origin, Person
from handraise.revisions import Revision

ADA = Person("", "ada", "system")
NOTES = Origin("notes", "python notes.py", "Notes Server", "1.0")


@dataclass
class OpenGate:
    """Lets everything pass, and remembers."""

    ruling: PolicyRuling = ALLOW
    seen: list[Any] = field(default_factory=list)

    def admit(self, waiting: Waiting, now: float) -> PolicyRuling:
        self.seen.append(waiting)
        return self.ruling

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        self.seen.append(decision)


@dataclass(frozen=True)
class Event:
    """A question, and what became of it."""

    waiting: Waiting
    decision: Decision


def watch(consent: Consent, events: list[Event]) -> Consent:
    """Remember what becomes of the questions of a host."""
    decide = consent._decide

    async def watched(waiting: Waiting, recording: Any) -> Decision:
        decision = await decide(waiting, recording)
        events.append(Event(waiting, decision))
        return decision

    consent._decide = watched  # type: ignore[method-assign]
    return consent


@dataclass
class Host:
    client: ConsentClient
    consent: Consent
    queue: Queue
    desk: ScriptedDesk
    gate: OpenGate
    events: list[Event]


@asynccontextmanager
async def host(
    target: Any,
    revision: Revision,
    script: Iterable[Line] = (),
    *,
    gate: OpenGate | None = None,
    modes: Any = ("form", "url"),
    roots: Any = None,
    ledger: Any = None,
    origin: Origin = NOTES,
    **options: Any,
) -> AsyncIterator[Host]:
    """A connected host whose person answers from a script."""
    queue, chosen = Queue(), gate or OpenGate()
    events: list[Event] = []
    consent = Consent(
        queue,
        origin=origin,
        person=ADA,
        gate=chosen,
        modes=modes,
        roots=roots,
        ledger=ledger,
        timeout=10,
    )
    watch(consent, events)
    desk = ScriptedDesk(queue, list(script))
    mode = "2026-07-28" if revision.modern else "legacy"
    offered = revision if revision.legacy else Revision.NOVEMBER_2025
    with mock.patch("mcp.client.session.LATEST_HANDSHAKE_VERSION", str(offered)):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.run)
            guarded = ConsentClient(target, consent, mode=mode, **options)
            async with guarded:
                yield Host(guarded, consent, queue, desk, chosen, events)
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_http(app: Any, port: int = 0) -> AsyncIterator[str]:
    """A server's application on a loopback port, as long as the test needs it; the URL of its endpoint."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        serving = uvicorn.Server(config)
        task = asyncio.create_task(serving.serve(sockets=[listening]))
        with anyio.fail_after(60):
            while not serving.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await anyio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            serving.should_exit = True
            await task
