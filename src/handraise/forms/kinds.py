"""From a Python type to a field, and from the field's answer back to the type's value.

Constraints are read by their attributes (`ge`, `min_length`, `pattern`, …), so those of annotated-types and of pydantic
both work, and neither has to be imported. Their validators, which no wire carries, are left to pydantic.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

from typing_extensions import ReadOnly

from handraise.errors import FormError
from handraise.forms.fields import (
    UNSET,
    Choice,
    Choices,
    Field,
    Flag,
    Integer,
    Number,
    Option,
    Text,
    option_of,
)
from handraise.forms.formats import Format

_CONSTRAINTS: Final = ("ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of", "pattern")
_HELD: Final = frozenset({"Ge", "Gt", "Le", "Lt", "Interval", "MinLen", "MaxLen", "Len", "MultipleOf"})
"""The constraints of annotated-types that we check in full."""
_WRAPPERS: Final = frozenset({Required, NotRequired, ReadOnly, Final})


@dataclass(slots=True)
class Notes:
    """An annotation taken apart."""

    base: Any
    optional: bool = False
    title: str | None = None
    description: str | None = None
    default: object = UNSET
    make_default: Callable[[], object] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    constraints: dict[str, Any] = field(default_factory=dict)
    validators: list[object] = field(default_factory=list)
    """Notes of annotated-types and pydantic that say more than our constraints."""


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
        source, _, _ = type(note).__module__.partition(".")
        if source == "pydantic" or (source == "annotated_types" and type(note).__name__ not in _HELD):
            notes.validators.append(note)


def _pydantic_field(notes: Notes, info: Any) -> None:
    for note in info.metadata:
        _note(notes, note)
    notes.title = info.title or notes.title
    notes.description = info.description or notes.description
    if info.default_factory is not None:
        notes.optional = True
        if not getattr(info, "default_factory_takes_validated_data", False):
            notes.make_default = info.default_factory
    elif not info.is_required():
        notes.default = info.default


Convert: TypeAlias = Callable[[Any], object]

_LISTS: Final[Mapping[object, Convert]] = {
    list: list, set: set, frozenset: frozenset, tuple: tuple,
    Sequence: list, Collection: list, Iterable: list, AbstractSet: set,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypedField:
    """A field of a type, and how an answer to it becomes the type's value."""

    field: Field
    convert: Convert
    otherwise: object = None
    """The value when nothing was answered."""


def typed_field(
    name: str,
    annotation: object,
    default: object = UNSET,
    *,
    make_default: Callable[[], object] | None = None,
    info: object = None,
) -> TypedField:
    """The part that one annotated name stands for; FormError if no form can ask for it.

    `info` is what a pydantic model says of its own field. The model runs the validators itself.
    """
    notes = take_apart(name, annotation, () if info is None else (info,))
    if default is not UNSET:
        notes.default = default
    notes.make_default = make_default or notes.make_default
    field, convert = _kind(name, notes)
    if notes.validators and info is None:
        convert = _validated(notes, convert)
    if field.default is not UNSET and (notes.constraints or notes.validators):
        _require_default(field, convert)
    return TypedField(field, convert, None if notes.default is UNSET else notes.default)


def _require_default(field: Field, convert: Convert) -> None:
    """Refuse a default that breaks what only we check: a person who leaves it would be asked again."""
    try:
        convert(field.default)
    except (TypeError, ValueError) as error:
        raise FormError("the default is not a possible answer", field=field.name) from error


def _validated(notes: Notes, convert: Convert) -> Convert:
    """A conversion whose result also goes through the author's validators."""
    from pydantic import TypeAdapter

    annotation: Any = Annotated[(notes.base, *notes.validators)]
    adapter = TypeAdapter[Any](annotation)
    return lambda answer: adapter.validate_python(convert(answer))


def _kind(name: str, notes: Notes) -> tuple[Field, Convert]:
    base, origin = notes.base, get_origin(notes.base)
    if origin in _LISTS:
        return _choices(name, notes, _LISTS[origin])
    if values := _values(base, notes.titles):
        return _choice(name, notes, values)
    make = _SIMPLE.get(base) if isinstance(base, type) else None
    if make is None:
        make = _from_pydantic(base)
    if make is None:
        raise FormError(_advice(base), field=name)
    return make(name, notes)


