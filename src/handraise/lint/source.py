"""A Python file for the rules: its tree, its imports and its strings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from handraise.forms import DEFAULT_LIMITS, Limits

LintMark: TypeAlias = tuple[ast.AST, str]
"""A place in the source, and one sentence about it."""
LintCheck: TypeAlias = "Callable[[SourceFile], Iterator[LintMark]]"


@dataclass(frozen=True, slots=True)
class LintRule:
    """One thing that goes wrong when servers ask. `wrong` and `right` are source that shows it."""

    code: str
    title: str
    sentence: str
    why: str
    fix: str
    wrong: str
    right: str
    check: LintCheck


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One rule that one place breaks. Lines and columns count from 1; the end is the last column, included."""

    path: str
    line: int
    column: int
    code: str
    message: str
    end_column: int
    excerpt: str
    """The source line, as it is written."""


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
LintScope: TypeAlias = Function | ast.Lambda | ast.Module


class SourceFile:
    """One parsed file. Raises SyntaxError, as Python would."""

    def __init__(self, text: str, path: str = "<text>", limits: Limits = DEFAULT_LIMITS) -> None:
        self.path = path
        self.limits = limits
        self.text = text
        self.lines = text.splitlines()
        self.tree = ast.parse(text, path)
        self.nodes = tuple(ast.walk(self.tree))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.imports = dict(_imports(self.nodes))
        self.classes = {node.name: node for node in self.nodes if isinstance(node, ast.ClassDef)}
        self.functions = tuple(node for node in self.nodes if isinstance(node, Function))

    @cached_property
    def by_name(self) -> dict[str, Function]:
        """The functions by their name; the last of a name wins, as it does in Python."""
        return {function.name: function for function in self.functions}

    def dotted(self, expression: ast.AST) -> str:
        """The full name of an expression, imports followed: `a.b.c`; empty when it has none."""
        match expression:
            case ast.Name(id=name):
                return self.imports.get(name, name)
            case ast.Attribute(value=value, attr=attr):
                base = self.dotted(value)
                return f"{base}.{attr}" if base else ""
            case _:
                return ""

    def last_name(self, expression: ast.AST) -> str:
        """The last part of an expression's name."""
        match expression:
            case ast.Attribute(attr=attr):
                return attr
            case ast.Name():
                return self.dotted(expression).rpartition(".")[2]
            case ast.Call(func=called):
                return self.last_name(called)
            case ast.Subscript(value=value):
                return self.last_name(value)
            case _:
                return ""

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, from the inside out."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def scope_of(self, node: ast.AST) -> LintScope:
        """The function, lambda or module that runs a node."""
        return next(above for above in self.ancestors(node) if isinstance(above, LintScope))

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost named function around a node."""
        return next((above for above in self.ancestors(node) if isinstance(above, Function)), None)

    def calls(self, within: ast.AST | None = None) -> Iterator[ast.Call]:
        """Every call, in the whole file or inside a node, in the order in which they are written."""
        return iter(self._all_calls if within is None else _sorted_calls(ast.walk(within)))

    @cached_property
    def _all_calls(self) -> list[ast.Call]:
        return _sorted_calls(self.nodes)

    def own_nodes(self, function: Function) -> Iterator[ast.AST]:
        """The nodes that a function runs itself, without the functions defined inside it."""
        waiting: list[ast.AST] = list(function.body)
        while waiting:
            node = waiting.pop()
            yield node
            if not isinstance(node, LintScope):
                waiting.extend(ast.iter_child_nodes(node))

    def value_of(self, name: ast.Name) -> ast.expr | None:
        """The one value that is assigned to a name, in its own function or at the top; None when unclear."""
        for scope in (self.scope_of(name), self.tree):
            values = [node.value for node in _assignments(scope, name.id)]
            if values:
                return values[0] if len(values) == 1 else None
        return None

    def reached(self, function: Function) -> list[Function]:
        """A function and those of the same file that it calls, directly or through one another."""
        found, waiting = [function], [function]
        while waiting:
            for call in self.calls(waiting.pop()):
                called = self.by_name.get(_local_name(call.func))
                if called is not None and called not in found:
                    found.append(called)
                    waiting.append(called)
        return found


def position_of(node: ast.AST) -> tuple[int, int]:
    """Where a node starts, to sort by."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _sorted_calls(nodes: Iterable[ast.AST]) -> list[ast.Call]:
    return sorted((node for node in nodes if isinstance(node, ast.Call)), key=position_of)


def _local_name(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return name
        case _:
            return ""


def _assignments(scope: ast.AST, name: str) -> Iterator[ast.Assign | ast.AnnAssign | ast.NamedExpr]:
    for node in ast.walk(scope) if not isinstance(scope, ast.Module) else scope.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                yield node
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr()) if target == name:
                yield node
            case ast.NamedExpr(target=ast.Name(id=target)) if target == name:
                yield node


def _imports(nodes: tuple[ast.AST, ...]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (
                    (n.asname or n.name.partition(".")[0], n.name if n.asname else n.name.partition(".")[0])
                    for n in names
                )
            case ast.ImportFrom(module=module, names=names):
                yield from ((n.asname or n.name, f"{module or ''}.{n.name}".lstrip(".")) for n in names)


GAP = "…"
"""Stands for what is known only at run time."""


def written_text(source: SourceFile, expression: ast.expr | None, gap: str = GAP) -> str | None:
    """The text of a literal, an f-string, a sum of them or a name for one; None when nothing can be read."""
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(written_text(source, part, gap) or gap for part in parts)
        case ast.FormattedValue(value=ast.Name() as name):
            return written_text(source, name, gap)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = written_text(source, left, gap), written_text(source, right, gap)
            return None if texts == (None, None) else "".join(text or gap for text in texts)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            return text
        case ast.Name():
            value = source.value_of(expression)
            return None if value is None or isinstance(value, ast.Name) else written_text(source, value, gap)
        case _:
            return None


def is_constant(source: SourceFile, expression: ast.expr | None) -> bool:
    """Whether the text is the same at every run: it tells the person nothing that only the server knows."""
    text = written_text(source, expression, "\0")
    return text is not None and "\0" not in text and "{" not in text
