"""What a person sees of a question: one presentation for every desk, in the person's language.

The question comes first. Under it one line says who asks and because of which call. Everything else is a detail, one
step away and always in the same place. Text from the other side stays `UntrustedText` until a desk makes it fit for its
own place; nothing of it becomes a title, and in a button it stands quoted behind our own word.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from handraise.desks.fill import Filled
from handraise.desks.language import ENGLISH, Language
from handraise.desks.waiting import Cause, Waiting
from handraise.display import UntrustedText
from handraise.forms import (
    UNSET,
    Choice,
    Choices,
    Field,
    Flag,
    Form,
    Integer,
    Number,
    Problem,
    Text,
    exclusive_bound,
    label_of,
)
from handraise.forms.formats import FORMATS, Format
from handraise.questions import FormQuestion, Question, field_reasons, with_reasons
from handraise.urls import REASONS, Inspection, UrlVerdict, inspect_url

FieldKind: TypeAlias = Format | Literal["text", "number", "integer", "flag", "choice", "choices"]
Kind: TypeAlias = Literal["confirm", "plain", "form", "link", "browsing"]
"""`confirm`: one required yes or no. `plain`: nothing to fill in. `browsing`: the person is in their browser."""
Act: TypeAlias = Literal["yes", "no", "accept", "send", "open", "done", "decline", "cancel"]

LONG_LIST = 12
"""From more options than this on, a list can be searched."""
_LONGEST_LINE = 700
_QUOTES = re.compile(r"Arguments:|The (?:\d+ )?statements? \(.{1,200}\):")
"""The headings in a guard's message above the arguments of a call, and above a statement of SQL."""
_LEFT_OUT = re.compile("- and [0-9]{1,6} more that (?:is|are) not shown")
_OWN_LABELS = ("Answer", "Your answer", "Go ahead?")
"""What `ask.text`, `ask.confirm` and their like call their one field. A desk says it in the language of the person."""
_GLANCE = 280
"""Characters that somebody reads at a glance."""
LONG_LENGTH = 100
"""More characters than this are a bound that hardly anybody meets: it is said only to somebody who does."""
LONG_TEXT = 300
"""From more characters than this on, a text has several lines."""


@dataclass(frozen=True, slots=True)
class ShownOption:
    """One option: what is sent, and what the person reads."""

    value: str
    label: UntrustedText


@dataclass(frozen=True, slots=True)
class ShownField:
    """One field as a person sees it."""

    name: str
    kind: FieldKind
    label: UntrustedText
    description: UntrustedText | None
    required: bool
    hint: str
    """Our own words about what fits."""
    options: tuple[ShownOption, ...] = ()
    suggested: bool = False
    """Whether what stands in it at first is the server's suggestion."""
    answered: bool = False
    """Whether what stands in it at first is the last answer, as the server says: the question is asked again."""
    answers: tuple[Button, ...] = ()
    """Yes and no of a confirmation, with the server's words."""
    long: bool = False
    objection: UntrustedText | None = None
    """Why the server could not use the last answer, in its own words."""


@dataclass(frozen=True, slots=True)
class Button:
    """A way to decide. `words` are the server's, quoted behind our own label."""

    act: Act
    label: str
    words: UntrustedText | None = None
    main: bool = False

    def __str__(self) -> str:
        return self.label if self.words is None else f"{self.label}: “{self.words}”"


