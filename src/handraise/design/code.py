"""The code to paste: one tool that asks, and stubs for what only its author can write."""

from __future__ import annotations

from typing import Final

from handraise.design.decide import QuestionPlan, title_of, words_for
from handraise.design.functions import Argument, ToolDescription, identifier
from handraise.forms import Flag, Integer, Number

CONFIRM_TYPED_ABOVE = 20
"""From more than this on, a number is typed instead of a yes."""

_OTHERWISE = '''\
case Declined():
    return "The person said no. Nothing was changed; do not ask again."
case Cancelled():
    return "Nothing was decided or changed. Come back to it later if they wish."'''

_CONFIRM = '''\
from handraise import Accepted, Cancelled, Declined, ask


async def {name}({parameters}) -> str:
    """{description}"""
    message = {message}
    match await ask.confirm(message, if_declined="Nothing is changed."):
        case Accepted():
            return carry_out({arguments})
        {otherwise}


def carry_out({required}) -> str:
    """Yours: do it, and say what was done."""
    raise NotImplementedError
'''

_MANY = '''\
from handraise import Accepted, Answer, Cancelled, Declined, ask


async def {name}({parameters}) -> str:
    """{description}"""
    found = look_up({arguments})
    if not found:
        return "There is nothing to do. Nothing was changed."
    count, shown = len(found), ", ".join(list(found.values())[:3])
    message = {message}
    answer: Answer[object]
    if count > {typed_above}:
        answer = await ask.text(
            f"{{message}} Type {{count}} to go on.",
            check=lambda typed: None if typed == str(count) else f"Type {{count}}, or decline.",
        )
    else:
        answer = await ask.confirm(message, if_declined="Nothing is changed.")
    match answer:
        case Accepted() if look_up({arguments}) != found:
            return "It changed while the person thought. Nothing was done; call again."
        case Accepted():
            return carry_out(found{others})
        {otherwise}


def look_up({required}) -> dict[str, str]:
    """Yours: everything that this call is about, from id to what the person knows it by."""
    raise NotImplementedError


def carry_out(found: dict[str, str]{other_parameters}) -> str:
    """Yours: do it, and say to how many."""
    raise NotImplementedError
'''

_CHOOSE = '''\
from handraise import Accepted, Cancelled, Declined, ask


async def {name}({parameters}) -> str:
    """{description}"""
    found = look_up({arguments})
    if not found:
        return f"Nothing found for {{{about}!r}}. Nothing was changed."
    message = {message}
    match await ask.choose(message, found, if_declined="Nothing is changed."):
        case Accepted(chosen) if chosen not in look_up({arguments}):
            return "It is gone meanwhile. Nothing was changed."
        case Accepted(chosen):
            return carry_out(chosen{others})
        {otherwise}


def look_up({required}) -> dict[str, str]:
    """Yours: the possible meanings of the call, from id to the name that the person knows."""
    raise NotImplementedError


def carry_out(chosen: str{other_parameters}) -> str:
    """Yours: do it, and say what was done."""
    raise NotImplementedError
'''

_CHOOSE_AND_CONFIRM = '''\
from handraise import Accepted, Cancelled, Declined, Form, ask
from handraise.forms import UNSET, Choice, Flag


async def {name}({parameters}) -> str:
    """{description}"""
    found = look_up()
    suggested = {about} if {about} in found else UNSET
    form = Form.from_fields(
        answer=Choice("answer", found, title="{title}", default=suggested),
        confirm=Flag("confirm", title="Go ahead?"),
    )
    message = {message}
    match await ask(message, form, if_declined="Nothing is changed."):
        case Accepted({{"answer": chosen, "confirm": True}}):
            return carry_out({with_chosen})
        case Accepted() | Declined():
            return "The person said no. Nothing was changed; do not ask again."
        case Cancelled():
            return "Nothing was decided or changed. Come back to it later if they wish."


{look_up_stub}


def carry_out({required}) -> str:
    """Yours: do it, and say what was done."""
    raise NotImplementedError
'''

_CONTEXT = '''\
from handraise import Accepted, Cancelled, Declined, NotSupported, ask


async def {name}({parameters}) -> str:
    """{description}"""
    if {about} is None:
        {asking}
        except NotSupported:
            return "Ask the person in the chat, and call again with `{about}`."
        match answer:
            case Accepted(given):
                {about} = given
            {inner_otherwise}
    return carry_out({arguments})


{stub}


def carry_out({required}) -> str:
    """Yours: go on with what is known."""
    raise NotImplementedError
'''

_ASK_TEXT = """\
try:
    answer = await ask.text({message}, max_length=80, check=check)"""

_ASK_CHOICE = """\
found = look_up()
try:
    answer = await ask.choose({message}, found)"""

