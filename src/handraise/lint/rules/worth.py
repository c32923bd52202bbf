"""Rules about questions that are not worth a person's attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from handraise.lint.finding import Mark, Rule
from handraise.lint.sites import Site, sites
from handraise.lint.source import Function, Source
from handraise.lint.texts import is_constant, written_text
from handraise.lint.written_forms import written_form

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


def _is_free(source: Source, site: Site) -> bool:
    """Whether a question takes any words, or any number: nothing that only the server could offer or check."""
    form = written_form(source, site)
    if form is None or not form.fields:
        return False
    return all(each.kind in ("text", "number") and not each.constrained for each in form.fields)


def _prose(source: Source) -> Iterator[Mark]:
    for site in sites(source):
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


def _settled_later(source: Source) -> Iterator[Mark]:
    for site in sites(source):
        if _is_free(source, site) and _is_in_validation(source, site):
            yield site.node, "An error that says what is wrong lets the model mend its own argument."


def _is_in_validation(source: Source, site: Site) -> bool:
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


def _tests_an_argument(source: Source, site: Site, test: ast.expr) -> bool:
    """Whether a test looks at a parameter itself, or at one that was only trimmed: `name = name.strip()`."""
    function = source.function_of(site.node)
    given = _parameters(function) if function else set()
    names = (node for node in ast.walk(test) if isinstance(node, ast.Name) and _is_tested(source, node))
    return any(node.id in given or _trimmed(source, node) in given for node in names)


def _is_tested(source: Source, name: ast.Name) -> bool:
    """Not what is handed to some function, whose result is then tested."""
    parent = source.parents.get(name)
    return not isinstance(parent, ast.Call) or _CHECKS.fullmatch(source.last_name(parent.func)) is not None


def _trimmed(source: Source, name: ast.Name) -> str | None:
    match source.value_of(name):
        case ast.Call(func=ast.Attribute(value=ast.Name(id=original))):
            return original
        case _:
            return None


def _fills_parameter(source: Source, site: Site) -> str | None:
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


def _says_nothing(source: Source) -> Iterator[Mark]:
    for site in sites(source):
        form = written_form(source, site)
        only_yes_or_no = form is not None and all(each.kind == "flag" for each in form.fields)
        text = written_text(source, site.message) if is_constant(source, site.message) else None
        if only_yes_or_no and text is not None and _VAGUE.search(text):
            yield site.message or site.node, "This does not say what will happen, to what, or to how many."


RULES = (
    Rule(
        code="HR503",
        title="question for the chat",
        sentence="A person is asked in a form for what the model could ask in prose.",
        why=(
            "A form interrupts. It is for what the model must not decide, or what only the server knows. Free text "
            "with no live data in the question is what arguments and the chat are for."
        ),
        mend="Make it a required argument. Ask when there is a choice to offer or a check to make.",
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
    Rule(
        code="HR504",
        title="question that validation settles",
        sentence="A person is asked because an argument is not valid.",
        why="The model made the argument and can mend it. An error that says what is wrong costs nobody's attention.",
        mend="Raise an error that names the argument and the rule.",
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
    Rule(
        code="HR505",
        title="confirmation that says nothing",
        sentence="A confirmation does not say what will happen, to what, or to how many.",
        why="Nobody can consent to what they cannot see. People answer such questions with yes, whatever happens next.",
        mend="Put the real things into the message: the names, the number, the account, the amount.",
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
