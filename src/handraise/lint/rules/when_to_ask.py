"""Rules about when to ask: tools that should, questions over and over, questions not worth a person's attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from handraise.lint.questions import QuestionSite, all_question_sites, function_asks, our_method, written_form
from handraise.lint.source import Function, LintMark, LintRule, SourceFile, is_constant, written_text
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


_HARM_RULES = (
    LintRule(
        code="HR501",
        title="destructive tool that never asks",
        sentence="A tool deletes, sends or pays, and nobody is asked.",
        why="Then one mistake of the model does permanent damage. One line in a document that it reads can cause that.",
        fix="Confirm with the real names and counts (`ask.confirm`), or put a guard in front.",
        wrong="""
@server.tool()
async def delete_notes(folder: str) -> str:
    shutil.rmtree(folder)
    return "Deleted."
""",
        right="""
@server.tool()
async def delete_notes(folder: str) -> str:
    (await ask.confirm(f"Delete {count(folder)} notes of {folder}?")).or_stop("Kept them all.")
    shutil.rmtree(folder)
    return "Deleted."
""",
        check=_never_asks,
    ),
)


_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _in_a_loop(source: SourceFile) -> Iterator[LintMark]:
    for site in all_question_sites(source):
        if site.style != "request" and is_repeated(source, site.node):
            yield site.node, "The person is asked once for each turn of this loop."
    bodies = (
        source.function_of(site.node) for site in all_question_sites(source)
    )  # not what merely defines one
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


_LOOP_RULES = (
    LintRule(
        code="HR502",
        title="question in a loop",
        sentence="A person is asked once for each turn of a loop.",
        why="People stop reading after the second question. The policy limits how often a call may ask.",
        fix="Ask once about all of them: `ask.choose_many`, a form, or `ask.all`. To ask again, use `check=`.",
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


_WORTH_RULES = (
    LintRule(
        code="HR503",
        title="question for the chat",
        sentence="A form asks for something that the model could ask for in the chat.",
        why=(
            "A form interrupts. Use it for choices that the model must not make, or that need the server's data. "
            "For any other free text, use an argument or the chat."
        ),
        fix="Make it a required argument. Ask when there is a choice to offer or a check to make.",
        wrong="""
@server.tool()
async def add_note(title: str | None = None) -> str:
    if title is None:
        title = (await ask.text("What is the title?")).or_stop()
    return f"Added {title}."
""",
        right="""
@server.tool()
async def add_note(title: str) -> str:
    return f"Added {title}."
""",
        check=_prose,
    ),
    LintRule(
        code="HR504",
        title="question that an error would settle",
        sentence="A person is asked because an argument is not valid.",
        why="The model wrote the argument and can correct it. A clear error interrupts nobody.",
        fix="Raise an error that names the argument and the rule.",
        wrong="""
@server.tool()
async def remind(day: str) -> str:
    try:
        date.fromisoformat(day)
    except ValueError:
        day = (await ask.text(f"{day} is no date. Which day?")).or_stop()
    return f"Reminder on {day}."
""",
        right="""
@server.tool()
async def remind(day: str) -> str:
    try:
        date.fromisoformat(day)
    except ValueError:
        raise ToolError(f"day: {day!r} is no date like 2026-11-15") from None
    return f"Reminder on {day}."
""",
        check=_settled_later,
    ),
    LintRule(
        code="HR505",
        title="confirmation that says nothing",
        sentence="A confirmation does not name the action, its object or the number.",
        why="A person cannot consent to something they cannot see. They say yes without reading.",
        fix="Name the real things in the message: the names, the number, the account, the amount.",
        wrong="""
async def archive(folder: str) -> str:
    (await ask.confirm("Are you sure?")).or_stop()
    return "Archived."
""",
        right="""
async def archive(folder: str) -> str:
    (await ask.confirm(f"Archive {count(folder)} notes of {folder}?")).or_stop()
    return "Archived."
""",
        check=_says_nothing,
    ),
)

RULES = (*_HARM_RULES, *_LOOP_RULES, *_WORTH_RULES)
