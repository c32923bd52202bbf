"""Where a source asks (`ask`, the context and session of the SDK and of FastMCP, resolvers), and with which form."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from handraise.forms import ANSWER
from handraise.lint.source import Function, SourceFile, written_text

Style = Literal["handraise", "context", "session", "resolver", "request"]
"""The sender of the question: our `ask`, `ctx.elicit`, `session.elicit_form`, `Elicit(…)`, a wire message by hand."""

_OURS = re.compile(r"(?:handraise\.(?:server\.)?(?:ask\.)?)?ask(?:\.(\w+))?")
_NO_QUESTION = ("all", "sync", "roots", "model", "person")
_CONTEXT = re.compile(r"(?:.*_)?(?:ctx|context)|get_context", re.IGNORECASE)
_SESSION = re.compile(r".*session", re.IGNORECASE)
_FORM_REQUESTS = ("ElicitRequestFormParams", "ElicitRequestParams")
_URL_REQUESTS = ("ElicitRequestURLParams", "UrlQuestion")


@dataclass(frozen=True, slots=True)
class QuestionSite:
    """One place where a person is asked."""

    node: ast.Call
    style: Style
    kind: str
    """`form`, `url`, `page`, `require`, or the shortcut of `ask`: `confirm`, `choose`, `text`, …"""
    message: ast.expr | None = None
    form: ast.expr | None = None
    urls: tuple[ast.expr, ...] = ()

    @property
    def is_form(self) -> bool:
        """Whether the client shows fields for it."""
        return self.kind not in ("url", "page", "require")


def all_question_sites(source: SourceFile, within: ast.AST | None = None) -> Iterator[QuestionSite]:
    """Every place that asks a person, in the order in which they are written."""
    for call in source.calls(within):
        if (site := _site(source, call)) is not None:
            yield site


def own_question_sites(source: SourceFile, function: Function) -> list[QuestionSite]:
    """The places where a function asks itself, in the order in which they are written."""
    return [
        site for site in all_question_sites(source, function) if source.function_of(site.node) is function
    ]


def function_asks(source: SourceFile, function: Function) -> bool:
    """Whether a function asks: itself, through others of the file, by a resolver, or by a helper named for it."""
    for reached in source.reached(function):
        if next(all_question_sites(source, reached), None) or _has_resolver(source, reached):
            return True
        if any(_is_named_for_asking(source, call) for call in source.calls(reached)):
            return True
    return False


def call_argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument by its place or one of its names."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if position < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
        return call.args[position]
    return None


def our_method(source: SourceFile, call: ast.Call) -> str | None:
    """The method of Handraise's `ask` that is called, empty for `ask` itself; None for anything else."""
    found = _OURS.fullmatch(source.dotted(call.func))
    if found is None or "ask" in source.by_name or "ask" in source.classes:
        return None
    return found[1] or ""


def is_resolver(source: SourceFile, function: Function) -> bool:
    """Whether a function runs again in every round: it returns `Elicit`, or stands in a `Resolve`."""
    if any(site.style == "resolver" for site in own_question_sites(source, function)):
        return True
    resolved = (call.args for call in source.calls() if source.last_name(call.func) == "Resolve")
    return any(args and source.last_name(args[0]) == function.name for args in resolved)


def _site(source: SourceFile, call: ast.Call) -> QuestionSite | None:
    method = our_method(source, call)
    if method is not None:
        return _ours(call, method)
    name = source.last_name(call.func)
    message = call_argument(call, 0, "message")
    if name == "Elicit":
        return QuestionSite(call, "resolver", "form", message, call_argument(call, 1, "schema"))
    if name in _FORM_REQUESTS:
        schema = call_argument(call, 1, "requested_schema", "requestedSchema")
        return QuestionSite(call, "request", "form", message, schema)
    if name in _URL_REQUESTS:
        return QuestionSite(call, "request", "url", message, urls=_some(call_argument(call, 1, "url")))
    if name in ("elicit", "elicit_form", "elicit_url") and isinstance(call.func, ast.Attribute):
        return _on_the_wire(source, call, call.func)
    return None