def _values(base: Any, titles: Mapping[str, str]) -> list[tuple[Option, object]]:
    """The options that an Enum or a Literal stands for, each with its value; none for any other type."""
    if isinstance(base, type) and issubclass(base, Enum):
        found = [(option_of(member), member) for member in base]
    elif get_origin(base) is Literal:
        found = [(Option(str(value)), value) for value in get_args(base)]
    else:
        return []
    return [(Option(option.value, titles.get(option.value, option.title)), value) for option, value in found]


def _choice(name: str, notes: Notes, values: list[tuple[Option, object]]) -> tuple[Field, Convert]:
    def encode(default: object) -> str:
        return _option_for(name, values, default)

    field = Choice(name, [option for option, _ in values], **_common(notes, encode))
    if all(type(value) is str for _, value in values):
        return field, str
    return field, {option.value: value for option, value in values}.__getitem__


def _choices(name: str, notes: Notes, make: Convert) -> tuple[Field, Convert]:
    arguments = get_args(notes.base)
    inner = take_apart(name, arguments[0])
    values = _values(inner.base, {**inner.titles, **notes.titles})
    if not values or (make is tuple and arguments[1:] != (...,)):
        raise FormError(_advice(notes.base), field=name)

    def encode(default: Iterable[object]) -> list[str]:
        return [_option_for(name, values, item) for item in default]

    # The usual way to write a list as a default; an empty one suggests nothing.
    if notes.make_default is not None:
        notes.default = notes.make_default() or notes.default
    by_value = {option.value: value for option, value in values}
    low, high = notes.constraints.get("min_length"), notes.constraints.get("max_length")
    options = [option for option, _ in values]
    field = Choices(name, options, min_items=low, max_items=high, **_common(notes, encode))
    return field, lambda answer: make(by_value[value] for value in answer)


def _flag(name: str, notes: Notes) -> tuple[Field, Convert]:
    return Flag(name, **_common(notes)), bool


def _integer(name: str, notes: Notes) -> tuple[Field, Convert]:
    told = notes.constraints
    low = [told["ge"]] if "ge" in told else []
    high = [told["le"]] if "le" in told else []
    if "gt" in told:
        low.append(math.floor(told["gt"]) + 1)
    if "lt" in told:
        high.append(math.ceil(told["lt"]) - 1)
    field = Integer(name, minimum=max(low, default=None), maximum=min(high, default=None), **_common(notes))
    return field, _held_to(notes, int)


def _number(name: str, notes: Notes) -> tuple[Field, Convert]:
    """The wire has no exclusive bounds: the neighbouring number is the same bound, and every client can check it."""
    told = notes.constraints
    low = told["ge"] if "ge" in told else _neighbour(told.get("gt"), math.inf)
    high = told["le"] if "le" in told else _neighbour(told.get("lt"), -math.inf)
    return Number(name, minimum=low, maximum=high, **_common(notes)), _held_to(notes, to_float)


def _neighbour(bound: Any, towards: float) -> Any:
    return None if bound is None else math.nextafter(float(bound), towards)


def _text(
    convert: Convert = str, *, form: Format | None = None, encode: Convert | None = None
) -> Callable[[str, Notes], tuple[Field, Convert]]:
    def make(name: str, notes: Notes) -> tuple[Field, Convert]:
        keys = ("min_length", "max_length", "pattern")
        limits: dict[str, Any] = {key: notes.constraints.get(key) for key in keys}
        return Text(name, format=form, **limits, **_common(notes, encode)), _held_to(notes, convert)

    return make


def _held_to(notes: Notes, make: Convert) -> Convert:
    """A conversion that also checks what the wire cannot say of the value."""
    told = notes.constraints
    bounds = [(holds, told[key], words) for key, holds, words in _BOUNDS if key in told]
    if "multiple_of" in told:
        bounds.append((_is_multiple, told["multiple_of"], "a multiple of"))

    def convert(answer: Any) -> object:
        value = make(answer)
        for holds, bound, words in bounds:
            if not holds(value, bound):
                raise ValueError(f"Enter {words} {bound}.")
        return value

    return convert if bounds else make


