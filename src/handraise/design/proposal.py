"""A complete question for a tool, with code to paste, written for the server's author; or a refusal. As text or JSON.

The code is one tool that asks, and stubs for what only its author can write: see `templates/`.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from string import Template
from typing import Any, Final, Literal

from handraise.design.decide import (
    SENDING,
    ProposalKind,
    QuestionPlan,
    Refusal,
    decide,
    harmful_word,
    is_typed,
    title_of,
    words_for,
)
from handraise.design.functions import Argument, ToolDescription, identifier
from handraise.display import for_line
from handraise.forms import (
    ANSWER,
    Choice,
    Choices,
    Field,
    Flag,
    Form,
    Integer,
    Number,
    Option,
    Text,
    dump_form,
)
from handraise.revisions import Revision

_TYPED_ABOVE: Final = 20
"""From more than this on, a number is typed instead of a yes."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The tool's next step after one outcome."""

    outcome: Literal["accept", "decline", "cancel", "no answer"]
    does: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question for a tool, ready to be built. `message` has placeholders for live data, as in an f-string."""

    tool: str
    kind: ProposalKind
    reason: str
    trigger: str
    message: str
    form: Form[Any] | None
    """None for a URL question."""
    branches: tuple[Branch, ...]
    rate: str
    mode: Literal["form", "url"]
    mode_reason: str
    code: str


@dataclass(frozen=True, slots=True)
class _KindWords:
    """When a kind of question is asked, and what follows an accept and a missing answer."""

    trigger: str
    accept: str
    no_answer: str = "Does nothing; Handraise tells the model that nothing was decided."


_KINDS: Final[Mapping[ProposalKind, _KindWords]] = {
    "confirm": _KindWords(
        "Every call, after the arguments are checked and before anything is changed.",
        "Does it, and says what was done.",
    ),
    "confirm_many": _KindWords(
        f"Every call that finds something. Above {_TYPED_ABOVE}, the person types the number.",
        "Looks again, does it if nothing changed, and says how many.",
    ),
    "choose_one": _KindWords(
        "Every call that finds something: the choice is the confirmation.",
        "Looks whether it is still there, does it, and names it.",
    ),
    "choose_and_confirm": _KindWords(
        "Every call, once: the choice and the confirmation are one form.",
        "Does it with what was chosen, unless they chose and did not confirm.",
    ),
    "missing_context": _KindWords(
        "Only when `{about}` was not given.",
        "Goes on with what was answered.",
        "Tells the model to ask in the chat and to pass the argument.",
    ),
    "page": _KindWords(
        "Every call; a person is asked only while the vault has no `{about}` of theirs.",
        "Goes on with what was entered on the page; the vault keeps it for next time.",
        "Does nothing; says that this client cannot open pages.",
    ),
}
_MODES: Final = {
    "form": "Form: ordinary data that may pass through the client.",
    "url": "URL: a secret must not pass through the client or the model; it is entered on your own page.",
}
_RATE: Final = (
    "One question a call. None in a loop. After a decline not again, until the person asks for it; "
    "after a cancel once more at most."
)


def propose(subject: ToolDescription) -> Proposal | Refusal:
    """The question that a tool should ask, or why it should not."""
    plan = decide(subject)
    if isinstance(plan, Refusal):
        return plan
    message, words = _message(subject, plan), _KINDS[plan.kind]
    mode: Literal["form", "url"] = "url" if plan.kind == "page" else "form"
    return Proposal(
        subject.name,
        plan.kind,
        plan.reason,
        words.trigger.format(about=plan.about.name if plan.about else ""),
        message,
        _form(plan),
        (
            Branch("accept", words.accept),
            Branch("decline", "Does nothing; tells the model not to ask again."),
            Branch("cancel", "Does nothing; tells the model that it may come back to it later."),
            Branch("no answer", words.no_answer),
        ),
        _RATE,
        mode,
        _MODES[mode],
        _code(subject, plan, message),
    )


def _message(subject: ToolDescription, plan: QuestionPlan) -> str:
    """One sentence, with the live data in braces."""
    words = words_for(subject)
    title = title_of(plan.about)
    match plan.kind:
        case "confirm" | "choose_and_confirm":
            given = ", ".join(
                f"{title_of(each)} {{{each.identifier}!r}}"
                for each in subject.arguments
                if each is not plan.about
            )
            whole = f"{words.verb} {words.object}".strip()
            return f"{whole}: {given}?" if given else f"{whole}?"
        case "confirm_many" if harmful_word(subject) in SENDING:
            return f"{words.verb} {words.object or 'it'} to {{count}}, among them {{shown}}?"
        case "confirm_many":
            return f"{words.verb} {{count}} {words.many}, among them {{shown}}?"
        case "choose_one":
            about = plan.about.identifier if plan.about else ""
            return f"{words.verb} which {words.one}? {{len(found)}} found for {{{about}!r}}."
        case "missing_context" if is_typed(plan.about):
            return "In which time zone are you?"
        case "missing_context":
            return f"Which {title}? There are {{len(found)}}."
        case "page":
            return f"{title}: entered on this server's own page."


def _form(plan: QuestionPlan) -> Form[Any] | None:
    """The fields that the person sees. Options that come with the call are shown by an example."""
    go_ahead = Flag(ANSWER, title="Go ahead?")
    example = Choice(ANSWER, [Option("1", "what the person knows it by"), Option("2", "another one")])
    match plan.kind:
        case "confirm" | "confirm_many":
            return Form.by_hand(go_ahead)
        case "choose_and_confirm":
            return Form.by_hand(
                replace(example, title=title_of(plan.about)), replace(go_ahead, name="confirm")
            )
        case "missing_context" if is_typed(plan.about):
            return Form.by_hand(Text(ANSWER, title="Your answer", min_length=1, max_length=80))
        case "choose_one" | "missing_context":
            return Form.by_hand(example)
        case "page":
            return None


def _code(subject: ToolDescription, plan: QuestionPlan, message: str) -> str:
    """A module that type-checks, passes `handraise lint`, and asks on every revision."""
    about = plan.about.identifier if plan.about else ""
    arguments = [each for each in subject.arguments if plan.kind != "page" or each is not plan.about]
    typed = {each.identifier: _type(each, plan) for each in arguments}
    others = {name: kind for name, kind in typed.items() if name != about}
    name = f"{plan.kind}_typed" if plan.kind == "missing_context" and is_typed(plan.about) else plan.kind
    template = files("handraise.design").joinpath("templates", f"{name}.txt").read_text(encoding="utf-8")
    return Template(template).substitute(
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
        title=title_of(plan.about),
        message="f" * ("{" in message) + f'"{message}"',
        typed_above=_TYPED_ABOVE,
    )


_PYTHON: Final[dict[str, type | tuple[type, ...]]] = {
    "bool": bool,
    "int": int,
    "float": (float, int),
    "str": str,
}


def _parameter(argument: Argument, plan: QuestionPlan) -> str:
    """An argument in the signature; one that may be missing has its default, or None."""
    plain = f"{argument.identifier}: {_plain_type(argument)}"
    if argument.required:
        return plain
    return f"{plain} = {argument.default!r}" if _has_default(argument, plan) else f"{plain} | None = None"


def _has_default(argument: Argument, plan: QuestionPlan) -> bool:
    """Whether an argument keeps its default. The one that the person is asked for starts as None."""
    return argument is not plan.about and isinstance(argument.default, _PYTHON.get(_plain_type(argument), ()))


def _type(argument: Argument, plan: QuestionPlan) -> str:
    """An argument's type once the person has answered."""
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