def _ours(call: ast.Call, method: str) -> QuestionSite | None:
    if method in _NO_QUESTION:
        return None
    message = call_argument(call, 0, "message")
    match method:
        case "":
            return QuestionSite(call, "handraise", "form", message, call_argument(call, 1, "form"))
        case "open" | "outside":
            return QuestionSite(call, "handraise", "url", message, urls=_some(call_argument(call, 1, "url")))
        case "secret" | "connect" | "setup" | "page":
            return QuestionSite(call, "handraise", "page", message)
        case "require":
            return QuestionSite(call, "handraise", "require", urls=tuple(call.args))
        case _:
            return QuestionSite(call, "handraise", method, message)


def _on_the_wire(source: SourceFile, call: ast.Call, called: ast.Attribute) -> QuestionSite | None:
    style = _carrier(source, called)
    if style is None:
        return None
    message = call_argument(call, 0, "message")
    if called.attr == "elicit_url":
        return QuestionSite(call, style, "url", message, urls=_some(call_argument(call, 1, "url")))
    form = call_argument(call, 1, "schema", "response_type", "requested_schema", "requestedSchema")
    return QuestionSite(call, style, "form", message, form)


def _carrier(source: SourceFile, called: ast.Attribute) -> Style | None:
    owner = source.last_name(called.value)
    if _SESSION.fullmatch(owner) or called.attr == "elicit_form":
        return "session"
    if _CONTEXT.fullmatch(owner) or _is_annotated_context(source, called.value):
        return "context"
    return None


def _is_annotated_context(source: SourceFile, owner: ast.expr) -> bool:
    function = source.function_of(owner)
    if function is None or not isinstance(owner, ast.Name):
        return False
    parameters = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    annotations = [each.annotation for each in parameters if each.arg == owner.id and each.annotation]
    return any(source.last_name(each) == "Context" for each in annotations)


def _has_resolver(source: SourceFile, function: Function) -> bool:
    return any(source.last_name(call.func) == "Resolve" for call in source.calls(function.args))


def _is_named_for_asking(source: SourceFile, call: ast.Call) -> bool:
    """A helper from another file that says that it asks: `confirm_with_person(…)`, `ask_which(…)`."""
    name = source.last_name(call.func)
    return name.startswith(("ask_", "confirm", "elicit_", "require_confirmation", "guard"))


def _some(url: ast.expr | None) -> tuple[ast.expr, ...]:
    return () if url is None else (url,)


WrittenKind = Literal["text", "number", "flag", "choice", "secret", "nested", "unknown"]

_TEXT = {"str", "EmailStr", "AnyUrl", "HttpUrl", "date", "datetime", "UUID", "Path", "Text"}
_NUMBER = {"int", "float", "Decimal", "PositiveInt", "NonNegativeInt", "Number", "Integer"}
_SECRET = {"SecretStr", "SecretBytes"}
_NESTED = {"dict", "Dict", "Mapping", "MutableMapping", "Any", "object", "bytes", "TypedDict"}
_LISTS = {"list", "List", "set", "Set", "frozenset", "tuple", "Tuple", "Sequence", "Iterable"}
_WRAPPERS = {"Annotated", "Optional", "Required", "NotRequired", "Final", "ReadOnly"}
_RECORDS = {"BaseModel", "TypedDict", "NamedTuple", "RootModel"}
_ENUMS = {"Enum", "StrEnum", "IntEnum"}
_CONSTRAINTS = {"pattern", "min_length", "max_length", "format", "examples", "regex"}
_SHORTCUTS: dict[str, WrittenKind] = {"text": "text", "number": "number", "date": "choice", "confirm": "flag"}


@dataclass(frozen=True, slots=True)
class WrittenField:
    """One field, as far as it can be read."""

    node: ast.AST
    name: str
    kind: WrittenKind
    title: str | None = None
    description: str | None = None
    constrained: bool = False


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """The fields of a form; `schema` when it is written as a JSON schema."""

    fields: tuple[WrittenField, ...]
    schema: dict[str, Any] | None = None


