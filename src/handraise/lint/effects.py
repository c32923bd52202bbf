"""What changes the world: calls and assignments that a person would notice, and names that promise them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from handraise.lint.source import Function, Source
from handraise.lint.texts import written_text


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GRAVE = _words(
    """delete remove drop destroy purge prune cleanup clear wipe erase truncate send mail pay charge refund
    transfer deploy publish revoke terminate kill uninstall overwrite reset buy purchase withdraw"""
)
"""Words in a tool's name for what cannot be taken back, or reaches other people."""
_GRAVE_PAIRS = {
    "execute": _words("sql query command code script shell"),
    "run": _words("sql command code script shell"),
    "write": _words("file files"),
}
"""Words that are grave beside another one: whatever the model writes is done."""
READING = _words(
    """get list search find read show count check preview estimate describe fetch can is has view lookup query"""
)
"""First words of the name of a tool that only looks."""
_CHANGING = GRAVE | _words(
    """write save create insert update move rename post put commit execute append upload book reserve notify
    archive unlink rmtree rmdir sendmail"""
)
_MUTATORS = _words("append add update insert extend remove pop popitem clear discard setdefault write")
_GRAVE_CALLS = _words("os.remove os.unlink os.rmdir os.removedirs shutil.rmtree requests.delete httpx.delete")
_GRAVE_METHODS = _words(
    """unlink rmdir rmtree delete delete_one delete_many delete_object delete_objects drop_collection drop_table
    drop_database sendmail send_message send_email terminate_instances"""
)
_GRAVE_SQL = re.compile(r"\s*(?:delete\s+from|drop\s+\w+|truncate)\b", re.IGNORECASE)
_TO_CLIENT = re.compile(r"(?:.*_)?(?:ctx|context|session)")
"""Notices to the client are no effects: `ctx.session.send_log_message(…)`."""
_TEMPORARY = re.compile(r"te?mp", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """The words of an identifier: `notes_delete`, `deleteNote`."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+", name)]


def promises_harm(name: str) -> str | None:
    """The word of a tool's name that says that it destroys, sends or pays."""
    words = words_of(name)
    if not words or words[0] in READING:
        return None
    paired = (word for word in words if not _GRAVE_PAIRS.get(word, frozenset()).isdisjoint(words))
    return next((word for word in words if word in GRAVE), None) or next(paired, None)


def grave_calls(source: Source, function: Function) -> Iterator[ast.Call]:
    """The calls in a function that destroy something or reach other people."""
    for call in source.calls(function):
        if _is_grave(source, call):
            yield call


def effects(source: Source, function: Function) -> Iterator[ast.AST]:
    """What a function changes outside of itself, in the order in which it is written."""
    own = _own_names(function)
    for node in source.own_nodes(function):
        match node:
            case ast.Call() if _is_effect(source, node, own):
                yield node
            case ast.AugAssign(target=target) | ast.Assign(targets=[target]) if _is_outside(target, own):
                yield node


def _is_grave(source: Source, call: ast.Call) -> bool:
    if source.dotted(call.func) in _GRAVE_CALLS:
        return True
    if not isinstance(call.func, ast.Attribute) or _TEMPORARY.search(ast.unparse(call.func.value)):
        return False
    if call.func.attr in ("execute", "executemany"):
        return _GRAVE_SQL.match(written_text(source, call.args[0] if call.args else None) or "") is not None
    return call.func.attr in _GRAVE_METHODS


def _is_effect(source: Source, call: ast.Call, own: set[str]) -> bool:
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
