"""The setting of a tour: a real client makes one call at a time, with a person at a desk."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from handraise.client import Consent, ConsentClient, Roots
from handraise.desks import Decision, Queue, Waiting, suggest
from handraise.desks.gate import PolicyGate
from handraise.desks.lines import describe_link
from handraise.desks.present import ShownField, present
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.display import for_line, for_terminal
from handraise.ledger import Ledger
from handraise.policy import Policy, PolicyRuling
from handraise.questions import Accepted, FormQuestion, Origin, UrlQuestion
from handraise.sdk.streams import command_line, tapped, transport_to
from handraise.testing.people import fill_in
from handraise.this_user import local_person
from handraise.trace import Trace

_WIDTH: Final = 78
_INNER: Final = _WIDTH - 6
_LABEL: Final = 12
_COLOURS: Final = {"title": "1", "dim": "2", "good": "32", "bad": "31;1", "person": "36"}


class Transcript:
    """Writes a transcript. While a desk has the whole screen it is held back."""

    def __init__(self, write: Callable[[str], object], *, colour: bool) -> None:
        self._write = write
        self._colour = colour
        self._held: list[str] | None = None

    def hold(self) -> None:
        """Hold back output until `release`."""
        self._held = []

    def release(self) -> None:
        """Write the output that was held back."""
        held, self._held = self._held or [], None
        self._lines(held)

    def opening(self, sentence: str) -> None:
        """The title, and how the questions are answered."""
        self._lines([self._painted("title", "A tour of Handraise"), *_wrapped(sentence, _WIDTH)])

    def heading(self, number: int, total: int, title: str, why: str) -> None:
        """A new step."""
        self._lines(["", self._painted("title", f"{number} of {total}  {title}")])
        self._lines(self._painted("dim", line) for line in _wrapped(why, _WIDTH))
        self._lines([""])

    def call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """The model's call."""
        given = ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()
        )
        self.note("model calls", f"{tool}({given})")

    def question(self, waiting: Waiting) -> None:
        """The person's view of a question."""
        self.note("person sees", "")
        self._lines(self._painted("person", f"  │ {line}") for line in _seen(waiting))

    def refused(self, waiting: Waiting, reasons: Iterable[str]) -> None:
        """A question that the policy let nobody see."""
        question = waiting.question
        self.note("server asks", for_line(question.message))
        if isinstance(question, UrlQuestion):
            self.note("", for_line(question.url))
        self.note("policy", "Refused, before anyone saw it.")
        for reason in reasons:
            self.note("", reason)

    def decision(self, decision: Decision) -> None:
        """The person's answer."""
        match decision.answer:
            case Accepted(data) if data:
                said = "accept: " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in data.items())
            case answer:
                said = answer.action
        self.note("person says", said)

    def result(self, text: str) -> None:
        """The model's result."""
        self.note("model gets", " ".join(for_terminal(text)))

    def wire(self, text: str) -> None:
        """The messages on the wire, in the trace's format."""
        self._lines(self._painted("dim", f"  {line}") for line in text.splitlines())

    def verdict(self, well: bool, sentence: str) -> None:
        """Whether the step did what it should."""
        mark = self._painted("good" if well else "bad", "ok" if well else "NOT AS IT SHOULD BE")
        first, *more = _wrapped(sentence, _WIDTH - 6)
        self._lines([f"  {mark}  {first}", *(f"      {line}" for line in more)])

    def note(self, label: str, text: str) -> None:
        """A line with a label in the margin."""
        first, *more = _wrapped(text, _WIDTH - _LABEL - 4) or [""]
        self._lines([f"  {self._painted('dim', f'{label:>{_LABEL}}')}  {first}"])
        self._lines(f"{'':{_LABEL + 4}}{line}" for line in more)

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            if self._held is not None:
                self._held.append(line)
            else:
                self._write(f"{line.rstrip()}\n")

    def _painted(self, name: str, text: str) -> str:
        return f"\x1b[{_COLOURS[name]}m{text}\x1b[0m" if self._colour and text else text


def _seen(waiting: Waiting) -> Iterator[str]:
    """A question in the order of every desk, in fewer words: a transcript is read by somebody who need not answer."""
    shown = present(waiting)
    yield from (f"  {line}" for line in for_terminal(shown.message.raw, columns=_INNER - 2))
    yield from _wrapped(for_line(shown.who), _INNER)
    yield from (line for warning in shown.warnings for line in _wrapped(f"Warning: {warning}", _INNER))
    stands = (
        suggest(waiting.question.form, waiting.question.hints.last_answer)
        if isinstance(waiting.question, FormQuestion)
        else {}
    )
    for each in shown.fields if shown.kind != "confirm" else ():
        yield f"{each.label}{'' if each.required else ' (optional)'}"
        yield from (f"  {line}" for line in _to_fill(each, stands.get(each.name, "")))
    if not isinstance(waiting.question, FormQuestion):
        yield from describe_link(shown.link, waiting.question.url)
    yield "   ".join(str(button) for button in (*shown.buttons, *shown.ways_out))


def _to_fill(field: ShownField, stands: str | list[str]) -> Iterator[str]:
    """A field that waits for the person, with what the server suggests in it."""
    if field.kind == "flag":
        yield "  ".join(f"({'•' if stands == word.lower() else ' '}) {word}" for word in ("Yes", "No"))
    elif field.options:
        given = stands if isinstance(stands, list) else [stands]
        yield from (f"({'•' if one.value in given else ' '}) {one.label}" for one in field.options)
    else:
        yield for_line(str(stands)) or "________"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


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


class _Watched(PolicyGate):
    """A gate that reports questions, and lets a scripted person visit the pages that they agreed to open."""

    def __init__(self, telling: Transcript) -> None:
        super().__init__(Policy())
        self._telling = telling
        self._visits: list[asyncio.Future[str]] = []

    def begin(self, outcome: CallOutcome, entry: str | None) -> PolicyGate:
        """A new call, with rules and limits of its own: a tour asks more than a server should."""
        super().__init__(Policy())
        self._outcome, self._entry, self._visits = outcome, entry, []
        return self

    def admit(self, waiting: Waiting, now: float) -> PolicyRuling:
        ruling = super().admit(waiting, now)
        if ruling.verdict == "refuse":
            self._outcome.refused.append(ruling.reasons)
            self._telling.refused(waiting, ruling.reasons)
        else:
            self._outcome.asked.append(waiting)
            if self._entry is not None:  # who answers at a desk has seen it there
                self._telling.question(waiting)
        return ruling

    def decided(self, waiting: Waiting, decision: Decision, now: float) -> None:
        super().decided(waiting, decision, now)
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
