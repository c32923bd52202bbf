"""Read simple YAML of clients. It is never written: the person gets the lines to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from handraise.gateway.clients.entries import Change
from handraise.gateway.clients.table import KnownClient

_LINE: Final = re.compile(
    r"(?P<indent> *)(?P<dash>- +)?(?:(?P<key>[\w.-]+|\"[^\"]*\"|'[^']*'):(?: +|$))?(?P<value>.*)"
)
_ODD: Final = ("&", "*", "!", "|", ">", "%", "@", "`", "{", "[", "?", "- ")
"""The first signs of values that are not plain text."""


class _NotPlain(Exception):
    """YAML that we do not parse."""


def read_servers(client: KnownClient, text: str) -> dict[str, dict[str, Any]]:
    """The servers in a file with their members; the command's key becomes `command`.

    The servers are a table of tables, or a list of tables with a name. An entry that we cannot parse has no members.
    """
    lines, names = list(_below(text, client.servers[0][0])), {client.command_key: "command"}
    found: dict[str, dict[str, Any]] = {}
    for name, below in _items(lines) if lines and lines[0].lstrip().startswith("- ") else _blocks(lines):
        try:
            found[name] = {names.get(key, key): value for key, value in _members(below)}
        except _NotPlain:
            found[name] = {}
    return found


def lines_to_write(client: KnownClient, change: Change) -> list[str]:
    """The new lines for the client's file. JSON values are valid YAML."""
    members = [member for new in change.members.values() for member in new]
    names = {"command": client.command_key}
    return [f"{names.get(name, name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in members]


def _items(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each table in a list, by its name."""
    step = _indent(lines[0])
    starts = [at for at, line in enumerate(lines) if line.startswith(" " * step + "- ")]
    for at, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        table = [lines[at].replace("- ", "  ", 1), *lines[at + 1 : end]]
        named = [found for line in table if (found := _LINE.fullmatch(line)) and found["key"] == "name"]
        try:
            name = _plain(named[0]["value"]) if named else ""
        except _NotPlain:
            continue
        if name:
            yield name, table


def _below(text: str, key: str) -> Iterator[str]:
    """The lines of a top-level table, without comments and empty lines."""
    inside = False
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith((" ", "-")):
            inside = line.rstrip() == f"{key}:"
        elif inside:
            yield line.rstrip()


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each table one step further in, by its name."""
    if not lines:
        return
    step = _indent(lines[0])
    starts = [at for at, line in enumerate(lines) if _indent(line) == step]
    for at, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        found = _LINE.fullmatch(lines[at])
        if found is not None and found["key"] and not found["dash"] and not found["value"]:
            yield _plain(found["key"]), list(lines[at + 1 : end])


def _members(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    step, at = _indent(lines[0]) if lines else 0, 0
    while at < len(lines):
        found = _LINE.fullmatch(lines[at])
        if found is None or not found["key"] or found["dash"] or _indent(lines[at]) != step:
            raise _NotPlain
        end = at + 1
        while end < len(lines) and (_indent(lines[end]) > step or lines[end].startswith(" " * step + "- ")):
            end += 1
        key, value, below = found["key"], found["value"], lines[at + 1 : end]
        if not below:
            yield key, _value(value)
        elif not value and all(line.lstrip().startswith("- ") for line in below):
            yield key, [_plain(line.lstrip()[2:].strip()) for line in below]
        elif key in ("cmd", "command", "args"):
            raise _NotPlain  # other members, such as an environment, are not needed
        at = end


def _value(text: str) -> Any:
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            raise _NotPlain from None
    return {} if text in ("{}", "") else _plain(text)


def _plain(text: str) -> str:
    """One string, quoted or not."""
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            raise _NotPlain from None
    if text.startswith("'"):
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise _NotPlain
        return text[1:-1].replace("''", "'")
    if text.startswith(_ODD) or " #" in text or ": " in text:
        raise _NotPlain
    return text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
