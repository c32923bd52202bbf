"""From what a person typed or ticked to the content of an answer, the same at every desk.

Unanswered is not false and not the first option: it is nothing, and sends nothing. A server's default is a
suggestion that stands until the person changes or clears it.

There are three stages. A person *types* in their own language ("12,5"). An *entry* is the same in one form for all
desks ("12.5"); the queue keeps entries as drafts. *Content* is what is sent (12.5). What was typed in another form than
it was read in is shown to the person before it is sent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from types import MappingProxyType
from typing import Any, TypeAlias

from handraise.desks.language import ENGLISH, Language
from handraise.desks.waiting import DeskAnswer, desk_answer
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
    check_answer,
)
from handraise.questions import Accepted, FormQuestion, Question
from handraise.secrets import SecretFinding, scan_answer
from handraise.wire import parse_answer

Entry: TypeAlias = str | list[str]
"""The content of a field: `yes` or `no` for a flag, values for choices, else a text."""
Entries: TypeAlias = dict[str, Entry]
"""The content of each answered field. In a draft, an empty text means that the person left or cleared the field."""

YES, NO = "yes", "no"
NO_ANSWER: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled-in form: the content to send, its problems, and the secrets in it that should not be sent."""

    content: dict[str, Any]
    problems: tuple[Problem, ...]
    secrets: tuple[SecretFinding, ...]

    @property
    def sendable(self) -> bool:
        """Whether it fits and holds no credential. Nothing that a person says lets a credential through."""
        return not self.problems and not self.stopped

    @property
    def stopped(self) -> tuple[SecretFinding, ...]:
        """What keeps it from leaving, however often somebody presses send."""
        return tuple(found for found in self.secrets if found.tier == 1 and not found.doubtful)

    @property
    def odd(self) -> tuple[SecretFinding, ...]:
        """What wants a second look before it leaves."""
        return tuple(found for found in self.secrets if found.tier != 1 or found.doubtful)


@dataclass(frozen=True, slots=True)
class TypedEntries:
    """Typed texts as entries, and the reading of each text that was read differently from how it was typed."""

    entries: Entries
    read_as: dict[str, str] = dataclasses.field(default_factory=dict)


def suggest(form: Form[Any], last_answer: Mapping[str, Any] = NO_ANSWER) -> Entries:
    """The first content of the fields: the last answer if the form is asked again, else the server's defaults."""
    defaults = {field.name: field.default for field in form.fields if field.default is not UNSET}
    return {name: entry_of(value) for name, value in {**defaults, **last_answer}.items()}


def take_draft(form: Form[Any], draft: Entries, last_answer: Mapping[str, Any] = NO_ANSWER) -> Entries:
    """The content of the fields: the draft, or without one their first content."""
    if not draft:
        return suggest(form, last_answer)
    empty = {field.name for field in form.fields if field.default == ""}
    return {name: entry for name, entry in draft.items() if entry != "" or name in empty}


def draft_of(form: Form[Any], entries: Entries) -> Entries:
    """A draft to keep. Only where an empty text is itself the suggestion, a cleared field is left out."""
    return {**{field.name: "" for field in form.fields if field.default != ""}, **entries}


def entry_of(value: Any) -> Entry:
    """How a value stands in a field."""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def as_typed(field: Field, entry: Entry, language: Language, *, dates: bool = False) -> Entry:
    """An entry as this person would type it; with `dates`, dates and times too.

    A browser has controls of its own for dates. A date stays as it is where it would be read as another one.
    """
    if not isinstance(entry, str):
        return entry
    try:
        match field:
            case Number() | Integer():
                return language.number(_number(entry), grouped=False)
            case Text(format="date") if dates:
                typed = date.fromisoformat(entry).strftime(language.dates)
            case Text(format="date-time") if dates:
                typed = datetime.fromisoformat(entry).strftime(f"{language.dates} %H:%M")
            case _:
                return entry
        return typed if read_field(field, typed, language)[0] == entry else entry
    except ValueError:
        return entry


def local_moment(entry: Entry, zone: tzinfo | None) -> str:
    """A date and time as a browser's own control takes it, in the zone of the person; empty where it cannot."""
    if not isinstance(entry, str):
        return ""
    try:
        local = datetime.fromisoformat(entry).astimezone(zone)
        plain = local.replace(tzinfo=None, fold=0)
        again = plain.replace(tzinfo=zone) if zone is not None else plain.astimezone()
    except (ValueError, OverflowError):
        return ""
    exact = again.utcoffset() == local.utcoffset() and not plain.second and not plain.microsecond
    return plain.isoformat(timespec="minutes") if exact else ""


def read_typed(
    form: Form[Any], typed: Entries, language: Language, zone: tzinfo | None = None
) -> TypedEntries:
    """The entries that somebody typed. What cannot be read stays as it is, and the checker says so."""
    entries: Entries = {}
    read_as: dict[str, str] = {}
    for each in form.fields:
        if (given := typed.get(each.name)) is None:
            continue
        entries[each.name], note = read_field(each, given, language, zone)
        if note:
            read_as[each.name] = note
    return TypedEntries(entries, read_as)


