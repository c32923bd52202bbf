"""What a desk shows of a question, in the order in which it shows it. Every desk lays out the same sheet.

Who asks comes first and from the user's own configuration; what the server says of itself is a claim. Text
from the other side stays `UntrustedText` until a desk makes it fit for its own place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from handraise.desks.waiting import Cause, Waiting
from handraise.display import UntrustedText
from handraise.forms import UNSET, Choice, Choices, Field, Flag, Form, Integer, Number, Text
from handraise.policy.secrets import SecretFinding
from handraise.questions import FormQuestion, Origin
from handraise.urls import REASONS, Inspection, Verdict, inspect_url

Kind = Literal["text", "email", "uri", "date", "date-time", "number", "integer", "flag", "choice", "choices"]


@dataclass(frozen=True, slots=True)
class SheetOption:
    """One option: what is sent, and what the person reads."""

    value: str
    label: UntrustedText


@dataclass(frozen=True, slots=True)
class SheetField:
    """One field as a person sees it."""

    name: str
    kind: Kind
    label: UntrustedText
    description: UntrustedText | None
    required: bool
    hint: str
    """Our own words about what fits."""
    options: tuple[SheetOption, ...] = ()
    suggested: bool = False
    """Whether what stands in it is the server's suggestion."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything that is shown of one question, from top to bottom."""

    asker: str
    target: str
    claim: UntrustedText | None
    cause: tuple[UntrustedText, ...]
    cause_is_certain: bool
    consequences: tuple[str, ...]
    message: UntrustedText
    ours: bool
    """Whether the message is in our own words."""
    fields: tuple[SheetField, ...]
    link: Inspection | None
    notes: tuple[str, ...]
    """What is worth knowing about the link, and no reason to doubt it."""
    warnings: tuple[str, ...]


def lay_out(waiting: Waiting) -> Sheet:
    """The sheet of a question."""
    question, origin = waiting.question, waiting.origin
    form = question.form if isinstance(question, FormQuestion) else None
    link = link_of(waiting)
    return Sheet(
        asker=origin.name,
        target=origin.target,
        claim=_claim(origin),
        cause=_cause(waiting.cause),
        cause_is_certain=waiting.cause is None or waiting.cause.certain,
        consequences=_consequences(waiting),
        message=UntrustedText(question.message),
        ours=waiting.ours,
        fields=() if form is None else lay_out_fields(form),
        link=link,
        notes=_about_link(link, "ok"),
        warnings=(
            *waiting.warnings,
            *_about_secrets(waiting.secrets),
            *_about_link(link, "danger"),
            *_about_link(link, "warn"),
        ),
    )


def lay_out_fields(form: Form[Any]) -> tuple[SheetField, ...]:
    """The fields of a form as a person sees them."""
    return tuple(_field(field) for field in form.fields)


def link_of(waiting: Waiting) -> Inspection | None:
    """What is known about a question's link. One that nobody looked at is looked at here: none is shown unjudged."""
    if waiting.link is not None or isinstance(waiting.question, FormQuestion):
        return waiting.link
    return inspect_url(waiting.question.url)


def _claim(origin: Origin) -> UntrustedText | None:
    if origin.claimed_name is None:
        return None
    return UntrustedText(" ".join(filter(None, (origin.claimed_name, origin.claimed_version))))


def _cause(cause: Cause | None) -> tuple[UntrustedText, ...]:
    if cause is None:
        return ()
    return tuple(UntrustedText(f"{name}({_arguments(arguments)})") for name, arguments in cause.calls)


def _arguments(arguments: Any) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


_WITH_PASSKEY = "Accepting needs your passkey, at the web desk. Declining does not."
_WAYS_OUT = "Decline tells the server no. Cancel says nothing was decided."


def _consequences(waiting: Waiting) -> tuple[str, ...]:
    origin = waiting.origin
    if waiting.browsing:
        again = "It is the link that you agreed to before. You need not open it again."
        return (
            *((again,) if waiting.asked_again else ()),
            "Finish in your browser, then say that you are done. The call goes on by itself when the site reports it.",
            "Cancel stops waiting.",
        )
    passkey = (_WITH_PASSKEY,) if waiting.passkey else ()
    if isinstance(waiting.question, FormQuestion):
        return (
            f"What you send goes to {origin.name} ({origin.target}). The model may see it.",
            *passkey,
            _WAYS_OUT,
        )
    return (
        *passkey,
        "Accepting opens the link in your browser. What you do there goes to that site, not through this program.",
        f"{origin.name} is told that you agreed to open it, and nothing else.",
        _WAYS_OUT,
    )


def _about_secrets(findings: tuple[SecretFinding, ...]) -> tuple[str, ...]:
    return tuple(finding.reason for finding in findings)


def _about_link(link: Inspection | None, severity: Verdict) -> tuple[str, ...]:
    reasons = () if link is None else tuple(REASONS[reason] for reason in link.reasons)
    return tuple(reason.sentence for reason in reasons if reason.severity == severity)


def _field(field: Field) -> SheetField:
    options: tuple[SheetOption, ...] = ()
    if isinstance(field, Choice | Choices):
        options = tuple(SheetOption(option.value, UntrustedText(option.label)) for option in field.options)
    return SheetField(
        name=field.name,
        kind=_kind(field),
        label=UntrustedText(field.title or field.name),
        description=None if field.description is None else UntrustedText(field.description),
        required=field.required,
        hint=_hint(field),
        options=options,
        suggested=field.default is not UNSET,
    )


def _kind(field: Field) -> Kind:
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


_FORMAT_HINTS: dict[str, str] = {
    "email": "an e-mail address",
    "uri": "a full address, like https://example.org/",
    "date": "a date, like 2026-07-28",
    "date-time": "a date and time with its offset, like 2026-07-28T14:30:00Z",
}


def _hint(field: Field) -> str:
    match field:
        case Text():
            length = _between(field.min_length, field.max_length, "character")
            return "; ".join(filter(None, (_FORMAT_HINTS.get(field.format or "", ""), length)))
        case Number() | Integer():
            what = "a whole number" if isinstance(field, Integer) else "a number"
            return " ".join(filter(None, (what, _between(field.minimum, field.maximum, ""))))
        case Choices():
            return _between(field.min_items, field.max_items, "option")
        case _:
            return ""


def _between(low: float | None, high: float | None, unit: str) -> str:
    if low is not None and high is not None:
        text = f"exactly {_plain(low)}" if low == high else f"from {_plain(low)} to {_plain(high)}"
    elif low is not None:
        text = f"at least {_plain(low)}"
    elif high is not None:
        text = f"at most {_plain(high)}"
    else:
        return ""
    last = low if high is None else high
    return f"{text} {unit if last == 1 else unit + 's'}" if unit else text


def _plain(number: float) -> str:
    """A number as people write it: 1000000, not 1e+06."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else str(number)
