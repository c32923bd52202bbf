"""Change members in JSON with comments, and keep the rest of the text unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.errors import SetupError
from handraise.gateway.clients.entries import Members

_DEEPEST: Final = 100
_GAP: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position in the text."""

    value: Any
    start: int
    end: int
    members: Mapping[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: where its name starts, and its value."""

    start: int
    node: Node


def parse(text: str) -> Node:
    """Parse JSON, with or without comments and trailing commas. SetupError when it is invalid."""
    reading = _Reading(text)
    node = reading.value(reading.gap(1 if text.startswith("\ufeff") else 0), 0)
    if reading.gap(node.end) != len(text):
        raise reading.problem(node.end)
    return node


def rewrite(
    text: str, path: Sequence[str], changes: Mapping[str, Mapping[str, Members]], inner: str | None = None
) -> str:
    """Replace members of objects below `path`; nothing else changes. `inner`: see `KnownClient.inner`."""
    place = parse(text)
    for name in path:
        place = place.members[name].node
    entries = {name: place.members[name].node for name in changes}
    parts = {name: _inner(node, inner) for name, node in entries.items()}
    spans = [span for name, members in changes.items() for span in _spans(text, parts[name], members)]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _inner(entry: Node, inner: str | None) -> Node:
    found = None if inner is None else entry.members.get(inner)
    return entry if found is None or not isinstance(found.node.value, dict) else found.node


def _spans(text: str, entry: Node, members: Mapping[str, Members]) -> list[tuple[int, int, str]]:
    names, found = list(entry.members), []
    for name, new in members.items():
        member, at = entry.members[name], names.index(name)
        if new:
            written = [
                f"{json.dumps(key, ensure_ascii=False)}: {_written(text, member, value)}"
                for key, value in new
            ]
            found.append((member.start, member.node.end, f",{_between(text, entry)}".join(written)))
        elif at:
            found.append((entry.members[names[at - 1]].node.end, member.node.end, ""))
        else:
            after = entry.members[names[1]].start if len(names) > 1 else member.node.end
            found.append((member.start, after, ""))
    return found


def _between(text: str, entry: Node) -> str:
    """The space in front of an object's members: a line feed with indentation, or a space."""
    first = min(member.start for member in entry.members.values())
    gap = text[entry.start + 1 : first]
    return "\n" + gap.rpartition("\n")[2] if "\n" in gap and not gap.rpartition("\n")[2].strip() else " "


def _written(text: str, member: Member, value: Any) -> str:
    """A value in the layout of the old one: on one line, or one line for each item."""
    before = text[member.node.start : member.node.end]
    if not isinstance(value, list) or not value or "\n" not in before or before[:1] != "[":
        return json.dumps(value, ensure_ascii=False)
    inner = re.search(r"\n([ \t]*)\S", before)
    outer = before.rpartition("\n")[2].rstrip("]")
    lines = f",\n{inner[1] if inner else outer}".join(json.dumps(word, ensure_ascii=False) for word in value)
    return f"[\n{inner[1] if inner else outer}{lines}\n{outer}]"


class _Reading:
    """A parser that keeps positions."""

    def __init__(self, text: str) -> None:
        self._text = text

    def gap(self, at: int) -> int:
        """The position after white space and comments."""
        found = _GAP.match(self._text, at)
        return found.end() if found else at

    def problem(self, at: int) -> SetupError:
        return SetupError(f"line {self._text.count(chr(10), 0, at) + 1} is not JSON")

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.problem(at)
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case '"':
                return self._token(_STRING, at)
            case _:
                return self._token(_WORD, at)

    def _token(self, pattern: re.Pattern[str], at: int) -> Node:
        found = pattern.match(self._text, at)
        if found is None:
            raise self.problem(at)
        try:
            return Node(json.loads(found[0]), at, found.end())
        except ValueError:
            raise self.problem(at) from None

    def _object(self, start: int, depth: int) -> Node:
        members: dict[str, Member] = {}
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "}":
            name = self._token(_STRING, at)
            if name.value in members:
                raise SetupError(
                    f"{name.value!r} appears twice in one object, so it is unclear which one counts"
                )
            colon = self.gap(name.end)
            if self._text[colon : colon + 1] != ":":
                raise self.problem(colon)
            members[name.value] = Member(at, node := self.value(self.gap(colon + 1), depth + 1))
            at = self._next(node.end, "}")
        return Node({name: each.node.value for name, each in members.items()}, start, at + 1, members)

    def _array(self, start: int, depth: int) -> Node:
        values = []
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "]":
            node = self.value(at, depth + 1)
            values.append(node.value)
            at = self._next(node.end, "]")
        return Node(values, start, at + 1)

    def _next(self, at: int, end: str) -> int:
        """The position of the next item after a comma, or of `end`."""
        at = self.gap(at)
        if self._text[at : at + 1] == ",":
            return self.gap(at + 1)
        if self._text[at : at + 1] != end:
            raise self.problem(at)
        return at