def read_field(
    field: Field, typed: Entry, language: Language, zone: tzinfo | None = None
) -> tuple[Entry, str]:
    """The entry that somebody typed into one field; and how it was read, where that is not how it was typed."""
    if not isinstance(typed, str) or not typed.strip():
        return typed, ""
    try:
        match field:
            case Number() | Integer():
                number = language.read_number(typed)
                own = language.number(number, grouped=False)
                return entry_of(number), "" if typed.strip() == own else language.number(number)
            case Text(format="date"):
                day = language.read_date(typed)
                return day.isoformat(), "" if typed.strip() == day.isoformat() else language.day(day)
            case Text(format="date-time"):
                moment = language.read_moment(typed, zone)
                return moment.isoformat(), "" if _is_exact(typed) else language.moment(moment)
            case _:
                return typed, ""
    except (ValueError, OverflowError):
        return typed, ""


def _is_exact(typed: str) -> bool:
    """Whether a moment was typed with its offset, as it is sent."""
    try:
        return "T" in typed.upper() and datetime.fromisoformat(typed.strip()).tzinfo is not None
    except ValueError:
        return False


def spoken(field: Field, entry: Entry, language: Language) -> str:
    """A date in words; empty where there is nothing to add to what stands in the field."""
    try:
        if isinstance(field, Text) and isinstance(entry, str) and field.format == "date":
            return language.day(date.fromisoformat(entry))
        if isinstance(field, Text) and isinstance(entry, str) and field.format == "date-time":
            return language.moment(datetime.fromisoformat(entry))
    except ValueError:
        pass
    return ""


def fill(form: Form[Any], entries: Mapping[str, Entry], doubts: tuple[SecretFinding, ...] = ()) -> Filled:
    """The content of the entries, checked with the checker that the server uses too.

    `doubts`: what the form may be asking for. An answer to it wants a second look.
    """
    content: dict[str, Any] = {}
    unreadable: list[Problem] = []
    for field in form.fields:
        entry = entries.get(field.name)
        if entry is None or _is_nothing(field, entry):
            continue
        try:
            content[field.name] = _value(field, entry)
        except ValueError:
            unreadable.append(Problem(field.name, "type", "", "text"))
    named = {problem.field for problem in unreadable}
    checked = [p for p in check_answer(form, content) if p.field not in named]
    order = {field.name: at for at, field in enumerate(form.fields)}
    problems = sorted([*unreadable, *checked], key=lambda problem: order.get(problem.field or "", -1))
    doubtful = (each for each in doubts if content and (each.field is None or each.field in content))
    return Filled(content, tuple(problems), (*scan_answer(content, form), *doubtful))


def read_answer(question: Question, written: object) -> tuple[DeskAnswer, Filled | None]:
    """The answer that a program wrote, and for the content of a form what is wrong with it. Raises `WireError`."""
    form = question.form if isinstance(question, FormQuestion) else None
    answer = parse_answer(written, question.mode, form)
    if form is None or answer.action != "accept":
        return desk_answer(answer.action, answer.content), None
    content = answer.content or {}
    filled = Filled(
        content, tuple(check_answer(form, content)), tuple(scan_answer(content, form, question.message))
    )
    return Accepted(content), filled


def edited(form: Form[Any], content: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields in which the answer differs from what the server suggested."""
    changed = []
    for field in form.fields:
        if field.default is not UNSET:
            suggested = list(field.default) if isinstance(field.default, tuple) else field.default
            if content.get(field.name) != suggested:
                changed.append(field.name)
    return tuple(changed)


def may_be_none(field: Field) -> bool:
    """Whether "none of these" is an answer, and not the same as leaving the field."""
    return isinstance(field, Choices) and not field.min_items and (field.required or field.default == ())


def _is_nothing(field: Field, entry: Entry) -> bool:
    """Whether a field was left empty, and so sends nothing.

    An empty text or list that the server suggests is a suggestion like any other. Where the field is
    required, an empty list is an answer: none of them.
    """
    if entry == []:
        return not field.required and field.default != ()
    return entry == "" and field.default != ""


def _value(field: Field, entry: Entry) -> Any:
    match field:
        case Choices():
            return entry if isinstance(entry, list) else [entry]
        case Choice():
            return entry[0] if isinstance(entry, list) and len(entry) == 1 else entry
        case Text():
            return entry
        case Flag():
            if entry not in (YES, NO):
                raise ValueError(entry)
            return entry == YES
        case Integer():
            number = _number(str(entry))
            if isinstance(number, float):
                raise ValueError(entry)
            return number
        case Number():
            return _number(str(entry))


def _number(entry: str) -> int | float:
    return ENGLISH.read_number(entry)
