"""A complete question for a tool, written for the server's author; or a refusal. As text, or as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from handraise.design.code import CONFIRM_TYPED_ABOVE, write_code
from handraise.design.decide import (
    SENDING,
    ProposalKind,
    QuestionPlan,
    Refusal,
    decide,
    harmful_word,
    title_of,
    words_for,
)
from handraise.design.functions import Argument, ToolDescription
from handraise.display import for_line
from handraise.forms import ANSWER, Choice, Choices, Field, Flag, Form, Integer, Option, Text, dump_form
from handraise.revisions import Revision


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


def propose(subject: ToolDescription) -> Proposal | Refusal:
    """The question that a tool should ask, or why it should not."""
    plan = decide(subject)
    if isinstance(plan, Refusal):
        return plan
    message = message_for(subject, plan)
    mode: Literal["form", "url"] = "url" if plan.kind == "page" else "form"
    return Proposal(
        subject.name,
        plan.kind,
        plan.reason,
        _TRIGGERS[plan.kind].format(about=plan.about.name if plan.about else ""),
        message,
        _form(plan),
        _branches(plan),
        _RATE,
        mode,
        _MODES[mode],
        write_code(subject, plan, message),
    )


def message_for(subject: ToolDescription, plan: QuestionPlan) -> str:
    """One sentence, with the live data in braces."""
    words = words_for(subject)
    about = plan.about.identifier if plan.about else ""
    match plan.kind:
        case "confirm" | "choose_and_confirm":
            given = ", ".join(_with_value(each) for each in subject.arguments if each is not plan.about)
            whole = f"{words.verb} {words.object}".strip()
            return f"{whole}: {given}?" if given else f"{whole}?"
        case "confirm_many" if harmful_word(subject) in SENDING:
            return f"{words.verb} {words.object or 'it'} to {{count}}, among them {{shown}}?"
        case "confirm_many":
            return f"{words.verb} {{count}} {words.many}, among them {{shown}}?"
        case "choose_one":
            return f"{words.verb} which {words.one}? {{len(found)}} found for {{{about}!r}}."
        case "missing_context":
            return _context_message(plan.about)
        case "page":
            return f"{title_of(plan.about) if plan.about else 'secret'}: entered on this server's own page."


def _with_value(argument: Argument) -> str:
    return f"{title_of(argument)} {{{argument.identifier}!r}}"


def _context_message(about: Argument | None) -> str:
    title = title_of(about) if about else "value"
    if title in ("timezone", "time zone", "tz"):
        return "In which time zone are you?"
    return f"Which {title}? There are {{len(found)}}."


def _form(plan: QuestionPlan) -> Form[Any] | None:
    """The fields that the person sees. Options that come with the call are shown by an example."""
    example = [Option("1", "what the person knows it by"), Option("2", "another one")]
    go_ahead = Flag(ANSWER, title="Go ahead?")
    fields: dict[ProposalKind, Field | None] = {
        "confirm": go_ahead,
        "confirm_many": go_ahead,
        "choose_and_confirm": Choice(ANSWER, example, title=title_of(plan.about) if plan.about else None),
        "choose_one": Choice(ANSWER, example),
        "missing_context": Choice(ANSWER, example),
        "page": None,
    }
    field = fields[plan.kind]
    if (
        plan.kind == "missing_context"
        and plan.about
        and title_of(plan.about) in ("timezone", "time zone", "tz")
    ):
        field = Text(ANSWER, title="Your answer", min_length=1, max_length=80)
    if plan.kind == "choose_and_confirm" and field is not None:
        return Form.by_hand(field, replace(go_ahead, name="confirm"))
    return None if field is None else Form.by_hand(field)


def _branches(plan: QuestionPlan) -> tuple[Branch, ...]:
    accept = {
        "confirm": "Does it, and says what was done.",
        "confirm_many": "Looks again, does it if nothing changed, and says how many.",
        "choose_one": "Looks whether it is still there, does it, and names it.",
        "choose_and_confirm": "Does it with what was chosen, unless they chose and did not confirm.",
        "missing_context": "Goes on with what was answered.",
        "page": "Goes on with what was entered on the page; the vault keeps it for next time.",
    }
    nobody = {
        "missing_context": "Tells the model to ask in the chat and to pass the argument.",
        "page": "Does nothing; says that this client cannot open pages.",
    }
    return (
        Branch("accept", accept[plan.kind]),
        Branch("decline", "Does nothing; tells the model not to ask again."),
        Branch("cancel", "Does nothing; tells the model that it may come back to it later."),
        Branch(
            "no answer",
            nobody.get(plan.kind, "Does nothing; Handraise tells the model that nothing was decided."),
        ),
    )


_TRIGGERS: dict[ProposalKind, str] = {
    "confirm": "Every call, after the arguments are checked and before anything is changed.",
    "confirm_many": (
        f"Every call that finds something. Above {CONFIRM_TYPED_ABOVE}, the person types the number."
    ),
    "choose_one": "Every call that finds something: the choice is the confirmation.",
    "choose_and_confirm": "Every call, once: the choice and the confirmation are one form.",
    "missing_context": "Only when `{about}` was not given.",
    "page": "Every call; a person is asked only while the vault has no `{about}` of theirs.",
}
_MODES = {
    "form": "Form: ordinary data that may pass through the client.",
    "url": "URL: a secret must not pass through the client or the model; it is entered on your own page.",
}
_RATE = (
    "One question a call. None in a loop. After a decline not again, until the person asks for it; "
    "after a cancel once more at most."
)


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
