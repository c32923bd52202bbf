"""Questions, answers and who asks: the values that everything else passes around."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, TypeAlias, TypeVar

from handraise.errors import HandraiseError, Stopped, UsageError
from handraise.forms import ANSWER, DEFAULT_LIMITS, Flag, Form, label_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Action = Literal["accept", "decline", "cancel"]

TYPED: Final = "typed"
"""The name of the field of a typed confirmation. Our guards use it, and a policy recognises them by it."""

FASTER_THAN_READING: Final = 0.5
"""Seconds in which no person reads a question and answers it."""


@dataclass(frozen=True, slots=True)
class Buttons:
    """The effect of each answer of a confirmation, in the server's words. A desk quotes them after Yes and No."""

    yes: str | None = None
    no: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionHints:
    """Hints from our server about a question, beside the protocol's own fields. Untrusted (see `wire.questions`)."""

    expires_in: float | None = None
    """Seconds for which the server accepts an answer. Not a time, because clocks differ."""
    buttons: Buttons = Buttons()
    problems: tuple[tuple[str, str], ...] = ()
    """Fields with an unusable last answer, each with the reason in the server's words."""
    last_answer: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The valid values of the last answer, if the question is asked again."""
    guard: bool = False
    """The message has the lines of a guard of ours. A desk may translate those; they stay the server's words."""


NO_HINTS: Final = QuestionHints()


@dataclass(frozen=True, slots=True)
class FormQuestion(Generic[T]):
    """A question for ordinary data: a message and flat fields."""

    mode: ClassVar[Literal["form"]] = "form"
    message: str
    form: Form[T]
    names_mode: bool = field(default=True, compare=False)
    """Whether `mode` is sent, if the revision has it. Without it a question is a form."""
    hints: QuestionHints = field(default=NO_HINTS, compare=False)
    """Our server's hints to our desks."""

    @property
    def confirms(self) -> str | None:
        """The one field of a confirmation, which is one required boolean; None for any other form."""
        fields = self.form.fields
        only = fields[0] if len(fields) == 1 else None
        return only.name if isinstance(only, Flag) and only.required else None


@dataclass(frozen=True, slots=True)
class UrlQuestion:
    """A question that is settled out of band, in a browser.

    `elicitation_id` is required on 2025-11-25. On 2026-07-28 it is not needed, but sent: some clients want one.
    """

    mode: ClassVar[Literal["url"]] = "url"
    message: str
    url: str
    elicitation_id: str | None = None
    hints: QuestionHints = field(default=NO_HINTS, compare=False)


Question: TypeAlias = FormQuestion[Any] | UrlQuestion


def field_reasons(form: Form[Any], problems: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The reasons for `with_reasons`, each with the label of its field, but for a form with just an answer."""
    labels = {each.name: label_of(each) for each in form.fields}
    alone = labels.keys() <= {ANSWER, TYPED} and len(labels) == 1
    return tuple(why if alone else f"{labels.get(name, name)}: {why}" for name, why in problems)


def with_reasons(message: str, reasons: Sequence[str], longest: int = DEFAULT_LIMITS.message) -> str:
    """The message of a repeated question, with the reasons why the last answer was unusable.

    Characters that UTF-8 cannot encode are dropped. Reasons are cut so that the whole has at most `longest` bytes: a
    question that was shown once can be shown again.
    """
    listed = "\n".join(f"- {reason}" for reason in reasons)
    told = f"\n\nThe last answer could not be used:\n{listed}".encode(errors="replace")
    room = longest - len(message.encode(errors="replace"))
    if len(told) > room:
        told = told[: room - 3].decode(errors="ignore").encode() + "…".encode() if room > 3 else b""
    return message + told.decode()


@dataclass(frozen=True, slots=True)
class Origin:
    """The asking server: the name the user configured and, apart from it, the name the server claims."""

    name: str
    target: str
    claimed_name: str | None = None
    claimed_version: str | None = None


def _as_it_is(error: HandraiseError) -> HandraiseError:
    return error


fit_to_call: Callable[[HandraiseError], HandraiseError] = _as_it_is
"""Puts an error into the form for the running call's framework. The server kit sets this."""


class _Told:
    """The result of `ask`. It has no truth value: with one, `if await ask.confirm(…)` would go on after a decline."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise fit_to_call(
            UsageError(
                f"{type(self).__name__} is neither true nor false: match the answer, compare its .action, use "
                "isinstance(answer, Accepted), or .or_stop() to go on only with what was accepted"
            )
        )


@dataclass(frozen=True, slots=True)
class Accepted(_Told, Generic[T_co]):
    """The person answered. The only answer that has `.data`."""

    action: ClassVar[Literal["accept"]] = "accept"
    data: T_co

    def or_stop(self, message: str | None = None) -> T_co:
        """The data. On any other answer the call ends politely instead."""
        return self.data


@dataclass(frozen=True, slots=True)
class Declined(_Told):
    """The person said no.

    `by` tells how: with the decline control, or by answering a confirmation with "no",
    which is an accept with `false` on the wire.
    """

    action: ClassVar[Literal["decline"]] = "decline"
    by: Literal["action", "answer"] = "action"
    seconds: float | None = field(default=None, repr=False, compare=False)
    """Set if the answer came faster than a person reads; then maybe nobody was asked."""

    def or_stop(self, message: str | None = None) -> NoReturn:
        """End the call politely, telling the model that the person declined."""
        raise fit_to_call(Stopped(message or "The person declined.", action="decline"))


@dataclass(frozen=True, slots=True)
class Cancelled(_Told):
    """The person dismissed the question without deciding."""

    action: ClassVar[Literal["cancel"]] = "cancel"
    seconds: float | None = field(default=None, repr=False, compare=False)
    """Set if the answer came faster than a person reads; then maybe nobody was asked."""

    def or_stop(self, message: str | None = None) -> NoReturn:
        """End the call politely, telling the model that nothing was decided."""
        sentence = message or "The person dismissed the question without an answer. Ask again later."
        raise fit_to_call(Stopped(sentence, action="cancel"))


@dataclass(frozen=True, slots=True)
class Fallback(_Told, Generic[T_co]):
    """Nobody could be asked and the author named a value for that case. Never an answer."""

    action: ClassVar[Literal["fallback"]] = "fallback"
    value: T_co

    def or_stop(self, message: str | None = None) -> T_co:
        """The fallback value: the author chose it for exactly this case."""
        return self.value


Answer: TypeAlias = Accepted[T] | Declined | Cancelled
"""A person's decision on a question. A missing answer is not among them: it is raised."""


@dataclass(frozen=True, slots=True)
class Person:
    """The person who answers.

    The verified issuer and subject on HTTP, the operating system's user on stdio, otherwise one anonymous
    person for a connection. Never taken from form content, arguments, `clientInfo` or `_meta`.
    """

    issuer: str
    subject: str
    how: Literal["token", "system", "anonymous"]

    @property
    def key(self) -> str:
        """The one string that stands for this person in stores, limits, sealed rows and filters."""
        return person_key(self.how, self.issuer, self.subject)


def person_key(how: str, issuer: str, subject: str) -> str:
    """A person as one string. Two different people never have the same.

    It is a JSON array. A separator alone would be ambiguous: issuers contain colons and subjects may, so that the
    subject `8443:ann` of one issuer could pass for `ann` of the issuer at port 8443, and get her secrets.
    """
    return _write([how, issuer, subject])


_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
