"""The fields of a form: frozen values, one class for each kind the protocol knows.

An author makes them by hand or lets `Form.of` make them from a Python type; a form that came from
the wire gives the same classes back. Every field has a name, a title, a description, whether it is
required, and a default, which a desk shows as the server's suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, TypeAlias

from handraise.errors import FormError
from handraise.forms.formats import Format

Value: TypeAlias = str | int | float | bool | list[str]
"""The values that a field's answer can have on the wire."""


class _Unset(Enum):
    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


Unset: TypeAlias = Literal[_Unset.UNSET]
UNSET: Final = _Unset.UNSET
"""No default. Not the same as a falsy one: `""`, `0`, `False` and `[]` are defaults."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a choice: the value that is sent, and what the person reads."""

    value: str
    title: str | None = None

    @property
    def label(self) -> str:
        """The text for the person: the title, or the value if there is no title."""
        return self.value if self.title is None else self.title


FieldOptions: TypeAlias = Iterable[str | Option] | Mapping[str, str] | type[Enum]
"""Where options come from: values, a mapping from value to title, an Enum, or `Option`s."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The attributes that every field has."""

    name: str
    title: str | None = field(default=None, kw_only=True)
    description: str | None = field(default=None, kw_only=True)
    required: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_Asked):
    """A line of text. `pattern` is searched for anywhere in it, in linear time (no lookaround)."""

    default: str | Unset = UNSET
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | re.Pattern[str] | None = None
    format: Format | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(_Asked):
    """A number, whole or not."""

    default: float | Unset = UNSET
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(_Asked):
    """A whole number, of any size."""

    default: int | Unset = UNSET
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(_Asked):
    """Yes or no. Unanswered is neither."""

    default: bool | Unset = UNSET


@dataclass(frozen=True, slots=True)
class Choice(_Asked):
    """One of several options."""

    options: tuple[Option, ...]
    default: str | Unset
    enum_names: bool

    def __init__(
        self,
        name: str,
        options: FieldOptions,
        *,
        title: str | None = None,
        description: str | None = None,
        required: bool = True,
        default: str | Unset = UNSET,
        enum_names: bool = False,
    ) -> None:
        """`enum_names` sends titles the old way, for clients that know no other."""
        _fill(self, name=name, options=options_of(options), title=title, description=description)
        _fill(self, required=required, default=default, enum_names=enum_names)


@dataclass(frozen=True, slots=True)
class Choices(_Asked):
    """Any number of several options, at least `min_items` and at most `max_items`."""

    options: tuple[Option, ...]
    default: tuple[str, ...] | Unset
    min_items: int | None
    max_items: int | None

    def __init__(
        self,
        name: str,
        options: FieldOptions,
        *,
        title: str | None = None,
        description: str | None = None,
        required: bool = True,
        default: Iterable[str] | Unset = UNSET,
        min_items: int | None = None,
        max_items: int | None = None,
    ) -> None:
        suggested = default if default is UNSET else tuple(default)
        _fill(self, name=name, options=options_of(options), title=title, description=description)
        _fill(self, required=required, default=suggested, min_items=min_items, max_items=max_items)


Field: TypeAlias = Text | Number | Integer | Flag | Choice | Choices
"""Any field of a form."""


ANSWER: Final = "answer"
"""The default name of a form's only field: for every shortcut of `ask`, and for `Form.of` of one type."""


def label_of(field: Field) -> str:
    """A label that a person reads: the title, or the name with its words apart ("Team size" for team_size)."""
    if field.title and field.title.strip():
        return field.title
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", field.name).replace("_", " ").replace("-", " ").strip()
    if not words or words != words.encode("ascii", "ignore").decode():
        return words or field.name
    lower = " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words.split())
    return lower[:1].upper() + lower[1:]


def options_of(source: FieldOptions) -> tuple[Option, ...]:
    """The options that an author's mapping, list or Enum stands for."""
    if isinstance(source, Mapping):
        return tuple(Option(value, title) for value, title in source.items())
    if isinstance(source, type) and issubclass(source, Enum):
        return tuple(map(option_of, source))
    if isinstance(source, str):
        raise FormError("options are a list of values, not one string")
    return tuple(item if isinstance(item, Option) else Option(item) for item in source)


def option_of(member: Enum) -> Option:
    """The option for an Enum member: its value if that is text, else its name; titled by `.label`."""
    value = member.value if isinstance(member.value, str) else member.name
    label = getattr(member, "label", None)
    return Option(value, label if isinstance(label, str) else None)


def _fill(field: Choice | Choices, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(field, name, value)
