"""The transcript of a tour: the model's calls, the person's view and answers, and the results."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from handraise.desks import Decision, Waiting, suggest
from handraise.desks.lines import describe_link
from handraise.desks.present import ShownField, present
from handraise.display import for_line, for_terminal
from handraise.questions import Accepted, FormQuestion, UrlQuestion

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
        self._row("model calls", f"{tool}({given})")

    def question(self, waiting: Waiting) -> None:
        """The person's view of a question."""
        self._row("person sees", "")
        self._lines(self._painted("person", f"  │ {line}") for line in _seen(waiting))

    def refused(self, waiting: Waiting, reasons: Iterable[str]) -> None:
        """A question that the policy let nobody see."""
        question = waiting.question
        self._row("server asks", for_line(question.message))
        if isinstance(question, UrlQuestion):
            self._row("", for_line(question.url))
        self._row("policy", "Refused, before anyone saw it.")
        for reason in reasons:
            self._row("", reason)

    def decision(self, decision: Decision) -> None:
        """The person's answer."""
        match decision.answer:
            case Accepted(data) if data:
                said = "accept: " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in data.items())
            case answer:
                said = answer.action
        self._row("person says", said)

    def result(self, text: str) -> None:
        """The model's result."""
        self._row("model gets", " ".join(for_terminal(text)))

    def note(self, label: str, text: str) -> None:
        """Anything else that happened."""
        self._row(label, text)

    def wire(self, text: str) -> None:
        """The messages on the wire, in the trace's format."""
        self._lines(self._painted("dim", f"  {line}") for line in text.splitlines())

    def verdict(self, well: bool, sentence: str) -> None:
        """Whether the step did what it should."""
        mark = self._painted("good" if well else "bad", "ok" if well else "NOT AS IT SHOULD BE")
        first, *more = _wrapped(sentence, _WIDTH - 6)
        self._lines([f"  {mark}  {first}", *(f"      {line}" for line in more)])

    def _row(self, label: str, text: str) -> None:
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
    for field in shown.fields if shown.kind != "confirm" else ():
        yield f"{field.label}{'' if field.required else ' (optional)'}"
        yield from (f"  {line}" for line in _to_fill(field, stands.get(field.name, "")))
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
