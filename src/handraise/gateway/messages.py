"""JSON-RPC messages as they pass: the bytes that came, and a look at what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Id: TypeAlias = int | str | float

LONG: Final = 32 * 1024
"""From this length on a plain response is not parsed, only looked at."""

URL_REQUIRED: Final = -32042

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest message that passes: whoever never ends a message must not take all memory."""

_PLAIN = re.compile(rb'\{"jsonrpc": ?"2\.0", ?"id": ?(-?\d{1,15}|"[\w.:-]{1,64}"), ?"result": ?\{')
_TELLING = (b"input_required", b'"method"', b"\\u00", b"\\/")
"""What a long response must not hold to be passed on unparsed. Escapes could hide the other words."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


class Message:
    """One message. `raw` is what goes on when nobody changes it."""

    __slots__ = (
        "_body",
        "about",
        "among",
        "bridged",
        "id",
        "method",
        "opens_links",
        "raw",
        "round",
        "source",
        "status",
    )

    def __init__(self, raw: bytes, body: dict[str, Any] | None, *, id: Id | None = None) -> None:
        self.raw = raw
        self._body = body
        self.id: Id | None = id if body is None else _id(body.get("id"))
        method = None if body is None else body.get("method")
        self.method: str | None = method if isinstance(method, str) else None
        self.about: Id | None = None
        """The request to which a server's message belongs, where the transport says so."""
        self.among: tuple[Id, ...] = ()
        """The requests to one of which it belongs, where nobody can tell to which."""
        self.source: Any = None
        """Which server it came from."""
        self.round: dict[str, Any] | None = None
        """The round of 2026-07-28 that a question comes from, where it was made a request of."""
        self.bridged = False
        """A round that we made of a live call: its state is good in this process only."""
        self.status: int | None = None
        """The HTTP status with which it came."""
        self.opens_links = False
        """Whether its client may be asked to open a link while it waits for the answer."""

    @property
    def body(self) -> dict[str, Any]:
        """The parsed message."""
        if self._body is None:
            self._body = json.loads(self.raw.decode("utf-8", "replace"))
        return self._body

    @property
    def params(self) -> dict[str, Any]:
        """The params, or an empty object."""
        params = self.body.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not None

    @property
    def is_notice(self) -> bool:
        return self.method is not None and self.id is None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of a response that has one."""
        result = self.body.get("result")
        return result if isinstance(result, dict) else None

    @property
    def asks(self) -> bool:
        """Whether it is a result that asks for input instead of ending the call."""
        result = None if self._body is None else self._body.get("result")
        return isinstance(result, dict) and result.get("resultType") == "input_required"

    @property
    def requires_links(self) -> bool:
        """Whether it is a response that says that something has to be done in a browser first."""
        error = None if self._body is None else self._body.get("error")
        return isinstance(error, dict) and error.get("code") == URL_REQUIRED

    @property
    def failed(self) -> bool:
        """Whether it is a response that says that something went wrong."""
        return self.result is None or self.result.get("isError") is True

    def with_(self, **changes: Any) -> Message:
        """The same message with other members."""
        changed = made({**self.body, **changes})
        changed.about, changed.source = self.about, self.source
        changed.round, changed.status, changed.among = self.round, self.status, self.among
        changed.bridged, changed.opens_links = self.bridged, self.opens_links
        return changed


def known(id: Id | None) -> Id:
    """An id to look something up by; there is nothing for none. 0 is an id like any other."""
    return "" if id is None else id


def made(body: dict[str, Any]) -> Message:
    """A message of our own."""
    return Message(_encode(body).encode("utf-8", "surrogatepass"), body)


def request(id: Id, method: str, params: Mapping[str, Any] | None = None) -> Message:
    """A request of our own."""
    return made({"jsonrpc": "2.0", "id": id, "method": method, "params": dict(params or {})})


def notice(method: str, params: Mapping[str, Any]) -> Message:
    """A notification of our own."""
    return made({"jsonrpc": "2.0", "method": method, "params": dict(params)})


def response(id: Id | None, result: Mapping[str, Any]) -> Message:
    """A result of our own."""
    return made({"jsonrpc": "2.0", "id": id, "result": dict(result)})


def fault(id: Id | None, code: int, message: str, data: Any = None) -> Message:
    """An error of our own."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return made({"jsonrpc": "2.0", "id": id, "error": error})


def nowhere(id: Id | None) -> Message:
    """What is told about a request when no server has what it is about."""
    return fault(id, -32602, "None of the servers has this.")


def read(raw: bytes) -> list[Message]:
    """The messages in some bytes: one, or those of a batch; none when they cannot be read as JSON-RPC.

    Bytes that are no UTF-8 are read as clients read them, with replacements: what a client understands must not
    pass unread.
    """
    if len(raw) > LONG and (plain := _PLAIN.match(raw)) and not any(word in raw for word in _TELLING):
        return [Message(raw, None, id=json.loads(plain[1]))]
    try:
        body = json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    if isinstance(body, dict):
        return [Message(raw, body)]
    return [made(each) for each in body if isinstance(each, dict)] if isinstance(body, list) else []


def too_long(start: bytes) -> Message:
    """What is told instead of a message that is too long: to its request, where the message begins with the id."""
    plain = _PLAIN.match(start)
    text = f"The server's answer is longer than {LONGEST // 2**20} MiB and was not passed on."
    return fault(json.loads(plain[1]) if plain else None, -32000, text)


def _id(raw: object) -> Id | None:
    return raw if isinstance(raw, int | str | float) and not isinstance(raw, bool) else None
