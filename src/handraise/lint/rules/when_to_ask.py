"""Rules about when to ask: tools that should, questions over and over, questions not worth a person's attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from handraise.lint.questions import QuestionSite, all_question_sites, function_asks, our_method, written_form
from handraise.lint.source import Function, LintCheck, LintMark, SourceFile, is_constant, written_text
from handraise.lint.tools import Tool, destructive_calls, destructive_word, tools


def _never_asks(source: SourceFile) -> Iterator[LintMark]:
    for tool in tools(source):
        reason = None if tool.guarded or function_asks(source, tool.function) else _harm(source, tool)
        if reason is not None:
            yield tool.function, f"The tool `{tool.name}` {reason}, and never asks."


def _harm(source: SourceFile, tool: Tool) -> str | None:
    if tool.destructive:
        return "calls itself destructive"
    word = None if tool.read_only else destructive_word(tool.name)
    if word is not None:
        return f"is named for `{word}`"
    for function in source.reached(tool.function):
        for call in destructive_calls(source, function):
            return f"calls `{ast.unparse(call.func)}`"
    return None


_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _in_a_loop(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style != "request" and is_repeated(source, site.node):
            yield site.node, "The person is asked once for each turn of this loop."
    # The function that asks, not one that merely defines it.
    bodies = (source.function_of(site.node) for site in all_question_sites(source))
    asking = {body.name for body in bodies if body is not None}
    for call in source.calls():
        if isinstance(call.func, ast.Name) and call.func.id in asking and is_repeated(source, call):
            yield call, f"`{call.func.id}` asks, once for each turn of this loop."


def is_repeated(source: SourceFile, node: ast.AST) -> bool:
    """Whether a node runs once for each turn of a loop of its own function."""
    below, repeated = node, False
    for above in source.ancestors(node):
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            break
        if isinstance(above, ast.Call) and our_method(source, above) == "all":
            repeated = False  # what the loop made goes out in one round
        repeated |= isinstance(above, _LOOPS) and not _is_before_the_first_turn(above, below)
        below = above
    return repeated


def _is_before_the_first_turn(loop: ast.AST, below: ast.AST) -> bool:
    """A loop's iterable is evaluated once, and its `else` runs once."""
    match loop:
        case ast.For() | ast.AsyncFor():
            return below is loop.iter or below in loop.orelse
        case ast.While():
            return below in loop.orelse
        case ast.ListComp(generators=[first, *_]) | ast.SetComp(generators=[first, *_]):
            return below is first
        case ast.DictComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
            return below is first
        case _:
            return False


_INVALID = {"ValueError", "TypeError", "ValidationError", "JSONDecodeError", "KeyError"}
_CHECKS = re.compile(r"is[a-z]+|is_valid\w*|valid\w*|check\w*|match|fullmatch|search|startswith|endswith|len")
_PROSE = re.compile(
    r"anything else|please (?:provide|specify|enter|give)|how can i help|tell me (?:more|about)|"
    r"what (?:else )?(?:would|do) you (?:like|want|need|mean)|what is your (?:question|goal)|"
    r"(?:please )?(?:describe|explain|elaborate)|can you (?:clarify|explain)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"are you sure|(?:do you want to |shall i |ok to )?(?:proceed|continue|go ahead)|confirm\W*$|"
    r"is (?:this|that|it) (?:ok|okay|fine|correct|right)",
    re.IGNORECASE,
)


def _is_free(source: SourceFile, site: QuestionSite) -> bool:
    """Whether a question takes any words, or any number: nothing that only the server could offer or check."""
    form = written_form(source, site)
    if form is None or not form.fields:
        return False
    return all(each.kind in ("text", "number") and not each.constrained for each in form.fields)


def _prose(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if not _is_free(source, site):
            continue
        if _PROSE.search(written_text(source, site.message) or ""):
            yield (
                site.node,
                "This is a question for the chat: the model can ask it, and understands the answer.",
            )
        elif is_constant(source, site.message) and not _is_in_validation(source, site):
            parameter = _fills_parameter(source, site)
            if parameter is not None:
                yield (
                    site.node,
                    f"`{parameter}` is an argument: leave it required, and the model asks for it.",
                )


def _settled_later(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if _is_free(source, site) and _is_in_validation(source, site):
            yield site.node, "An error that says what is wrong lets the model fix its own argument."


def _is_in_validation(source: SourceFile, site: QuestionSite) -> bool:
    """Whether a question repairs an argument: behind a failed check of it, or where an exception says so."""
    below: ast.AST = site.node
    for above in source.ancestors(site.node):
        match above:
            case ast.ExceptHandler(type=ast.expr() as caught):
                if _INVALID & {source.last_name(each) for each in ast.walk(caught)}:
                    return True
            case ast.If(test=test) if below in above.body:
                if _checks(test) and _tests_an_argument(source, site, test):
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return False
        below = above
    return False


def _checks(test: ast.expr) -> bool:
    for node in ast.walk(test):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if _CHECKS.fullmatch(name):
                return True
            case ast.Compare(ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE()]):
                return True
    return False


def _tests_an_argument(source: SourceFile, site: QuestionSite, test: ast.expr) -> bool:
    """Whether a test looks at a parameter itself, or at one that was only trimmed: `name = name.strip()`."""
    function = source.function_of(site.node)
    given = _parameters(function) if function else set()
    names = (node for node in ast.walk(test) if isinstance(node, ast.Name) and _is_tested(source, node))
    return any(node.id in given or _trimmed(source, node) in given for node in names)


def _is_tested(source: SourceFile, name: ast.Name) -> bool:
    """An argument of a function call does not count: the function's result is tested."""
    parent = source.parents.get(name)
    return not isinstance(parent, ast.Call) or _CHECKS.fullmatch(source.last_name(parent.func)) is not None


def _trimmed(source: SourceFile, name: ast.Name) -> str | None:
    match source.value_of(name):
        case ast.Call(func=ast.Attribute(value=ast.Name(id=original))):
            return original
        case _:
            return None


def _fills_parameter(source: SourceFile, site: QuestionSite) -> str | None:
    """The parameter of the same function that the answer is assigned to."""
    function = source.function_of(site.node)
    statement = next((above for above in source.ancestors(site.node) if isinstance(above, ast.stmt)), None)
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if function and name in _parameters(function):
            return name
        case _:
            return None


def _parameters(function: Function) -> set[str]:
    given = function.args
    return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _says_nothing(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        form = written_form(source, site)
        only_yes_or_no = form is not None and all(each.kind == "flag" for each in form.fields)
        text = written_text(source, site.message) if is_constant(source, site.message) else None
        if only_yes_or_no and text is not None and _VAGUE.search(text):
            yield site.message or site.node, "This does not say what will happen, to what, or to how many."


CHECKS: Final[Mapping[str, LintCheck]] = {
    "HR501": _never_asks,
    "HR502": _in_a_loop,
    "HR503": _prose,
    "HR504": _settled_later,
    "HR505": _says_nothing,
}
