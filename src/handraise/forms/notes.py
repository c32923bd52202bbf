"""Read the annotation beside a type: `Optional`, constraints, title and description.

Constraints are read by their attributes (`ge`, `min_length`, `pattern`, …), so those of annotated-types
and of pydantic both work, and neither has to be imported.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import ReadOnly

from handraise.errors import FormError
from handraise.forms.fields import UNSET

_CONSTRAINTS: Final = ("ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of", "pattern")
_WRAPPERS: Final = frozenset({Required, NotRequired, ReadOnly, Final})


@dataclass(slots=True)
class Notes:
    """An annotation taken apart."""

    base: Any
    optional: bool = False
    title: str | None = None
    description: str | None = None
    default: object = UNSET
    titles: Mapping[str, str] = field(default_factory=dict)
    constraints: dict[str, Any] = field(default_factory=dict)


def take_apart(name: str, annotation: object, metadata: Iterable[object] = ()) -> Notes:
    """The type under an annotation, and everything that was said around it."""
    notes = Notes(annotation)
    while _unwrap(name, notes):
        pass
    for note in metadata:
        _note(notes, note)
    return notes


def _unwrap(name: str, notes: Notes) -> bool:
    """Take off one layer of the annotation; False when none is left."""
    base, origin = notes.base, get_origin(notes.base)
    if origin is Annotated:
        for note in base.__metadata__:
            _note(notes, note)
        notes.base = base.__origin__
    elif origin in (Union, types.UnionType):
        notes.base = _only_member(name, get_args(base))
        notes.optional = True
    elif origin is Literal and None in get_args(base):
        notes.base = Literal[tuple(value for value in get_args(base) if value is not None)]
        notes.optional = True
    elif origin in _WRAPPERS:
        (notes.base,) = get_args(base)
    elif hasattr(base, "__supertype__"):
        notes.base = base.__supertype__
    elif hasattr(base, "__value__"):
        notes.base = base.__value__
    else:
        return False
    return True


def _only_member(name: str, members: tuple[Any, ...]) -> Any:
    real = [member for member in members if member is not types.NoneType]
    if len(real) != 1 or len(real) == len(members):
        raise FormError(
            "a field has one type; ask for one of them, or let the person choose first", field=name
        )
    return real[0]


def _note(notes: Notes, note: object) -> None:
    if isinstance(note, re.Pattern):
        notes.constraints["pattern"] = note
    elif isinstance(note, Mapping):
        notes.titles = note
    elif hasattr(note, "metadata") and hasattr(note, "is_required"):
        _pydantic_field(notes, note)
    else:
        for key in _CONSTRAINTS:
            value = getattr(note, key, None)
            if value is not None:
                notes.constraints[key] = value
        description = getattr(note, "documentation", None)
        if isinstance(description, str):
            notes.description = description


def _pydantic_field(notes: Notes, info: Any) -> None:
    for note in info.metadata:
        _note(notes, note)
    notes.title = info.title or notes.title
    notes.description = info.description or notes.description
    if info.default_factory is not None:
        notes.optional = True
    elif not info.is_required():
        notes.default = info.default
