"""Rules about what becomes of an answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from handraise.lint.answers import Followed, cases, follow, kind_of, looks, matched, reads_data
from handraise.lint.finding import Mark, Rule
from handraise.lint.sites import Site, sites
from handraise.lint.source import Source

_CALLED = {"decline": "Declined", "cancel": "Cancelled", "fallback": "Fallback"}
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BROAD = ("", "Exception", "BaseException")
_NAMED = {"NoAnswer", "NotSupported", "HandraiseError"}


def _answers(source: Source) -> Iterator[tuple[Site, Followed]]:
    for site in sites(source):
        if site.style in ("handraise", "context", "session") and site.kind != "require":
            yield site, follow(source, site)


def _unseen(source: Source) -> Iterator[Mark]:
    for _, answer in _answers(source):
        if not answer.awaited:
            continue
        if (taken := reads_data(source, answer.whole)) is not None:
            yield taken, f"`.{taken.attr}` is taken from an answer that nobody looked at."
        reads = [read for use in answer.uses if (read := reads_data(source, use)) is not None]
        if reads and not any(looks(source, use) for use in answer.uses):
            yield reads[0], f"`.{reads[0].attr}` is taken from an answer that nobody looked at."


def _missing(source: Source) -> Iterator[Mark]:
    for site, answer in _answers(source):
        wanted = {"decline", "cancel"} | {"fallback" for each in site.node.keywords if each.arg == "fallback"}
        for expression in (answer.whole, *answer.uses):
            if (statement := matched(source, expression)) is not None:
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


def _missing_cases(source: Source, statement: ast.Match, wanted: set[str]) -> Iterator[Mark]:
    found = cases(statement)
    if found is None or wanted <= found.keys():
        return
    accepted = found.get("accept")
    if accepted is not None and isinstance(accepted.body[-1], _LEAVES) and _goes_on(source, statement):
        return  # what stands behind the match is for the other answers
    names = " and ".join(f"`{_CALLED[kind]}`" for kind in sorted(wanted - found.keys()))
    yield statement.subject, f"There is no case for {names}."


def _goes_on(source: Source, statement: ast.stmt) -> bool:
    """Whether anything is done behind a statement, in the same block."""
    parent = source.parents[statement]
    blocks = (getattr(parent, name, []) for name in ("body", "orelse", "finalbody"))
    return any(statement in block and block[-1] is not statement for block in blocks)


def _compared(source: Source, use: ast.expr) -> Iterator[str]:
    """The answers that a use tells apart: `.action == "decline"`, `isinstance(answer, Declined)`."""
    parent = source.parents.get(use)
    match parent:
        case ast.Attribute(attr="action"):
            whole = source.parents.get(parent)
            if isinstance(whole, ast.Compare):
                yield from (str(each.value) for each in ast.walk(whole) if isinstance(each, ast.Constant))
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, classes]):
            yield from (kind for each in ast.walk(classes) if (kind := kind_of(each)))


def _ignored(source: Source) -> Iterator[Mark]:
    for site, answer in _answers(source):
        parent = source.parents.get(answer.whole)
        if isinstance(parent, ast.Expr) and not answer.awaited:
            yield site.node, "This question is never asked: nobody awaits it."
        elif answer.awaited and (isinstance(parent, ast.Expr) or (answer.name and not answer.uses)):
            yield site.node, "The person is asked, and the answer is thrown away."


def _swallowed(source: Source) -> Iterator[Mark]:
    for site in sites(source):
        below: ast.AST = site.node
        for above in source.ancestors(site.node):
            if isinstance(above, ast.Try) and below in above.body:
                yield from _broad_handler(source, above)
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
                break
            below = above


def _broad_handler(source: Source, statement: ast.Try) -> Iterator[Mark]:
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


RULES = (
    Rule(
        code="HR201",
        title="answer not looked at",
        sentence="The data of an answer is used without looking whether the person accepted.",
        why="A person may decline or cancel. There is no data then, and the call crashes or does what was declined.",
        mend="`match` the answer, or take its data with `.or_stop()`, which ends the call politely otherwise.",
        wrong="""
async def rename(old: str) -> str:
    answer = await ask.text(f"What shall {old} be called?", max_length=80)
    return answer.data
""",
        right="""
async def rename(old: str) -> str:
    answer = await ask.text(f"What shall {old} be called?", max_length=80)
    return answer.or_stop()
""",
        check=_unseen,
    ),
    Rule(
        code="HR202",
        title="decline or cancel not handled",
        sentence="A decline, a cancel or a fallback has no branch of its own and none that takes the rest.",
        why="Accept, decline and cancel are three answers. A forgotten one falls through to whatever comes next.",
        mend="Add the missing case. A decline is final; after a cancel the model may ask again later.",
        wrong="""
async def archive(folder: str) -> str:
    match await ask.confirm(f"Archive {folder}?"):
        case Accepted():
            done = "Archived."
        case Declined():
            done = "Kept."
    return done
""",
        right="""
async def archive(folder: str) -> str:
    match await ask.confirm(f"Archive {folder}?"):
        case Accepted():
            return "Archived."
        case Declined():
            return "Kept: the person said no."
        case Cancelled():
            return "Nothing decided; ask again later."
""",
        check=_missing,
    ),
    Rule(
        code="HR203",
        title="answer thrown away",
        sentence="A question is asked and its answer not used, or it is never awaited.",
        why="Nobody should be asked for nothing. Whatever comes next happens although the person may have declined.",
        mend="Use the answer: `match` it, or end the call on anything but an accept with `.or_stop()`.",
        wrong="""
async def archive(folder: str) -> str:
    await ask.confirm(f"Archive {folder}?")
    return "Archived."
""",
        right="""
async def archive(folder: str) -> str:
    (await ask.confirm(f"Archive {folder}?")).or_stop()
    return "Archived."
""",
        check=_ignored,
    ),
    Rule(
        code="HR204",
        title="no answer swallowed",
        sentence="A broad `except` around a question hides that nobody answered.",
        why=(
            "`NotSupported`, `Expired`, `Withdrawn` and `Failed` are no decline, and `Stopped` is how a call ends "
            "politely. Caught together with everything else, they look like a bug or like consent."
        ),
        mend="Catch `NotSupported` or `NoAnswer` by name, and say what the model should do then.",
        wrong="""
async def archive(folder: str) -> str:
    try:
        (await ask.confirm(f"Archive {folder}?")).or_stop()
    except Exception:
        pass
    return "Archived."
""",
        right="""
async def archive(folder: str) -> str:
    try:
        (await ask.confirm(f"Archive {folder}?")).or_stop()
    except NotSupported:
        return "Nothing done: ask the person to archive it themselves."
    return "Archived."
""",
        check=_swallowed,
    ),
)
