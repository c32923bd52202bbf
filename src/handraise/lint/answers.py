"""What a source does with an answer: where it goes, who looks at it, how."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from handraise.lint.sites import Site, our_method
from handraise.lint.source import Source

_DATA = ("data", "content", "value")
_KINDS = {"Accepted": "accept", "Declined": "decline", "Cancelled": "cancel", "Fallback": "fallback"}


@dataclass(frozen=True, slots=True)
class Followed:
    """An answer, from the question on. `name` is the variable that it is kept in, if it is."""

    whole: ast.AST
    """The question with its `await`, or with the `ask.sync` around it."""
    awaited: bool
    name: str | None
    uses: tuple[ast.expr, ...]
    """Where the variable is read, inside the same function."""


def follow(source: Source, site: Site) -> Followed:
    """The way of an answer through its function."""
    whole: ast.AST = site.node
    awaited = False
    while True:
        parent = source.parents.get(whole)
        if isinstance(parent, ast.Await) or _is_sync(source, parent):
            assert parent is not None
            whole, awaited = parent, True
        else:
            break
    name = _kept_in(parent)
    walrus = (parent,) if isinstance(parent, ast.NamedExpr) else ()
    return Followed(whole, awaited, name, (*walrus, *_uses(source, whole, name)))


def looks(source: Source, node: ast.AST) -> bool:
    """Whether an answer is looked at here: matched, compared, tested, passed on. Taking its data is not that."""
    return reads_data(source, node) is None


def reads_data(source: Source, node: ast.AST) -> ast.Attribute | None:
    """The `.data` that is taken from an expression, if that is what happens to it."""
    parent = source.parents.get(node)
    return parent if isinstance(parent, ast.Attribute) and parent.attr in _DATA else None


def matched(source: Source, node: ast.AST) -> ast.Match | None:
    """The `match` whose subject is this expression."""
    parent = source.parents.get(node)
    return parent if isinstance(parent, ast.Match) and parent.subject is node else None


def cases(statement: ast.Match) -> dict[str, ast.match_case] | None:
    """Which answers a `match` takes without a condition; None when it takes everything."""
    found: dict[str, ast.match_case] = {}
    for case in statement.cases:
        if case.guard is not None:
            continue
        for pattern in case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]:
            match pattern:
                case ast.MatchAs(pattern=None):
                    return None
                case ast.MatchAs(pattern=ast.MatchClass(cls=cls, kwd_attrs=limits)):
                    pass
                case ast.MatchClass(cls=cls, kwd_attrs=limits):
                    pass
                case _:
                    continue
            kind = kind_of(cls)
            if kind and not (kind == "decline" and limits):
                found[kind] = case
    return found


def kind_of(cls: ast.AST) -> str | None:
    """The answer that a class stands for, ours or the SDK's."""
    name = ast.unparse(cls).rpartition(".")[2].removesuffix("Elicitation")
    return _KINDS.get(name)


def _is_sync(source: Source, node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and our_method(source, node) == "sync"


def _kept_in(parent: ast.AST | None) -> str | None:
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.NamedExpr(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _uses(source: Source, whole: ast.AST, name: str | None) -> tuple[ast.Name, ...]:
    if name is None:
        return ()
    scope = source.function_of(whole) or source.tree
    return tuple(
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    )