@dataclass(frozen=True, slots=True)
class Presentation:
    """Everything that is shown of one question, from top to bottom."""

    kind: Kind
    asker: str
    """The name that the user gave the server."""
    message: UntrustedText
    speaker: Literal["server", "handraise", "guard"]
    who: str
    """One line: who asks, and because of what."""
    buttons: tuple[Button, ...]
    """The answers; the ways out are the same everywhere."""
    ways_out: tuple[Button, ...]
    details: tuple[tuple[str, tuple[str | UntrustedText, ...]], ...]
    """What is one step away: a heading of ours, and lines under it."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    fields: tuple[ShownField, ...] = ()
    link: Inspection | None = None

    @property
    def long(self) -> bool:
        """Whether its message is more than a glance takes in."""
        return len(self.message.raw) > _GLANCE or self.message.raw.count("\n") > 8

    @property
    def lead(self) -> UntrustedText:
        """The beginning of its message: all of a short one, the first line or sentence of a longer one."""
        return UntrustedText(self.message.raw[: self._lead])

    @property
    def glance(self) -> UntrustedText:
        """Its message for a list: the beginning, where it has one that stands for itself."""
        return self.lead if self.lead.raw else self.message

    @property
    def rest(self) -> UntrustedText:
        """The part of its message after `lead`."""
        return UntrustedText(self.message.raw[self._lead :].lstrip("\n"))

    @property
    def _lead(self) -> int:
        raw = self.message.raw
        if not self.long and raw.count("\n") < 2:
            return len(raw)
        first = raw.partition("\n")[0]
        if 0 < len(first) <= _GLANCE:
            return len(first)
        ends = [raw.find(mark, 0, _GLANCE) for mark in (". ", "? ", "! ")]
        return min((end + 1 for end in ends if end > 0), default=0)


def present(waiting: Waiting, language: Language = ENGLISH) -> Presentation:
    """What to show of a question."""
    question, kind = waiting.question, kind_of(waiting)
    form = question.form if isinstance(question, FormQuestion) else None
    link = link_of(waiting)
    return Presentation(
        kind=kind,
        asker=waiting.origin.name,
        message=UntrustedText(_message(waiting, language)),
        speaker="guard" if waiting.guard else "handraise" if waiting.ours else "server",
        who=_who(waiting, language),
        buttons=_buttons(waiting, kind, link, language),
        ways_out=_ways_out(waiting, kind, language),
        details=tuple(_details(waiting, kind, language)),
        warnings=(
            *map(language.sentence, waiting.warnings),
            *(language.sentence(finding.reason) for finding in waiting.secrets if not finding.doubtful),
            *about_link(link, "danger", language),
            *about_link(link, "warn", language),
        ),
        notes=(
            *((language("needs_passkey"),) if waiting.passkey else ()),
            *about_link(link, "ok", language),
        ),
        fields=() if form is None else _shown_fields(waiting, form, kind, language),
        link=link,
    )


def _message(waiting: Waiting, language: Language) -> str:
    """The message. Reasons that its server wrote under it and that stand at their fields are not said twice."""
    question = waiting.question
    message, problems = question.message, question.hints.problems
    form = form_of(question)
    names: set[str] = (
        set() if form is None or kind_of(waiting) == "confirm" else {each.name for each in form.fields}
    )
    if form is not None and problems and {name for name, _ in problems} <= names:
        message = message.removesuffix(with_reasons("", field_reasons(form, problems)))
    return _guard_words(message, language) if waiting.guard or question.hints.guard else message


def _guard_words(message: str, language: Language) -> str:
    """The message of a guard: the lines that every guard has are said in the person's language, all others stay.

    The lines under a heading that quotes the call are the call's own, but for the count of those that were left out
    and a last line about a decline.

    A server can claim to be a guard. It gains nothing: a line is replaced by its translation only, and stays quoted as
    the server's. Long lines stay as they are, so that nobody can keep the desk busy with them.
    """
    lines = message.split("\n")
    quoted = next((at for at, line in enumerate(lines, 1) if _QUOTES.fullmatch(line)), len(lines))
    own = {*range(quoted), *(at for at, line in enumerate(lines) if _LEFT_OUT.fullmatch(line))}
    if lines[-1].startswith("If you decline: "):
        own.add(len(lines) - 1)
    return "\n".join(
        language.sentence(line) if at in own and len(line) <= _LONGEST_LINE else line
        for at, line in enumerate(lines)
    )


def _shown_fields(
    waiting: Waiting, form: Form[Any], kind: Kind, language: Language
) -> tuple[ShownField, ...]:
    hints = waiting.question.hints
    guard = waiting.guard or hints.guard

    def said(words: str) -> str:
        return language.sentence(words) if guard or words in _OWN_LABELS else words

    reasons: dict[str, str] = {}
    for name, reason in hints.problems:
        reasons[name] = f"{reasons[name]} {said(reason)}" if name in reasons else said(reason)
    shown = tuple(
        replace(each, label=UntrustedText(said(each.label.raw)))
        for each in present_fields(form, language, reasons)
    )
    if kind == "confirm":
        return tuple(replace(each, answers=_buttons(waiting, kind, None, language)) for each in shown)
    return tuple(replace(each, answered=each.name in hints.last_answer) for each in shown)


def kind_of(waiting: Waiting) -> Kind:
    """What kind of answer a question wants."""
    question = waiting.question
    if not isinstance(question, FormQuestion):
        return "browsing" if waiting.browsing else "link"
    if question.confirms is not None:
        return "confirm"
    return "form" if question.form.fields else "plain"


def link_of(waiting: Waiting) -> Inspection | None:
    """The inspection of a question's link. A link without one is inspected here, so that none is shown unjudged."""
    if waiting.link is not None or isinstance(waiting.question, FormQuestion):
        return waiting.link
    return inspect_url(waiting.question.url)


