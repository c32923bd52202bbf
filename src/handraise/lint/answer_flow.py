"""Follow an answer through a source: its names and its tests."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from handraise.lint.question_sites import QuestionSite, our_method
from handraise.lint.source import SourceFile

_DATA = ("data", "content", "value")
_KINDS = {"Accepted": "accept", "Declined": "decline", "Cancelled": "cancel", "Fallback": "fallback"}


@dataclass(frozen=True, slots=True)
class AnswerFlow:
    """An answer, from the question on. `name` is the variable that it is kept in, if it is."""

    whole: ast.AST
    """The question with its `await`, or with the `ask.sync` around it."""
    awaited: bool
    name: str | None
    uses: tuple[ast.expr, ...]
    """Where the variable is read, inside the same function."""


def follow_answer(source: SourceFile, site: QuestionSite) -> AnswerFlow:
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
    return AnswerFlow(whole, awaited, name, (*walrus, *_uses(source, whole, name)))


def is_looked_at(source: SourceFile, node: ast.AST) -> bool:
    """Whether an answer is looked at here: matched, compared, tested, passed on. Taking its data is not that."""
    return reads_data(source, node) is None


def reads_data(source: SourceFile, node: ast.AST) -> ast.Attribute | None:
    """The `.data` that is taken from an expression, if that is what happens to it."""
    parent = source.parents.get(node)
    return parent if isinstance(parent, ast.Attribute) and parent.attr in _DATA else None


def match_on(source: SourceFile, node: ast.AST) -> ast.Match | None:
    """The `match` whose subject is this expression."""
    parent = source.parents.get(node)
    return parent if isinstance(parent, ast.Match) and parent.subject is node else None


def matched_answers(statement: ast.Match) -> dict[str, ast.match_case] | None:
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
            kind = answer_kind(cls)
            if kind and not (kind == "decline" and limits):
                found[kind] = case
    return found


def answer_kind(cls: ast.AST) -> str | None:
    """The answer that a class stands for, ours or the SDK's."""
    name = ast.unparse(cls).rpartition(".")[2].removesuffix("Elicitation")
    return _KINDS.get(name)


def _is_sync(source: SourceFile, node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and our_method(source, node) == "sync"


def _kept_in(parent: ast.AST | None) -> str | None:
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.NamedExpr(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _uses(source: SourceFile, whole: ast.AST, name: str | None) -> tuple[ast.Name, ...]:
    if name is None:
        return ()
    scope = source.function_of(whole) or source.tree
    return tuple(
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    )