_CHECK_STUB = '''\
def check(typed: str) -> str | None:
    """Yours: the problem in one sentence; None if there is none."""
    raise NotImplementedError'''

_LOOK_UP_STUB = '''\
def look_up() -> dict[str, str]:
    """Yours: the choices, from id to the name that the person knows."""
    raise NotImplementedError'''

_PAGE = '''\
from handraise import Accepted, Cancelled, Declined, NotSupported, ask
from handraise.vault import Secret


async def {name}({parameters}) -> str:
    """{description}"""
    try:
        answer = await ask.secret("{title}", service="{name}")
    except NotSupported:
        return "This client cannot open pages. Nothing was changed."
    match answer:
        case Accepted(secret):
            return carry_out(secret{others})
        {otherwise}


def carry_out(secret: Secret{other_parameters}) -> str:
    """Yours: go on with it, and keep it out of what you return."""
    raise NotImplementedError
'''

_TEMPLATES = {
    "confirm": _CONFIRM,
    "confirm_many": _MANY,
    "choose_one": _CHOOSE,
    "choose_and_confirm": _CHOOSE_AND_CONFIRM,
    "missing_context": _CONTEXT,
    "page": _PAGE,
}


_PYTHON: Final[dict[str, type | tuple[type, ...]]] = {
    "bool": bool,
    "int": int,
    "float": (float, int),
    "str": str,
}


def write_code(subject: ToolDescription, plan: QuestionPlan, message: str) -> str:
    """A module that type-checks, passes `handraise lint`, and asks on every revision."""
    about = plan.about.identifier if plan.about else ""
    arguments = [each for each in subject.arguments if plan.kind != "page" or each is not plan.about]
    given = "f" * ("{" in message) + f'"{message}"'
    asking, stub = (_ASK_CHOICE, _LOOK_UP_STUB) if "{" in message else (_ASK_TEXT, _CHECK_STUB)
    typed = {each.identifier: _type(each, plan) for each in arguments}
    others = {name: kind for name, kind in typed.items() if name != about}
    return _TEMPLATES[plan.kind].format(
        name=identifier(subject.name, "tool"),
        description=_docstring(subject),
        parameters=", ".join(
            _parameter(each, plan) for each in sorted(arguments, key=lambda each: not each.required)
        ),
        required=", ".join(f"{name}: {kind}" for name, kind in typed.items()),
        arguments=", ".join(typed),
        with_chosen=", ".join("chosen" if each == about else each for each in typed),
        others="".join(f", {name}" for name in others),
        other_parameters="".join(f", {name}: {kind}" for name, kind in others.items()),
        about=about,
        title=title_of(plan.about) if plan.about else "",
        message=given,
        typed_above=CONFIRM_TYPED_ABOVE,
        otherwise=_indented(_OTHERWISE, 8),
        inner_otherwise=_indented(_OTHERWISE, 12),
        asking=_indented(asking.format(message=given), 8),
        stub=stub,
        look_up_stub=_LOOK_UP_STUB,
    )


def _parameter(argument: Argument, plan: QuestionPlan) -> str:
    """An argument in the signature; one that may be missing has its default, or None."""
    plain = f"{argument.identifier}: {_plain_type(argument)}"
    if argument.required:
        return plain
    return f"{plain} = {argument.default!r}" if _has_default(argument, plan) else f"{plain} | None = None"


def _has_default(argument: Argument, plan: QuestionPlan) -> bool:
    """Whether it keeps its default; the one that is asked about is None until it is known."""
    return argument is not plan.about and isinstance(argument.default, _PYTHON.get(_plain_type(argument), ()))


def _type(argument: Argument, plan: QuestionPlan) -> str:
    """An argument's type where everything that was asked for is known."""
    asked = plan.kind in ("missing_context", "choose_and_confirm") and argument is plan.about
    known = argument.required or asked or _has_default(argument, plan)
    return _plain_type(argument) if known else f"{_plain_type(argument)} | None"


def _plain_type(argument: Argument) -> str:
    match argument.field:
        case Number():
            return "float"
        case Integer():
            return "int"
        case Flag():
            return "bool"
        case None if not argument.many:
            return "dict[str, object]"
        case _:
            return "list[str]" if argument.many else "str"


def _docstring(subject: ToolDescription) -> str:
    """The description in one line that cannot leave its quotes, or one made from the name."""
    kept = "".join(each for each in subject.description if each.isprintable() and each not in '"\\{}')
    words = words_for(subject)
    return kept.strip()[:100].strip() or f"{words.verb} {words.many}."


def _indented(text: str, columns: int) -> str:
    return text.replace("\n", "\n" + " " * columns)
