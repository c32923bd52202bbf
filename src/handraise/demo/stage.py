"""The setting of a tour: a real client makes one call at a time, with a person at a desk."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeAlias

from handraise.client import Consent, ConsentClient, Roots
from handraise.client.gate import Ruling
from handraise.demo.transcript import Transcript
from handraise.desks import Decision, Queue, Waiting
from handraise.desks.gate import PolicyGate
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.ledger import Ledger
from handraise.policy import Policy
from handraise.questions import Accepted, Origin, UrlQuestion
from handraise.sdk.streams import command_line, tapped, transport_to
from handraise.testing.people import fill_in
from handraise.this_user import local_person
from handraise.trace import Trace

DeskOpener: TypeAlias = Callable[[Queue, PolicyGate], AbstractAsyncContextManager[Any]]
"""Opens the desk at which a person answers, as long as a call takes."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server that the tour starts, and what the user would call it."""

    name: str
    arguments: tuple[str, ...]

    @property
    def origin(self) -> Origin:
        """The asking server."""
        return Origin(self.name, f"python {' '.join(Path(word).name for word in self.arguments)}")


@dataclass
class CallOutcome:
    """The result of a call."""

    text: str = ""
    asked: list[Waiting] = field(default_factory=list)
    refused: list[tuple[str, ...]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether the person agreed to everything they were asked."""
        return bool(self.decisions) and all(isinstance(each.answer, Accepted) for each in self.decisions)


class TourStage:
    """The folder, the ledger and the transcript of a tour, and who answers: a script, or somebody at a desk.

    A context: servers are started when they are first called, and end with it.
    """

    def __init__(
        self,
        notes: Path,
        ledger: Ledger,
        telling: Transcript,
        *,
        queue: Queue | None = None,
        open_desk: DeskOpener | None = None,
        mode: str = "auto",
        wire: bool = False,
    ) -> None:
        self.notes = notes
        self.ledger = ledger
        self.telling = telling
        self.scripted = open_desk is None
        self._open_desk = open_desk or self._open_script
        self._mode = mode
        self._wire = wire
        self._queue = queue or Queue()
        self._script: list[Line] = []
        self._clients: dict[Program, tuple[ConsentClient, _Watched]] = {}
        self._running = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    @property
    def outside(self) -> Path:
        """A folder beside the notes with a similar name."""
        return self.notes.with_name("Notes-evil")

    async def call(
        self,
        server: Program,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        script: Iterable[Line] = (),
        entry: str = "",
    ) -> CallOutcome:
        """Have a tool called; `script` and `entry` (on a page) are what a scripted person answers."""
        client, gate = self._clients.get(server) or await self._connect(server)
        outcome, given, self._script = CallOutcome(), dict(arguments or {}), list(script)
        self.telling.call(tool, given)
        if not self.scripted:
            self.telling.hold()
        try:
            async with self._open_desk(self._queue, gate.begin(outcome, entry if self.scripted else None)):
                result = await client.call_tool(tool, given)
                await gate.visited()
        finally:
            self.telling.release()
        outcome.text = "".join(block.text for block in result.content if block.type == "text")
        self.telling.result(outcome.text)
        return outcome

    async def _connect(self, server: Program) -> tuple[ConsentClient, _Watched]:
        gate = _Watched(self.telling)
        consent = Consent(
            self._queue,
            origin=server.origin,
            person=local_person(),
            gate=gate,
            roots=Roots([self.notes], allowed=True),
            ledger=self.ledger,
        )
        client = ConsentClient(self._target(server), consent, mode=self._mode)
        opened: AbstractAsyncContextManager[Any] = client
        await self._running.enter_async_context(opened)
        self._clients[server] = client, gate
        return client, gate

    @asynccontextmanager
    async def _open_script(self, queue: Queue, _gate: PolicyGate) -> AsyncIterator[None]:
        desk = asyncio.create_task(ScriptedDesk(queue, self._script).run())
        try:
            yield
        finally:
            desk.cancel()
            await asyncio.gather(desk, return_exceptions=True)

    def _target(self, server: Program) -> Any:
        started = command_line(sys.executable, *server.arguments)
        return tapped(transport_to(started), Trace(self.telling.wire).message) if self._wire else started


class _Watched:
    """A gate that reports questions, and lets a scripted person visit the pages that they agreed to open."""

    def __init__(self, telling: Transcript) -> None:
        self._telling = telling
        self._visits: list[asyncio.Future[str]] = []

    def begin(self, outcome: CallOutcome, entry: str | None) -> PolicyGate:
        """A new call, with limits of its own: a tour asks more than a server should."""
        self._outcome, self._entry, self._visits = outcome, entry, []
        self.inner = PolicyGate(Policy())
        return self.inner

    def admit(self, waiting: Waiting, now: float) -> Ruling:
        ruling = self.inner.admit(waiting, now)
        if ruling.verdict == "refuse":
            self._outcome.refused.append(ruling.reasons)
            self._telling.refused(waiting, ruling.reasons)
        else:
            self._outcome.asked.append(waiting)
            if self._entry is not None:  # who answers at a desk has seen it there
                self._telling.question(waiting)
        return ruling

    def needs_passkey(self, waiting: Waiting) -> bool:
        return self.inner.needs_passkey(waiting)

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        self.inner.decided(waiting, decision, now)
        self._outcome.decisions.append(decision)
        self._telling.decision(decision)
        agreed = isinstance(decision.answer, Accepted)
        if agreed and self._entry is not None and isinstance(waiting.question, UrlQuestion):
            self._telling.note("in a browser", "the person enters the key on the page")
            visit = partial(fill_in, waiting.question.url, self._entry)
            self._visits.append(asyncio.get_running_loop().run_in_executor(None, visit))

    async def visited(self) -> None:
        """When the pages have been read to their end."""
        await asyncio.gather(*self._visits)
