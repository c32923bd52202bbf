"""The designer's view of a tool: its name, arguments, hints, use, and words for it."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from handraise.errors import WireError
from handraise.forms import Field, parse_form
from handraise.lint.tools import words_of
from handraise.revisions import Revision

_TAKEN: Final = frozenset(
    {
        "ask", "found", "answer", "count", "chosen", "given", "message", "shown", "look_up", "carry_out",
        "check", "secret", "form", "suggested", "str", "len", "list",
    }
)  # fmt: skip
"""The proposed code's own names."""


def identifier(name: str, otherwise: str = "value") -> str:
    """A name as an identifier of plain letters that is not taken."""
    made = "_".join(words_of(name)).lstrip("0123456789_") or otherwise
    return f"{made}_" if keyword.iskeyword(made) or made in _TAKEN else made


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Each name with an identifier of its own."""
    made: dict[str, str] = {}
    for name in names:
        wanted = identifier(name)
        number = sum(each.rstrip("0123456789") == wanted for each in made.values())
        made[name] = f"{wanted}{number + 1}" if number else wanted
    return made


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `field` is how a form would ask for it; None when a form cannot."""

    name: str
    identifier: str
    """The tool's name in code."""
    required: bool
    field: Field | None
    many: bool = False


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool. Hints are None where its author is silent."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    read_only: bool | None = None
    destructive: bool | None = None
    called_in_loop_by: str | None = None
    """A function of the same file that calls this one in a loop."""
    asks: bool = False
    """It asks already."""
    harms: str | None = None
    """A call in its body that destroys something or reaches other people."""


def tool_of_schema(
    name: str, description: str, schema: Mapping[str, Any], hints: Mapping[str, Any] | None = None
) -> ToolDescription:
    """A tool as a server lists it."""
    required = schema.get("required") or ()
    properties: Mapping[str, Any] = schema.get("properties") or {}
    names = identifiers(properties)
    arguments = tuple(
        _argument(each, names[each], rule, each in required) for each, rule in properties.items()
    )
    given = hints or {}
    return ToolDescription(
        name, description, arguments, given.get("readOnlyHint"), given.get("destructiveHint")
    )


def _argument(name: str, identifier: str, rule: object, required: bool) -> Argument:
    bare = _without_null(rule if isinstance(rule, dict) else {})
    return Argument(name, identifier, required, _field(name, bare), many=bare.get("type") == "array")


def _without_null(rule: dict[str, Any]) -> dict[str, Any]:
    """The schema of what an optional argument holds when it is there."""
    kinds = [kind for kind in rule.get("anyOf", ()) if kind != {"type": "null"}]
    bare = {**rule, **kinds[0]} if len(kinds) == 1 else rule
    left_out = ("anyOf", "default", "title", "examples")
    return {word: value for word, value in bare.items() if word not in left_out}


def _field(name: str, rule: dict[str, Any]) -> Field | None:
    try:
        form = parse_form({"type": "object", "properties": {name: rule}}, Revision.NOVEMBER_2025)
    except WireError:
        return None
    return form.fields[0]


"""Prefixes of tool names that name a place, not an object."""