def written_form(source: SourceFile, site: QuestionSite) -> WrittenForm | None:
    """The form of a question; None when it has none, or is made elsewhere."""
    if not site.is_form:
        return None
    if site.kind == "form":
        return None if site.form is None else _form(source, site.form, site.style in ("session", "request"))
    kind = _SHORTCUTS.get(site.kind, "choice")
    constrained = any(keyword.arg in _CONSTRAINTS | {"check"} for keyword in site.node.keywords)
    return WrittenForm((WrittenField(site.node, "answer", kind, "Your answer", constrained=constrained),))


def _form(source: SourceFile, expression: ast.expr, is_schema: bool) -> WrittenForm | None:
    match expression:
        case ast.Constant(value=None):
            return WrittenForm(())
        case ast.Dict(keys=keys) if is_schema or any(
            ast.unparse(key) == "'properties'" for key in keys if key
        ):
            return _from_schema(expression)
        case ast.Dict() | ast.List():
            return WrittenForm((WrittenField(expression, ANSWER, "choice"),))
        case ast.Name(id=name) if name in source.classes:
            return _from_class(source, source.classes[name])
        case ast.Name() if (value := source.value_of(expression)) is not None:
            return _form(source, value, is_schema)
        case ast.Call():
            return _from_call(source, expression)
        case _:
            kind, note = _kind(source, expression)
            return (
                None if kind == "unknown" else WrittenForm((_field(expression, ANSWER, kind, source, note),))
            )


def _from_schema(literal: ast.Dict) -> WrittenForm | None:
    try:
        schema = ast.literal_eval(literal)
    except (ValueError, TypeError):
        return None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return None
    return WrittenForm(
        tuple(_property(literal, str(name), rule) for name, rule in properties.items()), schema
    )


def _property(literal: ast.Dict, name: str, rule: object) -> WrittenField:
    given = rule if isinstance(rule, dict) else {}
    kinds: dict[object, WrittenKind] = {
        "integer": "number",
        "number": "number",
        "boolean": "flag",
        "object": "nested",
    }
    kind: WrittenKind = (
        "choice" if {"enum", "oneOf", "items"} & given.keys() else kinds.get(given.get("type"), "text")
    )
    return WrittenField(literal, name, kind, _string(given.get("title")), _string(given.get("description")))


def _from_class(source: SourceFile, definition: ast.ClassDef) -> WrittenForm | None:
    if _is_enum(source, definition):
        return WrittenForm((WrittenField(definition, ANSWER, "choice"),))
    fields = list(_own_fields(source, definition))
    for base in definition.bases:
        name = source.last_name(base)
        if name in source.classes and (inherited := _from_class(source, source.classes[name])) is not None:
            fields = [*inherited.fields, *fields]
        elif name not in _RECORDS | {"object", "Generic", "Protocol"}:
            return WrittenForm(tuple(fields)) if fields else None  # the rest is in another file
    return WrittenForm(tuple(fields))


def _own_fields(source: SourceFile, definition: ast.ClassDef) -> Iterator[WrittenField]:
    for statement in definition.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                if source.last_name(annotation) != "ClassVar" and name != "model_config":
                    kind, note = _kind(source, annotation)
                    yield _field(statement, name, kind, source, note, value)


def _from_call(source: SourceFile, call: ast.Call) -> WrittenForm | None:
    match source.dotted(call.func).removeprefix("handraise.").removeprefix("forms."):
        case "Form.of" if call.args:
            return _form(source, call.args[0], is_schema=False)
        case "Form.by_hand" if not any(isinstance(each, ast.Starred) for each in call.args):
            return WrittenForm(tuple(_made(source, each) for each in call.args))
        case "Form.from_fields" if all(each.arg for each in call.keywords):
            return WrittenForm(tuple(_given(source, each) for each in call.keywords))
        case _:
            return None


