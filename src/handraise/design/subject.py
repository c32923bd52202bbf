"""What the designer knows about a tool: its name, its arguments, its hints, and how it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handraise.design.names import identifiers
from handraise.errors import WireError
from handraise.forms import Field, parse_form
from handraise.revisions import Revision


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `field` is how a form would ask for it; None when a form cannot."""

    name: str
    identifier: str
    """What code calls it."""
    required: bool
    field: Field | None
    many: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
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


def subject_of_schema(
    name: str, description: str, schema: Mapping[str, Any], hints: Mapping[str, Any] | None = None
) -> Subject:
    """A tool as a server lists it."""
    required = schema.get("required") or ()
    properties: Mapping[str, Any] = schema.get("properties") or {}
    names = identifiers(properties)
    arguments = tuple(
        _argument(each, names[each], rule, each in required) for each, rule in properties.items()
    )
    given = hints or {}
    return Subject(name, description, arguments, given.get("readOnlyHint"), given.get("destructiveHint"))


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