def _is_multiple(value: float, step: float) -> bool:
    try:
        times = value / step
        return value % step == 0 or math.isclose(times, round(times), rel_tol=1e-9)
    except OverflowError:  # an integer that is no double, or a step that is next to nothing
        return isinstance(value, int) and Fraction(value) % Fraction(step) == 0


def to_float(number: float) -> float:
    """JSON has whole numbers of any size, and a float has not."""
    try:
        return float(number)
    except OverflowError:
        raise ValueError("Enter a number that is not as big.") from None


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ValueError("Enter a date from the year 1 on.") from None


def _moment(text: str) -> dt.datetime:
    """RFC 3339 to a datetime. A leap second is the first second of the next minute, as clocks have it."""
    text = text.upper()
    leap = text[17:19] == "60"
    try:
        moment = dt.datetime.fromisoformat(f"{text[:17]}59{text[19:]}" if leap else text)
        return moment + dt.timedelta(seconds=leap)
    except (ValueError, OverflowError):
        raise ValueError("Enter a date and time from the year 1 on.") from None


def _iso(moment: object) -> object:
    if isinstance(moment, dt.datetime) and moment.tzinfo is None:
        raise FormError("a default date and time needs a time zone")
    return moment.isoformat() if isinstance(moment, dt.date) else moment


_BOUNDS: Final[tuple[tuple[str, Callable[[Any, Any], bool], str], ...]] = (
    ("ge", operator.ge, "at least"),
    ("gt", operator.gt, "more than"),
    ("le", operator.le, "at most"),
    ("lt", operator.lt, "less than"),
)
_SIMPLE: Final[Mapping[type, Callable[[str, Notes], tuple[Field, Convert]]]] = {
    str: _text(),
    bool: _flag,
    int: _integer,
    float: _number,
    dt.date: _text(_day, form="date", encode=_iso),
    dt.datetime: _text(_moment, form="date-time", encode=_iso),
}


def _from_pydantic(base: Any) -> Callable[[str, Notes], tuple[Field, Convert]] | None:
    """pydantic's own types, known by name so that pydantic (and email-validator) need not be imported."""
    if getattr(base, "__module__", None) != "pydantic.networks":
        return None
    if base.__name__ == "EmailStr":
        return _text(form="email")
    return _text(base, form="uri", encode=str) if base.__name__.endswith("Url") else None


def _common(notes: Notes, encode: Convert | None = None) -> dict[str, Any]:
    default = UNSET if notes.default is None else notes.default
    if default is not UNSET and encode is not None:
        default = encode(default)
    required = notes.default is UNSET and not notes.optional
    return {"title": notes.title, "description": notes.description, "required": required, "default": default}


def _option_for(name: str, values: list[tuple[Option, object]], wanted: object) -> str:
    for option, value in values:
        if value == wanted and type(value) is type(wanted):
            return option.value
    raise FormError("the default is not one of the options", field=name)


def _advice(base: Any) -> str:
    """The advice for an author who asks for this type."""
    if getattr(base, "__name__", "") in {"SecretStr", "SecretBytes", "Secret"}:
        return "a secret does not belong in a form; ask for it on a page, with ask.secret"
    if get_origin(base) in _LISTS or (isinstance(base, type) and base in _LISTS):
        return "a list must be a multiple choice: use list[…] of a Literal or of an Enum"
    if isinstance(base, type) and hasattr(base, "_fields"):
        return "a form is not made from a NamedTuple; make it a dataclass, or a TypedDict"
    if isinstance(base, type) and (
        issubclass(base, dict | Mapping) or getattr(base, "__annotations__", None)
    ):
        return "a form is flat; put the inner fields into the form itself, or ask a second question"
    if get_origin(base) in (dict, Mapping):
        return "a form is flat; name each field, or ask for text"
    if not isinstance(base, type) and get_origin(base) is None and not hasattr(base, "__name__"):
        return (
            f"a form is made from a type, not from an object of {type(base).__name__}; for options use ask.choose, "
            "for fields by name Form.from_fields"
        )
    shown = getattr(base, "__name__", None) or repr(base)
    return f"no field can ask for {shown}; use str, int, float, bool, date, datetime, an Enum or a Literal"
