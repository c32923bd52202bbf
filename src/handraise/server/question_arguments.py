"""Check the author's arguments of a question, and build the forms behind the shortcuts of `ask`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, NoReturn, TypeVar, get_args, get_origin

from handraise.errors import DefinitionError, FormError, UsageError, WireError
from handraise.forms import (
    ANSWER,
    DEFAULT_LIMITS,
    Choice,
    Choices,
    Flag,
    Form,
    Limits,
    Option,
    write_json,
)
from handraise.forms.values import NO_UNICODE, is_unicode
from handraise.questions import Question
from handraise.server.served import CURRENT
from handraise.wire import check_size

_SAMPLING: Final = frozenset(
    {
        "_meta",
        "includeContext",
        "metadata",
        "modelPreferences",
        "stopSequences",
        "systemPrompt",
        "task",
        "temperature",
        "toolChoice",
        "tools",
    }
)
"""The parameters of `sampling/createMessage` beside the messages and the number of tokens."""


class _NoFallback:
    def __repr__(self) -> str:
        return "NO_FALLBACK"


NO_FALLBACK: Any = _NoFallback()


class OutgoingRequest:
    """The input request of a question that is sent early."""

    def __init__(self) -> None:
        self.request: dict[str, Any] = {}
        """Empty while a page has no link, or if nobody can be asked."""
        self.is_known: asyncio.Event = asyncio.Event()

    def fill(self, request: Mapping[str, Any]) -> None:
        """The request is known now."""
        self.request.update(request)
        self.is_known.set()


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How to ask a question, apart from its content."""

    key: str | None = None
    timeout: float | None = None
    fallback: Any = NO_FALLBACK
    session: object = None
    unsafe_preanswer: bool = False
    outgoing: OutgoingRequest | None = None


def ask_options(
    given: Mapping[str, Any], known: type, fallback: Any = NO_FALLBACK, unsafe_preanswer: bool = False
) -> AskOptions:
    """The options of a question. One that it does not take, or of a wrong kind, is refused."""
    if unknown := given.keys() - known.__annotations__.keys():
        raise TypeError(
            f"this question takes no argument {min(unknown)!r}; every one takes "
            f"{', '.join((*known.__annotations__, 'fallback'))}, and help(ask) says what each takes besides"
        )
    key, timeout = given.get("key"), given.get("timeout")
    require_text("because", given.get("because") or "")
    require_text("if_declined", given.get("if_declined") or "")
    require_name("key", key)
    require_timeout(timeout)
    return AskOptions(key, timeout, fallback, given.get("session"), unsafe_preanswer)


def require_text(name: str, value: object) -> None:
    """Refuse a value that is not text, or that UTF-8 cannot encode: it would end the SDK's stdio server."""
    if not isinstance(value, str):
        refuse(name, "text", value)
    if not value.isascii() and not is_unicode(value):
        raise UsageError(f"{name}: {NO_UNICODE}")


def require_message(value: object) -> None:
    """Refuse a message that is not text, or is empty."""
    require_text("message", value)
    if not str(value).strip():
        refuse("message", "a sentence that the person can answer", value)


def size_limits() -> Limits:
    """The size limits of the running call's server; outside a call, those of every desk."""
    call = CURRENT.get()
    return DEFAULT_LIMITS if call is None else call.runtime.options.size


def require_size(question: Question) -> None:
    """Refuse a question that is larger than a desk shows."""
    if problems := check_size(question, size_limits()):
        raise DefinitionError(" ".join(problems))


def require_name(name: str, value: object) -> None:
    """Refuse a name that is not text, or empty. None means a generated name."""
    if value is not None:
        require_text(name, value)
        if not value:
            refuse(name, "a name that is not empty", value)


def require_timeout(timeout: object) -> None:
    """Refuse a time limit that is not a positive finite number."""
    if timeout is None:
        return
    if type(timeout) is bool or not isinstance(timeout, int | float) or not 0 < timeout <= sys.float_info.max:
        refuse("timeout", "a number of seconds above 0 (a timedelta has .total_seconds())", timeout)


def require_callable(name: str, value: object) -> None:
    """Refuse a check that cannot be called."""
    if value is not None and not callable(value):
        refuse(name, "a function", value)


