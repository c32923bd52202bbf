"""Where an author's form comes from: a pydantic model, a dataclass, a TypedDict, a function, one type.

Each source becomes parts (fields with a conversion) and a function that reads a checked answer back
into the author's own type.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NotRequired, Required, TypeAlias, get_origin, get_type_hints, is_typeddict

from handraise.errors import FormError
from handraise.forms.fields import UNSET, Choice, Field, Value
from handraise.forms.kinds import TypedField, to_float, typed_field
from handraise.forms.values import Problem, Refused, kind_of

FormContent: TypeAlias = Mapping[str, Value]
FormSource: TypeAlias = tuple[tuple[Field, ...], Callable[[FormContent], Any]]


def source_of(source: object, name: str) -> FormSource:
    """The fields of a type, and how to read an answer back into it."""
    if isinstance(source, type) and hasattr(source, "model_fields") and hasattr(source, "model_validate"):
        return _from_root_model(source, name) if _is_root_model(source) else _from_pydantic(source)
    if isinstance(source, type) and dataclasses.is_dataclass(source):
        return _from_dataclass(source)
    if is_typeddict(source):
        return _from_typed_dict(source)
    part = typed_field(name, source)
    return (part.field,), lambda content: _values([part], content)[name]


def source_of_parameters(function: Callable[..., object], skip: Collection[str]) -> FormSource:
    """A function's parameters as fields; an answer becomes the keyword arguments."""
    hints, parts = _hints(function), []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in skip:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise FormError("*args and **kwargs cannot be asked for; skip them", field=name)
        if name not in hints:
            raise FormError("this parameter has no annotation", field=name)
        default = UNSET if parameter.default is parameter.empty else parameter.default
        parts.append(typed_field(name, hints[name], default))
    return _fields(parts), lambda content: _values(parts, content)


def source_of_keywords(fields: Mapping[str, object]) -> FormSource:
    """Keyword arguments as fields: a type, `(type, default)`, options, or a field made by hand."""
    parts = [_keyword(name, given) for name, given in fields.items()]
    return _fields(parts), lambda content: _values(parts, content)


def _keyword(name: str, given: object) -> TypedField:
    if isinstance(given, Field):
        return TypedField(dataclasses.replace(given, name=name), _unchanged)
    if isinstance(given, Mapping | list):
        return TypedField(Choice(name, given), _unchanged)
    if isinstance(given, tuple):
        return typed_field(name, *given)
    return typed_field(name, given)


def _from_pydantic(model: Any) -> FormSource:
    """An answer goes through the model itself, so the author's own validators count."""
    parts: list[TypedField] = []
    optional = set()
    for attribute, info in model.model_fields.items():
        alias = info.validation_alias
        if alias is not None and not isinstance(alias, str):
            raise FormError("a field with alias paths or choices cannot be asked for", field=attribute)
        parts.append(typed_field(alias or attribute, info.annotation, info=info))
        if not info.is_required():
            optional.add(alias or attribute)
    if all(_is_the_models(part, optional) for part in parts):
        return _fields(parts), _guarded(model.model_validate)
    return _fields(parts), _construct(parts, optional, model.model_validate)


def _is_root_model(model: Any) -> bool:
    return bool(getattr(model, "__pydantic_root_model__", False))


def _from_root_model(model: Any, name: str) -> FormSource:
    """A model of one value that has no name of its own: one field, and the model around its answer."""
    info = model.model_fields["root"]
    part = typed_field(name, info.annotation, info=info)
    optional = () if info.is_required() else (name,)
    return (part.field,), _construct([part], optional, lambda values: model(*values.values()))


def _is_the_models(part: TypedField, optional: Collection[str]) -> bool:
    """Whether the model reads a JSON value, or a missing one, as we do."""
    return part.convert in _JSON_TYPES and (part.field.required or part.field.name in optional)


_JSON_TYPES = (str, int, to_float, bool)


def _from_dataclass(cls: type) -> FormSource:
    hints = _hints(cls)
    parts: list[TypedField] = []
    optional = set()
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        has_default = field.default is not dataclasses.MISSING
        make_default = None if field.default_factory is dataclasses.MISSING else field.default_factory
        if has_default or make_default is not None:
            optional.add(field.name)
        default = field.default if has_default else UNSET if make_default is None else None
        parts.append(typed_field(field.name, hints[field.name], default, make_default=make_default))

    return _fields(parts), _construct(parts, optional, lambda values: cls(**values))


def _from_typed_dict(cls: Any) -> FormSource:
    hints = _hints(cls)
    optional = {name for name, hint in hints.items() if _not_required(cls, name, hint)}
    parts = [typed_field(name, hint, None if name in optional else UNSET) for name, hint in hints.items()]
    return _fields(parts), _construct(parts, optional, dict)


def _not_required(cls: Any, name: str, hint: object) -> bool:
    """The class cannot tell by itself where annotations are strings: NotRequired is inside them."""
    marked = get_origin(hint)
    return marked is NotRequired or (name in cls.__optional_keys__ and marked is not Required)


def _construct(
    parts: Iterable[TypedField], optional: Collection[str], make: Callable[[dict[str, object]], object]
) -> Callable[[FormContent], object]:
    """How to read an answer into a type that has its own defaults for the optional names."""

    return _guarded(lambda content: make(_values(parts, content, optional)))


def _guarded(make: Callable[[dict[str, Any]], object]) -> Callable[[FormContent], object]:
    """The same, from a copy that the author's code may change, and with what it has against it told as problems."""

    def read(content: FormContent) -> object:
        try:
            return make(dict(content))
        except ValueError as error:
            raise _refused(error, content) from None

    return read


def _fields(parts: Iterable[TypedField]) -> tuple[Field, ...]:
    return tuple(part.field for part in parts)


def _hints(source: Any) -> dict[str, Any]:
    try:
        return get_type_hints(source, include_extras=True)
    except NameError as error:
        raise FormError(f"{source.__name__} has an annotation that cannot be resolved: {error}") from None


def _values(
    parts: Iterable[TypedField], content: FormContent, optional: Collection[str] = ()
) -> dict[str, object]:
    """The answers as the author's own values, all problems at once; an optional name without one is left out."""
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for part in parts:
        name = part.field.name
        if name not in content:
            if name not in optional:
                values[name] = part.otherwise
            continue
        try:
            values[name] = part.convert(content[name])
        except ValueError as error:
            problems += _refused(error, content, name).problems
    if problems:
        raise Refused(*problems)
    return values


def _refused(error: ValueError, content: FormContent, name: str | None = None) -> Refused:
    """The errors that the author's type found, without the value: pydantic's list, or one sentence."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return Refused(
            Problem(name, "validator", str(error), kind_of(content if name is None else content[name]))
        )
    problems = []
    for found in errors(include_url=False, include_context=False, include_input=False):
        field = name or next((str(step) for step in found["loc"] if step in content), None)
        message = found["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        problems.append(
            Problem(field, "validator", message, kind_of(content if field is None else content[field]))
        )
    return Refused(*problems)


def _unchanged(answer: Value) -> Value:
    return answer
