"""Rules about what becomes of an answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from handraise.lint.questions import QuestionSite, all_question_sites, our_method
from handraise.lint.source import LintCheck, LintMark, SourceFile

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
    """Find where a function keeps and reads an answer."""
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
    """Whether this use checks an answer: matches, compares, tests it, or passes it on. Taking its data does not."""
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


_CALLED = {"decline": "Declined", "cancel": "Cancelled", "fallback": "Fallback"}
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BROAD = ("", "Exception", "BaseException")
_NAMED = {"NoAnswer", "NotSupported", "HandraiseError"}


def _answers(source: SourceFile) -> Iterator[tuple[QuestionSite, AnswerFlow]]:
    for site in all_question_sites(source):
        if site.style in ("handraise", "context", "session") and site.kind != "require":
            yield site, follow_answer(source, site)


def _unseen(source: SourceFile) -> Iterator[LintMark]:
    for _, answer in _answers(source):
        if not answer.awaited:
            continue
        if (taken := reads_data(source, answer.whole)) is not None:
            yield taken, f"`.{taken.attr}` is taken from an answer that nobody looked at."
        reads = [read for use in answer.uses if (read := reads_data(source, use)) is not None]
        if reads and not any(is_looked_at(source, use) for use in answer.uses):
            yield reads[0], f"`.{reads[0].attr}` is taken from an answer that nobody looked at."


def _missing(source: SourceFile) -> Iterator[LintMark]:
    for site, answer in _answers(source):
        wanted = {"decline", "cancel"} | {"fallback" for each in site.node.keywords if each.arg == "fallback"}
        for expression in (answer.whole, *answer.uses):
            if (statement := match_on(source, expression)) is not None:
                yield from _missing_cases(source, statement, wanted)
        compared = {kind for use in answer.uses for kind in _compared(source, use)}
        reads = [read for use in answer.uses if (read := reads_data(source, use)) is not None]
        if compared in ({"decline"}, {"cancel"}):
            [other] = {"decline", "cancel"} - compared
            if reads:
                yield reads[0], f"This is reached after a {other}, too."
            else:
                yield (
                    site.node,
                    f"A {other} is taken for an accept: only a {next(iter(compared))} is looked for.",
                )


def _missing_cases(source: SourceFile, statement: ast.Match, wanted: set[str]) -> Iterator[LintMark]:
    found = matched_answers(statement)
    if found is None or wanted <= found.keys():
        return
    accepted = found.get("accept")
    if accepted is not None and isinstance(accepted.body[-1], _LEAVES) and _goes_on(source, statement):
        return  # what stands behind the match is for the other answers
    names = " and ".join(f"`{_CALLED[kind]}`" for kind in sorted(wanted - found.keys()))
    yield statement.subject, f"There is no case for {names}."


def _goes_on(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether other statements follow this one in its block."""
    parent = source.parents[statement]
    blocks = (getattr(parent, name, []) for name in ("body", "orelse", "finalbody"))
    return any(statement in block and block[-1] is not statement for block in blocks)


def _compared(source: SourceFile, use: ast.expr) -> Iterator[str]:
    """The answers that a use tells apart: `.action == "decline"`, `isinstance(answer, Declined)`."""
    parent = source.parents.get(use)
    match parent:
        case ast.Attribute(attr="action"):
            whole = source.parents.get(parent)
            if isinstance(whole, ast.Compare):
                yield from (str(each.value) for each in ast.walk(whole) if isinstance(each, ast.Constant))
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
            yield from (kind for each in ast.walk(classes) if (kind := answer_kind(each)))


def _ignored(source: SourceFile) -> Iterator[LintMark]:
    for site, answer in _answers(source):
        parent = source.parents.get(answer.whole)
        if isinstance(parent, ast.Expr) and not answer.awaited:
            yield site.node, "This question is never asked: nobody awaits it."
        elif answer.awaited and (isinstance(parent, ast.Expr) or (answer.name and not answer.uses)):
            yield site.node, "The person is asked, and the answer is thrown away."


def _swallowed(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        below: ast.AST = site.node
        for above in source.ancestors(site.node):
            if isinstance(above, ast.Try) and below in above.body:
                yield from _broad_handler(source, above)
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
                break
            below = above


def _broad_handler(source: SourceFile, statement: ast.Try) -> Iterator[LintMark]:
    for handler in statement.handlers:
        caught = [source.last_name(each) for each in _classes(handler)]
        if _NAMED.intersection(caught):
            return
        broad = any(name in _BROAD for name in caught)
        if broad and not any(isinstance(each, ast.Raise) for each in ast.walk(handler)):
            yield handler, "This hides that nobody was asked, or that nobody answered."
            return


def _classes(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return [ast.Constant("")]
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def _truth(source: SourceFile) -> Iterator[LintMark]:
    for site, answer in _answers(source):
        for expression in dict.fromkeys((site.node, answer.whole, *answer.uses)):
            if _is_tested(source, expression):
                what = "a question" if expression is site.node and not answer.awaited else "an answer"
                yield (
                    expression,
                    f"{what.capitalize()} is neither true nor false, and raises when it is tested.",
                )
                break


def _is_tested(source: SourceFile, node: ast.AST) -> bool:
    """Whether a condition asks if an expression is true."""
    match source.parents.get(node):
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return test is node
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
            return True
        case ast.Call(func=ast.Name(id="bool")):
            return True
        case ast.comprehension(ifs=conditions):
            return node in conditions
        case _:
            return False


def _hurried(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style != "handraise":
            continue
        for above in source.ancestors(site.node):
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
                break
            if isinstance(above, ast.With | ast.AsyncWith):
                limits = [item.context_expr for item in above.items]
            else:
                limits = [above] if isinstance(above, ast.Call) else []
            for limit in limits:
                if isinstance(limit, ast.Call) and source.last_name(limit.func) in _TIME_LIMITS:
                    yield limit, "This time limit counts the time that the person takes."


_TIME_LIMITS = {"timeout", "timeout_at", "wait_for", "fail_after", "fail_at", "move_on_after", "move_on_at"}


CHECKS: Final[Mapping[str, LintCheck]] = {
    "HR201": _unseen,
    "HR202": _missing,
    "HR203": _ignored,
    "HR204": _swallowed,
    "HR205": _truth,
    "HR206": _hurried,
}