def form_of(question: Question) -> Form[Any] | None:
    """The form of a question, None for a link."""
    return question.form if isinstance(question, FormQuestion) else None


def _who(waiting: Waiting, language: Language) -> str:
    name, cause = waiting.origin.name, waiting.cause
    tool = cause.calls[0][0] if cause is not None and cause.certain and cause.calls else ""
    if waiting.guard:
        return language("guard_asks", tool=tool or "?", name=name)
    if waiting.browsing:
        return language("waits_for_browser", name=name)
    if tool:
        return language("asks_because", name=name, tool=tool)
    return language("asks_unknown" if cause is None or not cause.calls else "asks_one_of", name=name)


def _buttons(waiting: Waiting, kind: Kind, link: Inspection | None, language: Language) -> tuple[Button, ...]:
    words = waiting.question.hints.buttons
    match kind:
        case "confirm":
            return (
                Button("yes", language("yes"), _quoted(words.yes), main=True),
                Button("no", language("no"), _quoted(words.no)),
            )
        case "plain":
            return (Button("accept", language("yes"), main=True),)
        case "form":
            return (Button("send", language("send"), main=True),)
        case "link":
            opens = link is not None and link.may_be_opened
            return (Button("open", language("open_link"), main=True),) if opens else ()
        case "browsing":
            return (Button("done", language("done"), main=True),)


def _quoted(words: str | None) -> UntrustedText | None:
    return None if words is None else UntrustedText(words)


def _ways_out(waiting: Waiting, kind: Kind, language: Language) -> tuple[Button, ...]:
    decline = Button("decline", language("no" if kind == "plain" else "decline"))
    cancel = Button("cancel", language("cancel"))
    says_no = waiting.guard and kind == "confirm"  # to the user's own rule, declining is the same as its No
    return (decline, cancel) if waiting.can_be_declined and not says_no else (cancel,)


def _details(
    waiting: Waiting, kind: Kind, language: Language
) -> list[tuple[str, tuple[str | UntrustedText, ...]]]:
    origin = waiting.origin
    claimed = " ".join(filter(None, (origin.claimed_name, origin.claimed_version)))
    found: list[tuple[str, tuple[str | UntrustedText, ...]]] = [
        (language("asked_by"), (origin.name, UntrustedText(_target(waiting))))
    ]
    if claimed and origin.claimed_name != origin.name:
        found.append((language("calls_itself"), (UntrustedText(claimed), language("unverified"))))
    found.append((language("because_of"), _cause(waiting.cause, language)))
    found.append((language("what_happens"), _consequences(waiting, kind, language)))
    return found


