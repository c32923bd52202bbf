"""A tool from its function: the signature, and what its file says about it."""

from __future__ import annotations

import importlib
import inspect
import keyword
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from handraise.errors import UsageError, WireError
from handraise.forms import Field, parse_form
from handraise.lint.questions import function_asks
from handraise.lint.rules.when_to_ask import is_repeated
from handraise.lint.source import SourceFile
from handraise.lint.tools import destructive_calls, tools, words_of
from handraise.revisions import Revision

_TAKEN: Final = frozenset(
    {
        "ask", "found", "answer", "count", "chosen", "given", "message", "shown", "look_up", "carry_out",
        "check", "secret", "form", "suggested", "str", "len", "list",
    }
)  # fmt: skip
"""The proposed code's own names."""


def identifier(name: str, otherwise: str = "value") -> str:
    """A name as an identifier of plain letters that is not taken."""
    made = "_".join(words_of(name)).lstrip("0123456789_") or otherwise
    return f"{made}_" if keyword.iskeyword(made) or made in _TAKEN else made


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Each name with an identifier of its own."""
    made: dict[str, str] = {}
    for name in names:
        wanted = identifier(name)
        number = sum(each.rstrip("0123456789") == wanted for each in made.values())
        made[name] = f"{wanted}{number + 1}" if number else wanted
    return made


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `field` is how a form would ask for it; None when a form cannot."""

    name: str
    identifier: str
    """The tool's name in code."""
    required: bool
    field: Field | None
    many: bool = False
    default: bool | int | float | str | None = None
    """Its value when the model leaves it out, if it is a plain one."""


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool. Hints are None where its author is silent."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    read_only: bool | None = None
    destructive: bool | None = None
    called_in_loop_by: str | None = None
    """A function of the same file that calls this one in a loop."""
    asks: bool = False
    """It asks already."""
    harms: str | None = None
    """A call in its body that destroys something or reaches other people."""


def tool_of_schema(
    name: str, description: str, schema: Mapping[str, Any], hints: Mapping[str, Any] | None = None
) -> ToolDescription:
    """A tool as a server lists it."""
    required = schema.get("required") or ()
    properties: Mapping[str, Any] = schema.get("properties") or {}
    names = identifiers(properties)
    arguments = tuple(
        _argument(each, names[each], rule, each in required) for each, rule in properties.items()
    )
    given = hints or {}
    return ToolDescription(
        name, description, arguments, given.get("readOnlyHint"), given.get("destructiveHint")
    )


def _argument(name: str, identifier: str, rule: object, required: bool) -> Argument:
    bare = _without_null(rule if isinstance(rule, dict) else {})
    default = rule.get("default") if isinstance(rule, dict) else None
    plain = default if isinstance(default, bool | int | float | str) else None
    many = bare.get("type") == "array"
    return Argument(name, identifier, required, _field(name, bare), many=many, default=plain)


def _without_null(rule: dict[str, Any]) -> dict[str, Any]:
    """The schema of an optional argument's value, without null."""
    kinds = [kind for kind in rule.get("anyOf", ()) if kind != {"type": "null"}]
    bare = {**rule, **kinds[0]} if len(kinds) == 1 else rule
    left_out = ("anyOf", "default", "title", "examples")
    return {word: value for word, value in bare.items() if word not in left_out}


def _field(name: str, rule: dict[str, Any]) -> Field | None:
    try:
        form = parse_form({"type": "object", "properties": {name: rule}}, Revision.NOVEMBER_2025)
    except WireError:
        return None
    return form.fields[0]


def load_function(target: str, folder: Path) -> Callable[..., object]:
    """The function that `package.module:function` or `server.py:function` names, from the user's project.

    Imports the module, and so runs its top level.
    """
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name.isidentifier():
        raise UsageError(f"{target!r} is not MODULE:FUNCTION, like server:delete_note")
    module = _module(place, folder)
    found: Any = getattr(module, name, None)
    function = getattr(found, "fn", found)  # a tool object keeps its function there
    bare = inspect.unwrap(function) if callable(function) else None
    if not inspect.isfunction(bare):
        raise UsageError(f"there is no function {name!r} in {place}")
    return bare


def tool_of_function(function: Callable[..., object], name: str | None = None) -> ToolDescription:
    """A tool from its signature, its first line of documentation and its source."""
    subject = tool_of_schema(name or function.__name__, _first_line(function), _schema(function))
    try:
        text = inspect.getsource(inspect.getmodule(function) or function)
    except (OSError, TypeError):
        return subject
    return _with_source(subject, function.__name__, SourceFile(text))


def _with_source(subject: ToolDescription, name: str, source: SourceFile) -> ToolDescription:
    function = source.by_name.get(name)
    if function is None:
        return subject
    tool = next((each for each in tools(source) if each.function is function), None)
    harm = next((call for each in source.reached(function) for call in destructive_calls(source, each)), None)
    callers = (
        caller.name
        for call in source.calls()
        if source.dotted(call.func) == name and is_repeated(source, call)
        if (caller := source.function_of(call)) is not None
    )
    return ToolDescription(
        tool.name if tool else subject.name,
        subject.description,
        subject.arguments,
        tool.read_only if tool else None,
        tool.destructive if tool else None,
        called_in_loop_by=next(callers, None),
        asks=function_asks(source, function),
        harms=source.last_name(harm) if harm else None,
    )


def _schema(function: Callable[..., object]) -> dict[str, Any]:
    """The arguments that the model fills in, as the SDK would list them."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _signature(function).parameters.values():
        if getattr(parameter.annotation, "__name__", "") == "Context" or parameter.name in ("self", "cls"):
            continue
        properties[parameter.name] = _property(parameter.annotation)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            properties[parameter.name]["default"] = parameter.default
    return {"properties": properties, "required": required}


def _signature(function: Callable[..., object]) -> inspect.Signature:
    """The signature with its types; without them where they exist for type checkers only."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        bare = inspect.signature(function)
        untyped = [each.replace(annotation=each.empty) for each in bare.parameters.values()]
        return bare.replace(parameters=untyped)


def _property(annotation: Any) -> dict[str, Any]:
    if annotation is inspect.Parameter.empty:
        return {"type": "string"}
    try:
        return TypeAdapter(annotation).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        return {"type": "object"}


def _module(place: str, folder: Path) -> ModuleType:
    name = place
    if place.endswith(".py"):
        folder, name = (folder / place).resolve().parent, Path(place).stem
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's code: any error is reported
        raise UsageError(
            f"{place} cannot be imported: {type(error).__name__}: {error}. "
            "Run this in the folder of your project, where its packages are, or name the file: src/server.py:tool"
        ) from None


def _first_line(function: Callable[..., object]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]
