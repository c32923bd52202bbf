"""The texts of clients' files: JSON with comments, TOML, and YAML.

Only the changed members of JSON and TOML are written anew. YAML is never written: the person gets the lines to write.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handraise.errors import SetupError
from handraise.gateway.clients.table import KnownClient

Members = Sequence[tuple[str, Any]]
"""Members of an object, which replace one of it."""

_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING: Final = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SPACE: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()


def parse_jsonc(text: str) -> Any:
    """Parse JSON, with or without comments and trailing commas. SetupError when it is invalid."""
    try:
        return json.loads(_bare(text), object_pairs_hook=_members_once, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise SetupError(f"line {error.lineno} is not JSON") from None
    except (ValueError, RecursionError):
        raise SetupError("line 1 or a later one is not JSON") from None


def _bare(text: str) -> str:
    """JSON with blanks for comments and trailing commas, so that everything else keeps its place."""
    if text.startswith("\ufeff"):
        text = f" {text[1:]}"
    return _TRAILING.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])


def _members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise SetupError(f"{name!r} appears twice in one object, so it is unclear which one counts")
        members[name] = value
    return members


def _refuse_constant(name: str) -> None:
    raise json.JSONDecodeError(name, name, 0)


class _Member(NamedTuple):
    """Where a member of an object is in the text: its name, its value, and the end of that."""

    start: int
    value: int
    end: int


def _members_at(bare: str, at: int) -> dict[str, _Member]:
    """The members of the object at this place of a valid text."""
    found, at = {}, _after_space(bare, at + 1)
    while bare[at] != "}":
        name, end = _DECODER.raw_decode(bare, at)
        value = _after_space(bare, _after_space(bare, end) + 1)
        _, end = _DECODER.raw_decode(bare, value)
        found[name] = _Member(at, value, end)
        at = _after_space(bare, end)
        if bare[at] == ",":
            at = _after_space(bare, at + 1)
    return found


def _after_space(bare: str, at: int) -> int:
    found = _SPACE.match(bare, at)
    return at if found is None else found.end()


def rewrite_jsonc(
    text: str, path: Sequence[str], changes: Mapping[str, Mapping[str, Members]], inner: str | None = None
) -> str:
    """Replace members of objects below `path`; nothing else changes. `inner`: see `KnownClient.inner`."""
    bare = _bare(text)
    members = _members_at(bare, _after_space(bare, 0))
    for name in path:
        members = _members_at(bare, members[name].value)
    spans = []
    for name, new in changes.items():
        entry = members[name].value
        within = None if inner is None else _members_at(bare, entry).get(inner)
        if within is not None and bare[within.value] == "{":
            entry = within.value
        spans += list(_spans(text, entry, _members_at(bare, entry), new))
    for start, end, put in sorted(spans, reverse=True):
        text = text[:start] + put + text[end:]
    return text


def _spans(
    text: str, entry: int, members: Mapping[str, _Member], changes: Mapping[str, Members]
) -> Iterator[tuple[int, int, str]]:
    """What to replace in the text: from where, to where, by what."""
    names = list(members)
    for name, new in changes.items():
        member, at = members[name], names.index(name)
        if new:
            written = [f"{_json(key)}: {_written(text, member, value)}" for key, value in new]
            yield (
                member.start,
                member.end,
                f",{_between(text[entry + 1 : members[names[0]].start])}".join(written),
            )
        elif at:
            yield members[names[at - 1]].end, member.end, ""
        else:
            yield member.start, members[names[1]].start if len(names) > 1 else member.end, ""


def _between(gap: str) -> str:
    """The space between members, like that in front of the first: a line feed with indentation, or a space."""
    return "\n" + gap.rpartition("\n")[2] if "\n" in gap and not gap.rpartition("\n")[2].strip() else " "


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _written(text: str, member: _Member, value: Any) -> str:
    """A value in the layout of the old one: on one line, or one line for each item."""
    before = text[member.value : member.end]
    if not isinstance(value, list) or not value or "\n" not in before or before[:1] != "[":
        return _json(value)
    inner = re.search(r"\n([ \t]*)\S", before)
    outer = before.rpartition("\n")[2].rstrip("]")
    indent = inner[1] if inner else outer
    return f"[\n{indent}" + f",\n{indent}".join(map(_json, value)) + f"\n{outer}]"


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. SetupError when it is invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"this is not TOML: {error}") from None


def rewrite_toml(text: str, path: Sequence[str], changes: Mapping[str, Mapping[str, Members]]) -> str:
    """Replace members of tables below `path`; nothing else changes. Only tables with their own header are found."""
    written: list[str] = []
    table: tuple[str, ...] = ()
    for statement in _toml_statements(text):
        header = _toml_header(statement)
        if header is not None:
            table = header
        elif table and table[:-1] == tuple(path) and table[-1] in changes:
            statement = _toml_replaced(statement, changes[table[-1]])
        written.append(statement)
    return "".join(written)


def _toml_statements(text: str) -> Iterator[str]:
    """The text in pieces that are valid TOML: a header, a key with its value, a comment."""
    lines, start = text.splitlines(keepends=True), 0
    for end in range(1, len(lines) + 1):
        piece = "".join(lines[start:end])
        if _toml(piece) is not None:
            yield piece
            start = end
    yield "".join(lines[start:])


def _toml(piece: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return None


def _toml_header(statement: str) -> tuple[str, ...] | None:
    """The table that a statement opens; None when it opens none."""
    if not statement.lstrip().startswith("["):
        return None
    names: list[str] = []
    inside: Any = _toml(statement)
    while isinstance(inside, dict) and inside:
        name, inside = next(iter(inside.items()))
        names.append(name)
    return tuple(names)


def _toml_replaced(statement: str, members: Mapping[str, Members]) -> str:
    meant = _toml(statement) or {}
    if len(meant) != 1 or (name := next(iter(meant))) not in members:
        return statement
    lead = statement[: len(statement) - len(statement.lstrip())]
    rest = _behind(statement, meant)
    new = [f"{key} = {_json(value)}" for key, value in members[name]]
    return lead + f"\n{lead}".join(new) + rest if new else ""


def _behind(statement: str, meant: Mapping[str, Any]) -> str:
    """The rest after the value: a comment, and the end of the line."""
    for end in range(len(statement)):
        if statement[end : end + 1] in " \t#\r\n" and _toml(statement[:end]) == meant:
            return statement[end:]
    return ""


_LINE: Final = re.compile(
    r"(?P<indent> *)(?P<dash>- +)?(?:(?P<key>[\w.-]+|\"[^\"]*\"|'[^']*'):(?: +|$))?(?P<value>.*)"
)
_ODD: Final = ("&", "*", "!", "|", ">", "%", "@", "`", "{", "[", "?", "- ")
"""The first signs of values that are not plain text."""


class _NotPlain(Exception):
    """YAML that we do not parse."""


def read_yaml(client: KnownClient, text: str) -> dict[str, dict[str, Any]]:
    """The servers in a file with their members; the command's key becomes `command`.

    The servers are a table of tables, or a list of tables with a name. An entry that we cannot parse has no members.
    """
    lines, names = list(_below(text, client.servers[0][0])), {client.command_key: "command"}
    found: dict[str, dict[str, Any]] = {}
    for name, below in _items(lines) if lines and lines[0].lstrip().startswith("- ") else _blocks(lines):
        try:
            found[name] = {names.get(key, key): value for key, value in _yaml_members(below)}
        except _NotPlain:
            found[name] = {}
    return found


def yaml_lines(client: KnownClient, changes: Mapping[str, Members]) -> list[str]:
    """The new lines for the client's file. JSON values are valid YAML."""
    members = [member for new in changes.values() for member in new]
    names = {"command": client.command_key}
    return [f"{names.get(name, name)}: {_json(value)}" for name, value in members]


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


def _yaml_members(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
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
            yield key, _yaml_value(value)
        elif not value and all(line.lstrip().startswith("- ") for line in below):
            yield key, [_plain(line.lstrip()[2:].strip()) for line in below]
        elif key in ("cmd", "command", "args"):
            raise _NotPlain  # other members, such as an environment, are not needed
        at = end


def _yaml_value(text: str) -> Any:
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
