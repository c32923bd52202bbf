"""Which functions of a source are tools, and what they say about themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from handraise.lint.source import Function, Source
from handraise.lint.texts import written_text


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a server offers as a tool. Hints are None where the author is silent."""

    function: Function
    name: str
    read_only: bool | None
    destructive: bool | None
    guarded: bool


def tools(source: Source) -> Iterator[Tool]:
    """The functions with a decorator `@….tool`, called or not, and those that are handed to `….add_tool`."""
    for function in source.functions:
        made = next(_makers(source, function), None)
        if made is not None:
            yield _tool(source, function, made)


def _makers(source: Source, function: Function) -> Iterator[ast.expr]:
    """What makes a function a tool."""
    yield from (each for each in function.decorator_list if source.last_name(each) == "tool")
    for call in source.calls():
        handed = call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == function.name
        if handed and source.last_name(call.func) in ("tool", "add_tool"):
            yield call


def _tool(source: Source, function: Function, maker: ast.expr) -> Tool:
    call = maker if isinstance(maker, ast.Call) else None
    name = written_text(source, _keyword(call, "name")) or function.name
    hints = _keyword(call, "annotations")
    return Tool(
        function,
        name,
        _hint(hints, "readOnlyHint", "read_only_hint"),
        _hint(hints, "destructiveHint", "destructive_hint"),
        _is_guarded(source, function),
    )


def _keyword(call: ast.expr | None, name: str) -> ast.expr | None:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    return next((keyword.value for keyword in keywords if keyword.arg == name), None)


def _hint(hints: ast.expr | None, *names: str) -> bool | None:
    """A hint, from `ToolAnnotations(readOnlyHint=True)` or a dict."""
    given: list[tuple[object, ast.expr]] = []
    match hints:
        case ast.Call(keywords=keywords):
            given = [(keyword.arg, keyword.value) for keyword in keywords]
        case ast.Dict(keys=keys, values=values):
            given = [(getattr(key, "value", None), value) for key, value in zip(keys, values, strict=True)]
    for name, value in given:
        if name in names and isinstance(value, ast.Constant) and isinstance(value.value, bool):
            return value.value
    return None


def _is_guarded(source: Source, function: Function) -> bool:
    """A guard asks for the tool: as a decorator, or as `SqlGuard.approve` in its body."""
    if any("guard" in source.dotted(_called(each)).lower() for each in function.decorator_list):
        return True
    imported = any(origin.startswith("handraise.guards") for origin in source.imports.values())
    return imported and any(_approves(node) for node in ast.walk(function))


def _approves(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "approve"


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator
