"""Rules about code that works on one revision of the protocol and not on another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from handraise.lint.questions import all_question_sites, is_resolver, own_question_sites
from handraise.lint.source import Function, LintMark, LintRule, SourceFile, position_of
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
    """The places where a body stops on 2026-07-28, the last one first, and what that does to what was before."""
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
    """The first thing that a function changes and then goes on to the question."""
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


RULES = (
    LintRule(
        code="HR401",
        title="question that fails on 2026-07-28",
        sentence="A tool calls `ctx.elicit`, `ctx.elicit_url` or `session.elicit…`.",
        why=(
            "On 2026-07-28 a server cannot send requests to its client. The question fails there, and the tool call "
            "fails with it. All steps before the question have run by then."
        ),
        fix="Use Handraise's `ask`, which carries the question on all three revisions.",
        wrong="""
async def archive(folder: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"Archive {folder}?", Consent)
    return "Archived." if answer.action == "accept" else "Kept."
""",
        right="""
async def archive(folder: str) -> str:
    answer = await ask.confirm(f"Archive {folder}?")
    return "Archived." if answer.action == "accept" else "Kept."
""",
        check=_no_back_channel,
    ),
    LintRule(
        code="HR402",
        title="effect that happens twice",
        sentence="Code that runs again for the answer changes something before the question.",
        why=(
            "On 2026-07-28 the client calls again with the answer. Resolvers then run from the top, and so do tools "
            "that return an `InputRequiredResult`: money moves twice. If the question fails instead, the change stays. "
            "The model reads an error, and calls again."
        ),
        fix="Use `ask` in the tool. The tool stays suspended at the question, and nothing before it runs again.",
        wrong="""
async def which(amount: int) -> Elicit[Account]:
    reserve(amount)
    return Elicit(f"Take {amount} from which account?", Account)
""",
        right="""
async def transfer(amount: int) -> str:
    reserve(amount)
    account = (await ask.choose(f"Take {amount} from which account?", accounts())).or_stop()
    return f"Taken from {account}."
""",
        check=_run_again,
    ),
    LintRule(
        code="HR403",
        title="question that changes with every round",
        sentence="The message of a resolver, or of a returned question, contains a time, a random number or a new id.",
        why=(
            "When the answer comes, the code makes the question again. If the words differ, the answer belongs to "
            "another question. The person is asked again and again, until the client gives up."
        ),
        fix="Leave out the part that changes, or use `ask`, which makes each question once.",
        wrong="""
async def which(amount: int) -> Elicit[Account]:
    return Elicit(f"It is {datetime.now()}. Take {amount} from which account?", Account)
""",
        right="""
async def which(amount: int) -> Elicit[Account]:
    return Elicit(f"Take {amount} from which account?", Account)
""",
        check=_volatile,
    ),
    LintRule(
        code="HR404",
        title="error that only one revision knows",
        sentence="A tool raises `UrlElicitationRequiredError`.",
        why="Only 2025-11-25 has error -32042. On other revisions the call just fails.",
        fix="Use `ask.require`, which gives the error on 2025-11-25 and a round of its own on 2026-07-28.",
        wrong="""
async def sync() -> str:
    if not is_connected():
        raise UrlElicitationRequiredError([connecting()])
    return "Synced."
""",
        right="""
async def sync() -> str:
    if not is_connected():
        await ask.require("https://notes.example.com/connect")
    return "Synced."
""",
        check=_legacy_error,
    ),
    LintRule(
        code="HR405",
        title="effect outside of `once`",
        sentence="A `@replayable` tool changes something before a question, without `once`.",
        why="After a restart a replayable tool runs again from the top. Only steps inside `once` run a single time.",
        fix='Write `await once("name", function, …)` around the effect, or remove `@replayable`.',
        wrong="""
@replayable
async def order(article: str) -> str:
    number = reserve(article)
    (await ask.confirm(f"Buy {article}, reservation {number}?")).or_stop()
    return "Bought."
""",
        right="""
@replayable
async def order(article: str) -> str:
    number = await once("reserve", reserve, article)
    (await ask.confirm(f"Buy {article}, reservation {number}?")).or_stop()
    return "Bought."
""",
        check=_replayed,
    ),
)
