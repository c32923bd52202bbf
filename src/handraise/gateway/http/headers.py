"""The headers of streamable HTTP: what a request repeats of its body, on each revision."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from handraise.gateway.messages import Message
from handraise.gateway.methods import NAMED
from handraise.gateway.peers import VERSION_KEY

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
        meta = message.params.get("_meta") if message.method is not None else None
        if isinstance(meta, dict) and VERSION_KEY in meta:
            return headers + _modern(message, str(meta[VERSION_KEY]), mirrored)
    if version is not None:
        headers.append((b"mcp-protocol-version", version.encode()))
    return headers


def _modern(message: Message, version: str, mirrored: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    """On 2026-07-28 method and name stand in the headers too, so that others can route by them."""
    method = message.method or ""
    headers = [(b"mcp-protocol-version", version.encode()), (b"mcp-method", encode(method))]
    name = message.params.get(NAMED.get(method, ""))
    if isinstance(name, str):
        headers.append((b"mcp-name", encode(name)))
    declared = mirrored.get(name) if method == "tools/call" and isinstance(name, str) else None
    arguments = message.params.get("arguments")
    if declared and isinstance(arguments, dict):
        from mcp.shared.inbound import mcp_param_headers

        headers += [
            (key.encode(), value.encode()) for key, value in mcp_param_headers(declared, arguments).items()
        ]
    return headers


def mirrored_headers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Which arguments of which tools have to stand in headers as well, from a list of tools."""
    from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

    tools = result.get("tools")
    return {
        str(tool.get("name")): x_mcp_header_map(tool.get("inputSchema"))
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict) and find_invalid_x_mcp_header(tool.get("inputSchema")) is None
    }


def mismatch(message: Message, headers: Mapping[bytes, str]) -> str | None:
    """Which header of a request of 2026-07-28 does not repeat its body; None when all do."""
    method = message.method or ""
    expected: dict[bytes, object] = {
        b"mcp-protocol-version": message.params["_meta"][VERSION_KEY],
        b"mcp-method": method,
    }
    if method in NAMED:
        expected[b"mcp-name"] = message.params.get(NAMED[method])
    for name, value in expected.items():
        if not isinstance(value, str) or headers.get(name) not in (value, encode(value).decode()):
            return name.decode()
    return None


def encode(value: str) -> bytes:
    """A value that survives in a header: as it is, or wrapped."""
    if _PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value):
        return value.encode()
    return b"=?base64?" + base64.b64encode(value.encode()) + b"?="
