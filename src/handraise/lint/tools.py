"""Find the tools in a source, with their hints and their effects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from handraise.lint.source import Function, SourceFile, written_text


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a server offers as a tool. Hints are None where the author is silent."""

    function: Function
    name: str
    read_only: bool | None
    destructive: bool | None
    guarded: bool


def tools(source: SourceFile) -> Iterator[Tool]:
    """The functions with a decorator `@….tool`, called or not, and those that are handed to `….add_tool`."""
    for function in source.functions:
        made = next(_makers(source, function), None)
        if made is not None:
            yield _tool(source, function, made)


def _makers(source: SourceFile, function: Function) -> Iterator[ast.expr]:
    """The decorators and calls that make a function a tool."""
    yield from (each for each in function.decorator_list if source.last_name(each) == "tool")
    for call in source.calls():
        handed = call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == function.name
        if handed and source.last_name(call.func) in ("tool", "add_tool"):
            yield call


def _tool(source: SourceFile, function: Function, maker: ast.expr) -> Tool:
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


def _is_guarded(source: SourceFile, function: Function) -> bool:
    """A guard asks for the tool: as a decorator, or as `SqlGuard.approve` in its body."""
    if any("guard" in source.dotted(_called(each)).lower() for each in function.decorator_list):
        return True
    imported = any(origin.startswith("handraise.guards") for origin in source.imports.values())
    return imported and any(_approves(node) for node in ast.walk(function))


def _approves(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "approve"


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DESTRUCTIVE = _words(
    """delete remove drop destroy purge prune cleanup clear wipe erase truncate send mail pay charge refund
    transfer deploy publish revoke terminate kill uninstall overwrite reset buy purchase withdraw"""
)
"""Words in a tool's name for what cannot be taken back, or reaches other people."""
_DESTRUCTIVE_PAIRS = {
    "execute": _words("sql query command code script shell"),
    "run": _words("sql command code script shell"),
    "write": _words("file files"),
}
"""Words that are grave beside another one: the model's text is executed."""
READING = _words(
    """get list search find read show count check preview estimate describe fetch can is has view lookup query"""
)
"""First words of the name of a tool that only looks."""
_CHANGING = DESTRUCTIVE | _words(
    """write save create insert update move rename post put commit execute append upload book reserve notify
    archive unlink rmtree rmdir sendmail"""
)
_MUTATORS = _words("append add update insert extend remove pop popitem clear discard setdefault write")
_DESTRUCTIVE_CALLS = _words(
    "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree requests.delete httpx.delete"
)
_DESTRUCTIVE_METHODS = _words(
    """unlink rmdir rmtree delete delete_one delete_many delete_object delete_objects drop_collection drop_table
    drop_database sendmail send_message send_email terminate_instances"""
)
_DESTRUCTIVE_SQL = re.compile(r"\s*(?:delete\s+from|drop\s+\w+|truncate)\b", re.IGNORECASE)
_TO_CLIENT = re.compile(r"(?:.*_)?(?:ctx|context|session)")
"""Notices to the client are no effects: `ctx.session.send_log_message(…)`."""
_TEMPORARY = re.compile(r"te?mp", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """The words of an identifier: `notes_delete`, `deleteNote`."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)]


def destructive_word(name: str) -> str | None:
    """The word of a tool's name that says that it destroys, sends or pays."""
    words = words_of(name)
    if not words or words[0] in READING:
        return None
    paired = (word for word in words if not _DESTRUCTIVE_PAIRS.get(word, frozenset()).isdisjoint(words))
    return next((word for word in words if word in DESTRUCTIVE), None) or next(paired, None)


def destructive_calls(source: SourceFile, function: Function) -> Iterator[ast.Call]:
    """The calls in a function that destroy something or reach other people."""
    for call in source.calls(function):
        if _is_destructive(source, call):
            yield call


def effects(source: SourceFile, function: Function) -> Iterator[ast.AST]:
    """A function's effects on the outside, in source order."""
    own = _own_names(function)
    for node in source.own_nodes(function):
        match node:
            case ast.Call() if _is_effect(source, node, own):
                yield node
            case ast.AugAssign(target=target) | ast.Assign(targets=[target]) if _is_outside(target, own):
                yield node


def _is_destructive(source: SourceFile, call: ast.Call) -> bool:
    if source.dotted(call.func) in _DESTRUCTIVE_CALLS:
        return True
    if not isinstance(call.func, ast.Attribute) or _TEMPORARY.search(ast.unparse(call.func.value)):
        return False
    if call.func.attr in ("execute", "executemany"):
        return (
            _DESTRUCTIVE_SQL.match(written_text(source, call.args[0] if call.args else None) or "")
            is not None
        )
    return call.func.attr in _DESTRUCTIVE_METHODS


def _is_effect(source: SourceFile, call: ast.Call, own: set[str]) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=method) if method in _MUTATORS:
            return owner not in own
        case ast.Attribute(value=ast.expr() as owner) if _TO_CLIENT.fullmatch(source.last_name(owner)):
            return False
        case ast.Attribute(attr=name) | ast.Name(id=name):
            words = words_of(name)
            return bool(words) and words[0] in _CHANGING and not name[0].isupper()
        case _:
            return False


def _is_outside(target: ast.expr, own: set[str]) -> bool:
    """Whether an assignment goes into something that the function did not make itself."""
    while isinstance(target, ast.Subscript | ast.Attribute):
        inner = target.value
        if isinstance(inner, ast.Name):
            return inner.id not in own
        target = inner
    return False


def _own_names(function: Function) -> set[str]:
    """The names that a function binds itself; parameters come from outside."""
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