_WIDTH = 78
_LABEL = 10


def as_text(tool: str, result: Proposal | Refusal) -> str:
    """The advice, within eighty columns."""
    if isinstance(result, Refusal):
        rows = [("Why", result.reason), ("Instead", result.instead)]
        return f"{for_line(tool)}: do not ask\n\n{_rows(rows)}"
    mode = "a form" if result.mode == "form" else "a page (URL mode)"
    rows = [
        ("Why", result.reason),
        ("When", result.trigger),
        ("Message", result.message),
        ("Mode", result.mode_reason),
        *(("Field", _described(field)) for field in (result.form.fields if result.form else ())),
        ("Rate", result.rate),
    ]
    branches = [(branch.outcome, branch.does) for branch in result.branches]
    code = textwrap.indent(result.code, "    ")
    return (
        f"{for_line(tool)}: ask, with {mode}\n\n{_rows(rows)}\n\nAfter the answer\n\n{_rows(branches)}"
        f"\n\nCode to paste\n\n{code}"
    )


def dump_json(tool: str, result: Proposal | Refusal) -> str:
    """One JSON object; `ask` says which of the two it is."""
    if isinstance(result, Refusal):
        said: dict[str, Any] = {"why": result.why, "reason": result.reason, "instead": result.instead}
        return json.dumps({"tool": tool, "ask": False, **said})
    schema = None if result.form is None else dump_form(result.form, Revision.NOVEMBER_2025)
    return json.dumps(
        {
            "tool": tool,
            "ask": True,
            "kind": result.kind,
            "reason": result.reason,
            "trigger": result.trigger,
            "message": result.message,
            "mode": result.mode,
            "mode_reason": result.mode_reason,
            "requested_schema": schema,
            "branches": {branch.outcome: branch.does for branch in result.branches},
            "rate": result.rate,
            "code": result.code,
        }
    )


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        textwrap.fill(
            for_line(text),
            _WIDTH,
            initial_indent=f"  {label:{_LABEL}} ",
            subsequent_indent=" " * (_LABEL + 3),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for label, text in rows
    )


def _described(field: Field) -> str:
    """A field in a few words: its name, its type and its limits."""
    match field:
        case Flag():
            kind = "yes or no"
        case Choice() | Choices():
            kind = "one of the options that the call finds"
        case Text(min_length=low, max_length=high):
            kind = f"text of {low or 0} to {high or 'any number of'} characters"
        case Integer():
            kind = "a whole number"
        case _:
            kind = "a number"
    title = f' titled "{field.title}"' if field.title else ""
    return f"`{field.name}`{title}: {kind}, {'required' if field.required else 'optional'}."
