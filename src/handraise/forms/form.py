"""A form: its fields, its rules for a good answer, and what the author gets out of one; to the wire and from it.

Properties are written in full, as 2025-11-25 knows them. `dump_form` leaves out what another revision lacks.
`parse_form` reads a requested schema within limits, or refuses it by the name of a rule: of `rules`, or `schema`,
`required`, `fields`, `bytes`, `depth`, `unicode` and `json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, Generic, NoReturn, TypeVar, assert_never, overload

from handraise.errors import FormError, NotSupported, WireError
from handraise.forms.fields import (
    ANSWER,
    UNSET,
    Choice,
    Choices,
    Field,
    Flag,
    Integer,
    Number,
    Option,
    Text,
    Value,
)
from handraise.forms.formats import sets_flags
from handraise.forms.rules import FORM, PropertyReader, read_keywords
from handraise.forms.sources import source_of, source_of_keywords, source_of_parameters
from handraise.forms.values import (
    DEFAULT_LIMITS,
    NO_UNICODE,
    UNLIMITED,
    Limits,
    Problem,
    Refused,
    Rule,
    fits_choice,
    fits_choices,
    fits_flag,
    fits_integer,
    fits_number,
    kind_of,
    measure,
)
from handraise.revisions import Revision


def property_of(field: Field) -> dict[str, Any]:
    """The property that describes a field."""
    match field:
        case Text():
            pattern = field.pattern if field.pattern is None else pattern_text(field.name, field.pattern)
            limits = {"minLength": field.min_length, "maxLength": field.max_length}
            return _property(field, "string", **limits, pattern=pattern, format=field.format)
        case Number():
            return _property(field, "number", minimum=field.minimum, maximum=field.maximum)
        case Integer():
            return _property(field, "integer", minimum=field.minimum, maximum=field.maximum)
        case Flag():
            return _property(field, "boolean")
        case Choice():
            listing = _old_listing(field.options) if field.enum_names else _listing(field.options, "oneOf")
            return _property(field, "string", **listing)
        case Choices():
            items = _listing(field.options, "anyOf")
            if "enum" in items:
                items = {"type": "string", **items}
            return _property(field, "array", minItems=field.min_items, maxItems=field.max_items, items=items)
        case _:
            assert_never(field)


def field_of(name: str, rule: Rule, required: bool) -> Field:
    """The field that a rule was read for."""
    fits, schema = rule[0], rule[1]
    common = {"title": schema.get("title"), "description": schema.get("description"), "required": required}
    default = schema.get("default", UNSET)
    if fits is fits_choice:
        return Choice(name, _options(rule[2]), default=default, enum_names="enumNames" in schema, **common)
    if fits is fits_choices:
        items = {"min_items": schema.get("minItems"), "max_items": schema.get("maxItems")}
        return Choices(name, _options(rule[2]), default=default, **items, **common)
    if fits is fits_flag:
        return Flag(name, default=default, **common)
    if fits is fits_integer or fits is fits_number:
        kind = Integer if fits is fits_integer else Number
        return kind(
            name, default=default, minimum=schema.get("minimum"), maximum=schema.get("maximum"), **common
        )
    lengths = {"min_length": schema.get("minLength"), "max_length": schema.get("maxLength")}
    words = {"pattern": schema.get("pattern"), "format": schema.get("format")}
    return Text(name, default=default, **lengths, **words, **common)


def pattern_text(name: str, pattern: str | re.Pattern[str]) -> str:
    """The text of a pattern. Flags are refused, inside it too: JSON Schema has none, and clients fail on them."""
    text, flags = (pattern, 0) if isinstance(pattern, str) else (pattern.pattern, pattern.flags & ~re.UNICODE)
    if not isinstance(text, str):
        raise FormError("a pattern is text, not bytes", field=name)
    if flags or sets_flags(text):
        raise FormError("a pattern with flags cannot be sent; write it without them", field=name)
    return text


def listing_of(options: Mapping[str, str | None]) -> list[dict[str, str]]:
    """Options as `oneOf` and `anyOf` list them."""
    return [{"const": value, "title": value if title is None else title} for value, title in options.items()]


def _property(field: Field, kind: str, **keywords: object) -> dict[str, Any]:
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    every = {"type": kind, "title": field.title, "description": field.description, **keywords}
    result = {key: value for key, value in every.items() if value is not None}
    if default is not UNSET:
        result["default"] = default
    return result


def _listing(options: tuple[Option, ...], titled: str) -> dict[str, Any]:
    if all(option.title is None for option in options):
        return {"enum": [option.value for option in options]}
    return {titled: [{"const": option.value, "title": option.label} for option in options]}


def _old_listing(options: tuple[Option, ...]) -> dict[str, Any]:
    return {"enum": [option.value for option in options], "enumNames": [option.label for option in options]}


def _options(options: Mapping[str, str | None]) -> tuple[Option, ...]:
    return tuple(Option(value, title) for value, title in options.items())


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Form(Generic[T_co]):
    """A form whose answers become a `T`. Immutable, reusable, and checked when it is made.

    `Form.of` makes one from a Python type, `from_fields` from keyword arguments, `from_parameters` from
    a function and `by_hand` from fields; `parse_form` makes one from the wire.
    """

    __slots__ = ("_fields", "_size", "_whole", "dumps", "harmless", "required", "result", "rules", "top")

    def __init__(
        self,
        rules: dict[str, Rule],
        top: dict[str, Any],
        fields: tuple[Field, ...] | None = None,
        read: Callable[[Mapping[str, Value]], T_co] | None = None,
        size: int | None = None,
    ) -> None:
        """For this package only. `top` is the schema whose properties the rules were read from."""
        self.rules: dict[str, Rule] = rules
        self.top: dict[str, Any] = top
        self.required: tuple[str, ...] = tuple(top.get("required", ()))
        self.dumps: dict[Revision, dict[str, Any]] | None = None
        self.harmless: set[str] | None = None
        """Messages with which it asks for no secret, as far as somebody judged that."""
        self._fields = fields
        self._size = size
        self._whole: tuple[str, ...] | None = None
        self.result: Callable[[Mapping[str, Value]], T_co] | None = read

    @overload
    @staticmethod
    def of(source: Form[T], *, name: str = ...) -> Form[T]: ...
    @overload
    @staticmethod
    def of(source: type[T], *, name: str = ...) -> Form[T]: ...
    @overload
    @staticmethod
    def of(source: object, *, name: str = ...) -> Form[Any]: ...
    @staticmethod
    def of(source: object, *, name: str = ANSWER) -> Form[Any]:
        """The form for a type; made once, the same object each time.

        A pydantic model, a dataclass or a TypedDict gives one field for each of its own, and itself as
        the result. Any other type that a field can ask for (str, int, float, bool, date, datetime, an
        Enum, a Literal, a list of either, `Annotated` with constraints) gives one field called `name`,
        and its value as the result. FormError names the field that cannot be asked for.
        """
        if isinstance(source, Form):
            return source
        try:
            hash(source)
        except TypeError:  # Annotated with a pydantic Field: nothing to remember it by
            return _make(*source_of(source, name))
        return _remembered(source, name)

    @staticmethod
    def from_fields(**fields: object) -> Form[dict[str, Any]]:
        """A form from keyword arguments; the result is a dict with a key for each.

        Each is a type as for `Form.of`, `(type, default)`, options (a list of values, or a mapping from value to
        title), or a field made by hand. Its name is replaced.
        """
        return _make(*source_of_keywords(fields))

    @staticmethod
    def from_parameters(
        function: Callable[..., object], *, skip: Collection[str] = ()
    ) -> Form[dict[str, Any]]:
        """A form from a function's parameters, but for those to `skip`; the result: its keyword arguments."""
        return _make(*source_of_parameters(function, skip))

    @staticmethod
    def by_hand(*fields: Field) -> Form[dict[str, Value | None]]:
        """A form from fields; the result is a dict with a key for each, None where nothing was answered."""
        given: tuple[object, ...] = fields
        for each in given:
            if not isinstance(each, Field):
                raise FormError(
                    f"by_hand takes fields, each as an argument, as in Text('name'); not {each!r}"
                )
        names = [field.name for field in fields]
        return _make(fields, lambda content: {name: content.get(name) for name in names})

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields, in the order in which the author wrote them."""
        if self._fields is None:
            self._fields = tuple(
                field_of(name, rule, name in self.required) for name, rule in self.rules.items()
            )
        return self._fields

    @property
    def size(self) -> int:
        """The bytes of its schema, written compactly."""
        if self._size is None:
            self._size = measure(self.top)
        return self._size

    def read(self, content: Mapping[str, Value]) -> T_co:
        """The typed result of an answer in which `check_answer` found no problem."""
        result, problems = self.take(content)
        if problems:
            raise WireError("validator", "; ".join(problem.message for problem in problems))
        return result  # type: ignore[return-value]

    def take(self, content: Mapping[str, Value]) -> tuple[T_co | None, tuple[Problem, ...]]:
        """The typed result of an answer that follows all rules, or what the author's own type has against it.

        A 2.0 that answers an integer field becomes the int 2.
        """
        if self._whole is None:
            self._whole = tuple(name for name, rule in self.rules.items() if rule[0] is fits_integer)
        for name in self._whole:
            if type(number := content.get(name)) is float:
                content = {**content, name: int(number)}
        if self.result is None:
            return {name: content[name] for name in self.rules if name in content}, ()  # type: ignore[return-value]
        try:
            return self.result(content), ()
        except Refused as error:
            return None, error.problems

    def __eq__(self, other: object) -> bool:
        return self.fields == other.fields if isinstance(other, Form) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"Form({', '.join(self.rules)})"


def _make(fields: tuple[Field, ...], read: Callable[[Mapping[str, Value]], T]) -> Form[T]:
    """A form from an author's fields, held to the same rules as one from the wire."""
    properties = {field.name: property_of(field) for field in fields}
    if len(properties) != len(fields):
        raise FormError("two fields have the same name")
    top: dict[str, Any] = {"type": "object", "properties": properties}
    if required := [field.name for field in fields if field.required]:
        top["required"] = required
    try:
        size = measure(top)
        rules = PropertyReader(Revision.NOVEMBER_2025, UNLIMITED).read(properties)
    except WireError as error:
        message = NO_UNICODE if error.rule == "unicode" else error.message
        raise FormError(message, field=error.field or _unwritable(properties)) from None
    return Form(rules, top, fields, read, size)


