"""The forms behind the shortcuts of `ask`: one field, and how its answer becomes a Python value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin

from handraise.errors import FormError
from handraise.forms import Choice, Choices, Field, Flag, Form, Option

T = TypeVar("T")

ANSWER = "answer"
"""The name of the one field of a shortcut's form."""

CONFIRM: Form[Any] = Form.by_hand(Flag("confirm", title="Go ahead?"))
"""One required yes or no. (An empty form hangs some clients.)"""


def confirmed(content: Mapping[str, Any]) -> bool:
    """Whether a confirmation was answered with yes."""
    return content["confirm"] is True


def one(field: Field) -> Form[Any]:
    """A form of one field."""
    return Form.by_hand(field)


def answer_of(content: Mapping[str, Any]) -> Any:
    """What was answered to a form of one field."""
    return content[ANSWER]


def choice(options: Iterable[Any]) -> tuple[Form[Any], Callable[[Mapping[str, Any]], Any]]:
    """A form with one choice, and how to get the author's own value back from its answer."""
    offered, values = _offered(options)
    return one(Choice(ANSWER, offered)), lambda content: values[content[ANSWER]]


def choices(
    options: Iterable[Any], min_items: int | None, max_items: int | None
) -> tuple[Form[Any], Callable[[Mapping[str, Any]], Any]]:
    """A form with a choice of several, and how to get the author's own values back from its answer."""
    offered, values = _offered(options)
    field = Choices(ANSWER, offered, min_items=min_items, max_items=max_items)
    return one(field), lambda content: [values[value] for value in content[ANSWER]]


def _offered(options: Iterable[Any]) -> tuple[list[Option], dict[str, Any]]:
    """The options as they are sent, and the author's values behind them.

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
    """Whether this is a pair, as of a mapping's items."""
    return type(value) is tuple and len(value) == 2 and isinstance(value[1], str)


def _names(values: list[Any], spell: Callable[[Any], str] | None) -> list[str]:
    """What is sent for each value: a text itself, and anything else as it is spelled, or by its place in the list.

    It may look like a text among the values; more of the same tells them apart.
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
    """A text as it is, also where it is the member of an Enum; anything else as it is shown."""
    return str.__str__(value) if isinstance(value, str) else str(value)