def _made(source: SourceFile, expression: ast.expr) -> WrittenField:
    """A field that is made by hand: `Text("name", title=…)`."""
    if not isinstance(expression, ast.Call):
        return WrittenField(expression, "", "unknown")
    name = written_text(source, call_argument(expression, 0, "name")) or ""
    kind = _kind_called(source.last_name(expression.func))
    return _field(expression, name, kind, source, expression)


def _given(source: SourceFile, keyword: ast.keyword) -> WrittenField:
    """A field that is a keyword argument: a type, `(type, default)`, options, or made by hand."""
    name, value = keyword.arg or "", keyword.value
    match value:
        case ast.Call():
            return _field(value, name, _made(source, value).kind, source, value)
        case ast.List() | ast.Dict():
            return WrittenField(value, name, "choice")
        case ast.Tuple(elts=[annotation, *_]):
            kind, note = _kind(source, annotation)
        case _:
            kind, note = _kind(source, value)
    return _field(value, name, kind, source, note)


def _field(
    node: ast.AST, name: str, kind: WrittenKind, source: SourceFile, *notes: ast.expr | None
) -> WrittenField:
    """A field with what its `Field(…)` says of it, wherever that stands."""
    calls = [note for note in notes if isinstance(note, ast.Call)]
    said = {keyword.arg: keyword.value for call in calls for keyword in call.keywords if keyword.arg}
    if kind == "nested" and "json_schema_extra" in said and "items" in ast.unparse(said["json_schema_extra"]):
        kind = "choice"  # the SDK's way of giving a list its options
    title, description = (written_text(source, said.get(word)) for word in ("title", "description"))
    return WrittenField(node, name, kind, title, description, bool(_CONSTRAINTS & said.keys()))


def _kind(source: SourceFile, annotation: ast.expr) -> tuple[WrittenKind, ast.expr | None]:
    """The data that a field of this type asks for, and the call in its `Annotated` that says more."""
    match annotation:
        case ast.Constant(value=str(quoted)):
            try:
                return _kind(source, ast.parse(quoted, mode="eval").body)
            except SyntaxError:
                return "unknown", None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _kind(source, left if ast.unparse(right) == "None" else right)
        case ast.Subscript(value=value, slice=inner):
            return _subscripted(source, source.last_name(value), inner)
    name = source.last_name(annotation)
    definition = source.classes.get(name)
    if definition is not None and isinstance(annotation, ast.Name):
        return _kind_of_class(source, definition), None
    return _kind_called(name), None


def _subscripted(source: SourceFile, name: str, inner: ast.expr) -> tuple[WrittenKind, ast.expr | None]:
    first, *more = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return "choice", None
    if name in _WRAPPERS:
        kind, note = _kind(source, first)
        return kind, next((each for each in more if isinstance(each, ast.Call)), note)
    if name in _LISTS:
        kind, note = _kind(source, first)
        return (kind if kind in ("choice", "unknown") else "nested"), note
    return _kind_called(name), None


def _kind_called(name: str) -> WrittenKind:
    named: dict[WrittenKind, set[str]] = {
        "text": _TEXT,
        "number": _NUMBER,
        "flag": {"bool", "Flag"},
        "choice": {"Choice", "Choices"},
        "secret": _SECRET,
        "nested": _NESTED | _LISTS,
    }
    return next((kind for kind, names in named.items() if name in names), "unknown")


def _kind_of_class(source: SourceFile, definition: ast.ClassDef) -> WrittenKind:
    if _is_enum(source, definition):
        return "choice"
    decorated = any(source.last_name(each) == "dataclass" for each in definition.decorator_list)
    return (
        "nested"
        if decorated or _RECORDS & {source.last_name(base) for base in definition.bases}
        else "unknown"
    )


def _is_enum(source: SourceFile, definition: ast.ClassDef) -> bool:
    return bool(_ENUMS & {source.last_name(base) for base in definition.bases})


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None