def _unwritable(properties: Mapping[str, object]) -> str | None:
    """The field that has something which is no JSON."""
    for name, property_ in properties.items():
        try:
            measure({name: property_})
        except WireError:
            return ascii(name)[1:-1]
    return None


@lru_cache(maxsize=1024)
def _remembered(source: object, name: str) -> Form[Any]:
    return _make(*source_of(source, name))


def dump_form(form: Form[Any], revision: Revision) -> dict[str, Any]:
    """The requested schema of a form. The same object each time; do not change it.

    NotSupported when the form has a multiple choice and the revision has none.
    """
    if form.dumps is None:
        form.dumps = {}
    dumped = form.dumps.get(revision)
    if dumped is None:
        dumped = form.dumps[revision] = _dump(form, revision)
    return dumped


def _dump(form: Form[Any], revision: Revision) -> dict[str, Any]:
    properties = {name: _dump_property(name, rule, revision) for name, rule in form.rules.items()}
    dumped = {**form.top, "properties": properties}
    if "required" in dumped:
        dumped["required"] = list(form.required)
    if revision is Revision.JUNE_2025:
        dumped.pop("$schema", None)
    return dumped


def _dump_property(name: str, rule: Rule, revision: Revision) -> dict[str, Any]:
    fits, schema = rule[0], rule[1]
    if fits is fits_choice:
        schema = _choice(schema, rule[2], revision)
    elif fits is fits_choices:
        schema = _choices(name, schema, rule[2], revision)
    left_out = set()
    if revision is not Revision.NOVEMBER_2025:
        left_out.add("pattern")
    if revision is Revision.JUNE_2025 and fits is not fits_flag:
        left_out.add("default")
    return {key: value for key, value in schema.items() if key not in left_out}


