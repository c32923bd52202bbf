"""Rules about code that works on one revision of the protocol and not on another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from handraise.lint.questions import all_question_sites, is_resolver, own_question_sites
from handraise.lint.source import Function, LintCheck, LintMark, SourceFile, position_of
from handraise.lint.tools import effects

_VOLATILE = re.compile(
    r"(?:.*\.)?(?:now|utcnow|today|time|time_ns|monotonic|perf_counter|uuid1|uuid4|random|randint|choice|token_\w+)"
)
_CLOCKS = ("datetime", "date", "time", "uuid", "random", "secrets")


def _no_back_channel(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style in ("context", "session"):
            yield site.node, "This fails on 2026-07-28, which has no requests from server to client."


def _run_again(source: SourceFile) -> Iterator[LintMark]:
    for function in source.functions:
        if is_resolver(source, function):
            found = min(effects(source, function), key=position_of, default=None)
            if found is not None:
                yield found, f"`{function.name}` runs again in every round, and this with it."
            continue
        for asking, sentence in _interrupted(source, function):
            found = _effect_before(source, function, asking)
            if found is not None:
                yield found, sentence
                break


def _interrupted(source: SourceFile, function: Function) -> Iterator[tuple[ast.AST, str]]:
    """Where a body stops on 2026-07-28, last place first, each with what happens to the effects before it."""
    for call in reversed(list(source.calls(function))):
        own = source.function_of(call) is function
        if own and source.last_name(call.func) == "InputRequiredResult":
            yield call, "The client calls again with the answer, and this runs a second time."
    for site in reversed(own_question_sites(source, function)):
        if site.style in ("context", "session"):
            yield site.node, "On 2026-07-28 this has happened when the question behind it fails the call."


def _replayed(source: SourceFile) -> Iterator[LintMark]:
    for function in source.functions:
        if not any(source.last_name(each) == "replayable" for each in function.decorator_list):
            continue
        for site in reversed(own_question_sites(source, function)):
            found = _effect_before(source, function, site.node)
            if found is not None:
                yield (
                    found,
                    f"`{function.name}` may run again from the top after a restart, and this with it.",
                )
                break


def _effect_before(source: SourceFile, function: Function, asking: ast.AST) -> ast.AST | None:
    """The first change after which a function still reaches the question."""
    found = (each for each in effects(source, function) if _leads_to(source, each, asking))
    return min(found, key=position_of, default=None)


def _leads_to(source: SourceFile, effect: ast.AST, asking: ast.AST) -> bool:
    if position_of(effect) >= position_of(asking) or any(
        above is effect for above in source.ancestors(asking)
    ):
        return False
    around = set(source.ancestors(asking))
    for above in source.ancestors(effect):
        if isinstance(above, ast.Call) and source.last_name(above.func) == "once":
            return False
        if isinstance(above, ast.If | ast.match_case | ast.ExceptHandler) and above not in around:
            other = above.orelse if isinstance(above, ast.If) else []
            block = other if _is_in(effect, other) else above.body
            if isinstance(block[-1], ast.Return | ast.Raise):
                return False
    return True


def _is_in(node: ast.AST, block: list[ast.stmt]) -> bool:
    return any(node is each for statement in block for each in ast.walk(statement))


def _volatile(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style in ("resolver", "request") and site.message is not None:
            found = next(
                (call for call in _calls_for(source, site.message) if _is_volatile(source, call)), None
            )
            if found is not None:
                yield site.message, f"`{ast.unparse(found)}` is different in every round."


def _calls_for(source: SourceFile, message: ast.expr) -> Iterator[ast.Call]:
    """The calls that a message is made from, through the names in it."""
    for node in ast.walk(message):
        if isinstance(node, ast.Call):
            yield node
        if isinstance(node, ast.Name) and (value := source.value_of(node)) is not None:
            yield from (each for each in ast.walk(value) if isinstance(each, ast.Call))


def _is_volatile(source: SourceFile, call: ast.Call) -> bool:
    name = source.dotted(call.func)
    return _VOLATILE.fullmatch(name) is not None and name.partition(".")[0] in _CLOCKS


def _legacy_error(source: SourceFile) -> Iterator[LintMark]:
    for call in source.calls():
        if source.last_name(call.func) == "UrlElicitationRequiredError":
            yield call, "Error -32042 exists on 2025-11-25 only."


CHECKS: Final[Mapping[str, LintCheck]] = {
    "HR401": _no_back_channel,
    "HR402": _run_again,
    "HR403": _volatile,
    "HR404": _legacy_error,
    "HR405": _replayed,
}
