"""The headers of streamable HTTP, which repeat parts of the body."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from handraise.gateway.messages import NAMED, Message
from handraise.gateway.peers import VERSION_KEY, arguments_of

_PLAIN: Final = re.compile(r"(?! )[\x20-\x7e]*(?<! )")
_WRAPPED: Final = re.compile(r"=\?base64\?.*\?=")


def headers_for(
    message: Message | None,
    own: Mapping[str, str],
    session: str | None,
    version: str | None,
    mirrored: Mapping[str, Any],
) -> list[tuple[bytes, bytes]]:
    """The headers of a request: the user's own, the session's, and the message's."""
    headers = [(name.encode(), value.encode()) for name, value in own.items()]
    if session is not None:
        headers.append((b"mcp-session-id", session.encode()))
    if message is not None:
        headers += [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
        ]
        if VERSION_KEY in message.meta:
            return headers + _modern(message, str(message.meta[VERSION_KEY]), mirrored)
    if version is not None:
        headers.append((b"mcp-protocol-version", version.encode()))
    return headers


def _modern(message: Message, version: str, mirrored: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """On 2026-07-28 the headers repeat method and name, so that proxies can route by them."""
    method = message.method or ""
    headers = [(b"mcp-protocol-version", version.encode()), (b"mcp-method", encode(method))]
    name = message.params.get(NAMED.get(method, ""))
    if isinstance(name, str):
        headers.append((b"mcp-name", encode(name)))
    declared = mirrored.get(name) if method == "tools/call" and isinstance(name, str) else None
    if declared:
        headers += argument_headers(declared, arguments_of(message))
    return headers


def mirrored_headers(result: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of each tool that headers must repeat, from a list of tools."""
    tools = result.get("tools")
    return {
        str(tool.get("name")): marked
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict) and (marked := marked_arguments(tool.get("inputSchema"))) is not None
    }


def mismatch(message: Message, headers: Mapping[bytes, str]) -> str | None:
    """The header of a 2026-07-28 request that contradicts its body; None when all agree."""
    method = message.method or ""
    expected: dict[bytes, object] = {
        b"mcp-protocol-version": message.meta[VERSION_KEY],
        b"mcp-method": method,
    }
    if method in NAMED:
        expected[b"mcp-name"] = message.params.get(NAMED[method])
    for name, value in expected.items():
        if not isinstance(value, str) or headers.get(name) not in (value, encode(value).decode()):
            return name.decode()
    return None


def encode(value: str) -> bytes:
    """A value for a header: plain ASCII as it is, else as base64."""
    if _PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value):
        return value.encode()
    return b"=?base64?" + base64.b64encode(value.encode()) + b"?="


Marked: TypeAlias = Mapping[tuple[str, ...], str]
"""The path of each marked argument, and the last part of its header's name."""

_MARK: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TYPES: Final = ("string", "integer", "boolean")
_NO_SCHEMAS: Final = frozenset({"default", "const", "enum", "examples", "required", "type"})
_MAPS: Final = frozenset({"patternProperties", "$defs", "definitions", "dependentSchemas"})


def marked_arguments(schema: Any) -> Marked | None:
    """The arguments that a tool's schema marks for headers; None when a mark breaks the rules.

    A mark is an HTTP token, used once, on a string, integer or boolean that is reached through `properties` only.
    """
    found: dict[tuple[str, ...], str] = {}
    used: set[str] = set()
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, Mapping):
            continue
        if (mark := part.get(_MARK)) is not None:
            if not path or not isinstance(mark, str) or not _TOKEN.fullmatch(mark):
                return None
            if part.get("type") not in _TYPES or mark.lower() in used:
                return None
            used.add(mark.lower())
            found[path] = mark
        for keyword, value in part.items():
            if keyword in _NO_SCHEMAS:
                continue
            if keyword == "properties" and isinstance(value, Mapping):
                waiting += [
                    (None if path is None else (*path, str(name)), sub) for name, sub in value.items()
                ]
            elif keyword in _MAPS and isinstance(value, Mapping):
                waiting += [(None, sub) for sub in value.values()]
            else:
                waiting += [(None, sub) for sub in (value if isinstance(value, list) else [value])]
    return found


def argument_headers(marked: Marked, arguments: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """The headers for marked arguments. An absent or nested argument has none."""
    headers = []
    for path, mark in marked.items():
        value: Any = arguments
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str | int | float):
            headers.append((f"Mcp-Param-{mark}".encode(), encode(str(value))))
    return headers