def _choice(schema: dict[str, Any], options: dict[str, str | None], revision: Revision) -> dict[str, Any]:
    if "oneOf" in schema and revision is not Revision.JUNE_2025:
        return {**schema, "oneOf": listing_of(options)}
    listed = {key: value for key, value in schema.items() if key not in {"oneOf", "enumNames"}}
    listed["enum"] = list(options)
    if "enum" not in schema or "enumNames" in schema:
        listed["enumNames"] = list(options.values())
    return listed


def _choices(
    name: str, schema: dict[str, Any], options: dict[str, str | None], revision: Revision
) -> dict[str, Any]:
    if revision is Revision.JUNE_2025:
        why = f"{name}: a multiple choice cannot be asked on 2025-06-18"
        raise NotSupported("form", why, missing="show a choice of several options")
    dumped = {**schema}
    if "anyOf" in schema["items"]:
        dumped["items"] = {**schema["items"], "anyOf": listing_of(options)}
    else:
        dumped["items"] = {**schema["items"], "enum": list(options)}
    return dumped


def parse_form(schema: object, revision: Revision, limits: Limits = DEFAULT_LIMITS) -> Form[dict[str, Value]]:
    """The form that a `requestedSchema` describes; WireError names the rule that it breaks."""
    if (
        type(schema) is not dict
        or schema.get("type") != "object"
        or type(schema.get("properties")) is not dict
    ):
        _refuse_top(schema)
    properties = schema["properties"]
    if len(properties) > limits.fields:
        raise WireError("fields", f"The form has {len(properties)} fields; {limits.fields} are allowed.")
    rules = PropertyReader(revision, limits).read(properties)
    form: Form[dict[str, Value]] = Form(rules, _top(schema))
    for name in form.required:
        if type(name) is not str or name not in rules:
            raise WireError("required", "required names a field that the form does not have.")
    return form