def _target(waiting: Waiting) -> str:
    """How the server is reached. People of a shared gateway are shown the host or the program only.

    The attack: one of them reads a key of the operator's in an address or a command.
    """
    target = waiting.origin.target
    if waiting.person.how != "token":
        return target
    if "://" in target:
        parts = urlsplit(target)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    with suppress(ValueError):
        program, *arguments = shlex.split(target) or [""]
        return f"{program} …" if arguments else program
    return ""


def _cause(cause: Cause | None, language: Language) -> tuple[str | UntrustedText, ...]:
    if cause is None or not cause.calls:
        return (language("call_unknown"),)
    calls = tuple(UntrustedText(f"{name}({_arguments(arguments)})") for name, arguments in cause.calls)
    return calls if cause.certain else (language("one_of_calls"), *calls)


def _arguments(arguments: Any) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def _consequences(waiting: Waiting, kind: Kind, language: Language) -> tuple[str, ...]:
    name = waiting.origin.name
    ways_out = language("ways_out", name=name)
    if kind == "browsing":
        again = (language("link_again"),) if waiting.asked_again else ()
        return (*again, language("finish_in_browser"), language("cancel_stops_waiting"))
    if kind == "link":
        return (language("opens_link"), language("link_consent", name=name), ways_out)
    if waiting.guard:
        return (language("guard_answer"),)
    return (language("answer_goes_to", name=name), ways_out)


def about_link(
    link: Inspection | None, severity: UrlVerdict, language: Language = ENGLISH
) -> tuple[str, ...]:
    """What there is to say about a link, of one severity."""
    reasons = () if link is None else tuple(REASONS[reason] for reason in link.reasons)
    return tuple(language.sentence(reason.sentence) for reason in reasons if reason.severity == severity)


def present_fields(
    form: Form[Any], language: Language = ENGLISH, objections: dict[str, str] | None = None
) -> tuple[ShownField, ...]:
    """The fields of a form as a person sees them."""
    return tuple(_field(field, language, (objections or {}).get(field.name)) for field in form.fields)


def _field(field: Field, language: Language, objection: str | None) -> ShownField:
    options: tuple[ShownOption, ...] = ()
    if isinstance(field, Choice | Choices):
        options = tuple(ShownOption(option.value, UntrustedText(option.label)) for option in field.options)
    return ShownField(
        name=field.name,
        kind=_kind(field),
        label=UntrustedText(label_of(field)),
        description=None if field.description is None else UntrustedText(field.description),
        required=field.required,
        hint=_hint(field, language),
        options=options,
        suggested=field.default is not UNSET,
        long=isinstance(field, Text) and field.format is None and (field.max_length or 0) > LONG_TEXT,
        objection=None if objection is None else UntrustedText(objection),
    )


def _kind(field: Field) -> FieldKind:
    match field:
        case Text():
            return field.format or "text"
        case Number():
            return "number"
        case Integer():
            return "integer"
        case Flag():
            return "flag"
        case Choice():
            return "choice"
        case Choices():
            return "choices"


def _hint(field: Field, language: Language) -> str:
    match field:
        case Text():
            needs_hint = field.format is not None and FORMATS[field.format].needs_hint
            what = language(f"hint_{field.format}") if needs_hint else ""
            least = field.min_length if (field.min_length or 0) > 1 else None
            most = field.max_length if (field.max_length or math.inf) <= LONG_LENGTH else None
            length = _between(language, "characters", least, most)
            return "; ".join(filter(None, (what, length)))
        case Integer():
            return _between(language, "whole", field.minimum, field.maximum) or language("hint_whole")
        case Number():
            return _between(language, "number", field.minimum, field.maximum) or language("hint_number")
        case Choices():
            return _between(language, "options", field.min_items, field.max_items)
        case _:
            return ""