def sampling_params(
    prompt: str | Sequence[Mapping[str, Any]], max_tokens: int, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of a request to the client's model."""
    if unknown := parameters.keys() - _SAMPLING:
        raise TypeError(
            f"ask.model takes no argument {min(unknown)!r}; the protocol's are {', '.join(sorted(_SAMPLING))}"
        )
    params = {"messages": _messages(prompt), "maxTokens": max_tokens, **parameters}
    if type(max_tokens) is not int or max_tokens < 1:
        refuse("max_tokens", "a whole number above 0", max_tokens)
    try:
        write_json(params)
    except WireError as error:
        reason = NO_UNICODE if error.rule == "unicode" else error.message
        raise UsageError(f"prompt: {reason}") from None
    return params


def _messages(prompt: str | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A prompt as the protocol's list of messages."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": {"type": "text", "text": prompt}}]
    given: object = prompt
    if not isinstance(given, Sequence) or not all(isinstance(message, Mapping) for message in given):
        refuse("prompt", "text or a list of messages, each a mapping with a role and content", given)
    return [dict(message) for message in given]


def refuse(name: str, wanted: str, value: object) -> NoReturn:
    """The error that names a wrong argument and what it takes."""
    raise UsageError(f"{name} has to be {wanted}, not {value!r}")


T = TypeVar("T")

CONFIRM: Form[Any] = Form.by_hand(Flag(ANSWER, title="Go ahead?"))
"""One required yes or no. (An empty form hangs some clients.)"""


def answer_of(content: Mapping[str, Any]) -> Any:
    """The answer to a form of one field."""
    return content[ANSWER]


def choice_form(options: Iterable[Any]) -> tuple[Form[Any], Callable[[Mapping[str, Any]], Any]]:
    """A form with one choice, and how to get the author's own value back from its answer."""
    offered, values = _offered(options)
    return Form.by_hand(Choice(ANSWER, offered)), lambda content: values[content[ANSWER]]


def choices_form(
    options: Iterable[Any], min_items: int | None, max_items: int | None
) -> tuple[Form[Any], Callable[[Mapping[str, Any]], Any]]:
    """A form with a choice of several, and how to get the author's own values back from its answer."""
    offered, values = _offered(options)
    field = Choices(ANSWER, offered, min_items=min_items, max_items=max_items)
    return Form.by_hand(field), lambda content: [values[value] for value in content[ANSWER]]


def _offered(options: Iterable[Any]) -> tuple[list[Option], dict[str, Any]]:
    """The options to send, and the author's values behind them.

    A mapping goes from value to title; an Enum gives its members, a Literal its values; anything else is shown as its
    text.
    """
    if get_origin(options) is Literal:
        options = get_args(options)
    if isinstance(options, type) and issubclass(options, Enum):
        titled: list[tuple[Any, str]] = [(m, m.name.replace("_", " ").capitalize()) for m in options]
        names = _names([member.value for member in options], str)
    elif isinstance(options, str | bytes) or not isinstance(options, Iterable):
        raise FormError(
            f"these are a list of values, a mapping from value to title or an Enum, not {options!r}",
            field="options",
        )
    else:
        titles = options.values() if isinstance(options, Mapping) else None
        values = list(options)
        if titles is None and values and all(map(_is_titled, values)):
            raise FormError("for values with titles write a mapping, as in dict(options)", field="options")
        titled = list(zip(values, map(_text, values if titles is None else titles), strict=True))
        names = _names(values, None)
    if not titled:
        raise FormError("there is nothing to choose from", field=ANSWER)
    offered = [
        Option(name, None if title == name else title) for name, (_, title) in zip(names, titled, strict=True)
    ]
    return offered, {name: value for name, (value, _) in zip(names, titled, strict=True)}


def _is_titled(value: object) -> bool:
    """Whether this is a pair, like an item of a mapping."""
    return type(value) is tuple and len(value) == 2 and isinstance(value[1], str)


def _names(values: list[Any], spell: Callable[[Any], str] | None) -> list[str]:
    """The name to send for each value: text itself, anything else by its spelling or its place in the list.

    If a name equals a text among the values, it is made longer.
    """
    taken = {_text(value) for value in values if isinstance(value, str)}
    names = []
    for at, value in enumerate(values, 1):
        name = _text(value) if isinstance(value, str) else str(at) if spell is None else spell(value)
        if not isinstance(value, str):
            while name in taken:
                name = f"#{name}"
            taken.add(name)
        names.append(name)
    return names


def _text(value: object) -> str:
    """Text as it is, also if it is a member of an Enum; anything else as its `str`."""
    return str.__str__(value) if isinstance(value, str) else str(value)