def check_form(schema: object, revision: Revision, limits: Limits = DEFAULT_LIMITS) -> tuple[Problem, ...]:
    """Every field of a `requestedSchema` that breaks a rule; nothing when `parse_form` takes it."""
    try:
        parse_form(schema, revision, limits)
    except WireError as error:
        return tuple(_each(schema, revision, limits)) or (_problem(error, schema),)
    return ()


def _top(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its annotations. Refusing unknown answers is what we do anyway."""
    if len(schema) == 2 or (len(schema) == 3 and type(schema.get("required")) is list):
        return schema.copy()
    top = read_keywords(None, schema, FORM)
    top.pop("additionalProperties", None)
    return top


def _refuse_top(schema: object) -> NoReturn:
    if isinstance(schema, dict) and "$ref" in schema:
        raise WireError("ref", "$ref is not allowed; a form describes each field in place.")
    raise WireError("schema", 'requestedSchema has to be {"type": "object", "properties": {…}}.')


def _each(schema: object, revision: Revision, limits: Limits) -> list[Problem]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) > limits.fields:
        return []
    problems = []
    for name, described in properties.items():
        try:
            PropertyReader(revision, limits).read({name: described})
        except WireError as error:
            problems.append(_problem(error, described))
    return problems


def _problem(error: WireError, subject: object) -> Problem:
    return Problem(error.field, error.rule, error.message, kind_of(subject))