def _between(language: Language, unit: str, low: float | None, high: float | None) -> str:
    """Bounds in words. The neighbour of a round number stands for "more than": the wire has no exclusive bounds."""
    above, below = exclusive_bound(low, -math.inf), exclusive_bound(high, math.inf)
    if low is not None and low == high:
        return language(f"hint_{unit}_exactly", count=low, number=language.number(low))
    if above is not None or below is not None:
        parts = []
        if low is not None:
            more = "hint_more_than" if above is not None else "hint_at_least"
            parts.append(language(more, number=language.number(low if above is None else above)))
        if high is not None:
            less = "hint_less_than" if below is not None else "hint_at_most"
            parts.append(language(less, number=language.number(high if below is None else below)))
        return language("hint_number_that_is", bounds=language("and").join(parts))
    if low is not None and high is not None:
        return language(f"hint_{unit}_between", low=language.number(low), high=language.number(high))
    if low is not None:
        return language(f"hint_{unit}_least", count=low, number=language.number(low))
    if high is not None:
        return language(f"hint_{unit}_most", count=high, number=language.number(high))
    return ""


def say_problem(problem: Problem, field: Field | None, language: Language) -> str:
    """What is wrong with an answer, in the person's language."""
    match field, problem.rule:
        case None, _:
            return problem.message
        case _, "required":
            asked = isinstance(field, Choice | Choices | Flag)
            return language("problem_choose" if asked else "problem_required")
        case Text(format=str(kind)), "format":
            return language(f"problem_{kind}")
        case Text(), "min_length":
            return language("problem_min_length", count=field.min_length)
        case Text(), "max_length":
            return language("problem_max_length", count=field.max_length)
        case Number() | Integer(), "minimum" | "maximum":
            unit = "whole" if isinstance(field, Integer) else "number"
            return language("problem_enter", what=_between(language, unit, field.minimum, field.maximum))
        case Integer(), "type":
            return language("problem_whole")
        case Number(), "type":
            return language("problem_number")
        case Choices(), "min_items" | "max_items":
            return language(
                "problem_choose_some", what=_between(language, "options", field.min_items, field.max_items)
            )
        case Choice() | Choices() | Flag(), _:
            return language("problem_choose")
        case Text(), "pattern":
            return language("problem_pattern")
        case _:
            return problem.message


def wrong_with(filled: Filled, field: Field, language: Language) -> str:
    """The problems of a field in one line; empty when it can be sent."""
    said = [say_problem(each, field, language) for each in filled.problems if each.field == field.name]
    stopped = [
        language("must_not_carry", reason=language.sentence(each.reason))
        for each in filled.stopped
        if each.field == field.name
    ]
    return " ".join([*said, *stopped])


def odd_reasons(filled: Filled, fields: Sequence[ShownField], language: Language) -> tuple[str, ...]:
    """Why an answer needs a second look. Among several fields, each reason names its field by the label."""
    labels = {field.name: str(field.label) for field in fields} if len(fields) > 1 else {}
    return tuple(
        f"{labels[found.field]}: {language.sentence(found.reason)}"
        if found.field in labels
        else language.sentence(found.reason)
        for found in filled.odd
    )


def in_words(field: ShownField, value: Any, language: Language) -> str:
    """A value in the person's words: the title of an option, yes or no, a number or a date in their language."""
    if isinstance(value, bool):
        return language("yes" if value else "no")
    if isinstance(value, int | float):
        return language.number(value)
    if isinstance(value, list) and not value:
        return language("none_of_these")
    with suppress(ValueError):  # the server may suggest a text that is not a date
        if field.kind == "date":
            return language.day(date.fromisoformat(value))
        if field.kind == "date-time":
            return language.moment(datetime.fromisoformat(value))
    titles = {option.value: str(option.label) for option in field.options}
    chosen = value if isinstance(value, list) else [value]
    return ", ".join(titles.get(each) or str(UntrustedText(str(each))) for each in chosen)
