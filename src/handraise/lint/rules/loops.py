"""A rule about asking over and over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from handraise.lint.finding import Mark, Rule
from handraise.lint.sites import our_method, sites
from handraise.lint.source import Source

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _in_a_loop(source: Source) -> Iterator[Mark]:
    for site in sites(source):
        if site.style != "request" and is_repeated(source, site.node):
            yield site.node, "The person is asked once for each turn of this loop."
    bodies = (source.function_of(site.node) for site in sites(source))  # not what merely defines one
    asking = {body.name for body in bodies if body is not None}
    for call in source.calls():
        if isinstance(call.func, ast.Name) and call.func.id in asking and is_repeated(source, call):
            yield call, f"`{call.func.id}` asks, once for each turn of this loop."


def is_repeated(source: Source, node: ast.AST) -> bool:
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
    """What a loop goes over is made once, and its `else` runs once."""
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


RULES = (
    Rule(
        code="HR502",
        title="question in a loop",
        sentence="A person is asked once for each turn of a loop.",
        why="People stop reading after the second question. Desks and policies limit how often a call may ask.",
        mend="Ask once about all of them: `ask.choose_many`, a form, or `ask.all`. To ask again, use `check=`.",
        wrong="""
async def archive(folders: list[str]) -> str:
    for folder in folders:
        (await ask.confirm(f"Archive {folder}?")).or_stop()
    return "Archived."
""",
        right="""
async def archive(folders: list[str]) -> str:
    chosen = (await ask.choose_many("Archive which folders?", folders)).or_stop()
    return f"Archived {len(chosen)}."
""",
        check=_in_a_loop,
    ),
)
