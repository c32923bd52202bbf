"""A proposal or a refusal, for people and for programs."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import Any

from handraise.design.decide import Refusal
from handraise.design.proposal import Proposal
from handraise.display import for_line
from handraise.forms import Choice, Choices, Field, Flag, Integer, Text, dump_form
from handraise.revisions import Revision

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


def as_json(tool: str, result: Proposal | Refusal) -> str:
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
