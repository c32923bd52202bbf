"""The methods, error codes, errors and notices of the protocol that have to do with asking."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from handraise.errors import Mode, WireError

ELICIT: Final = "elicitation/create"
LIST_ROOTS: Final = "roots/list"
SAMPLE: Final = "sampling/createMessage"
COMPLETE: Final = "notifications/elicitation/complete"

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
"""Also: a mode that the client did not declare (2025-06-18, 2025-11-25)."""
MISSING_CAPABILITY: Final = -32021
"""The client did not declare what the request needs (2026-07-28)."""
URL_REQUIRED: Final = -32042
"""Something has to be done in a browser first (2025-11-25)."""

RESUMES: Final = "handraise/resumes"
"""The experimental capability of a server whose calls outlive its process: a gateway may send an answer later."""


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """The error object of a JSON-RPC response."""

    code: int
    message: str
    data: Any = None


def undeclared_mode(mode: Mode) -> ErrorObject:
    """A client's answer to a mode that it did not declare (2025-06-18 and 2025-11-25)."""
    return ErrorObject(
        INVALID_PARAMS, f"This client did not declare {'URL' if mode == 'url' else mode} mode."
    )


def dump_error(fault: ErrorObject) -> dict[str, Any]:
    """The error object."""
    dumped: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        dumped["data"] = fault.data
    return dumped


def parse_error(raw: object) -> ErrorObject:
    """The error in a response; WireError when it is none."""
    code = raw.get("code") if isinstance(raw, dict) else None
    message = raw.get("message") if isinstance(raw, dict) else None
    if type(code) is not int or not isinstance(message, str):
        raise WireError("error", "A JSON-RPC error has a code and a message.")
    return ErrorObject(code, message, raw.get("data"))  # type: ignore[attr-defined]


def dump_completion(elicitation_id: str) -> dict[str, Any]:
    """The notification that a URL question is finished."""
    return {"method": COMPLETE, "params": {"elicitationId": elicitation_id}}


def parse_completion(params: object) -> str:
    """Which URL question a notice says is finished. Whether it is ours is not for here to say."""
    elicitation_id = params.get("elicitationId") if isinstance(params, dict) else None
    if not isinstance(elicitation_id, str) or not elicitation_id:
        raise WireError("elicitation_id", "A completion notice names the elicitationId.")
    return elicitation_id


_PARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?"
)
"""Version, trace, span and flags; a version to come may add to them."""


def parse_trace(meta: object) -> str | None:
    """The trace id in a request's `_meta`; None where there is none, or something that is no trace id."""
    parent = meta.get("traceparent") if isinstance(meta, Mapping) else None
    found = _PARENT.fullmatch(parent) if isinstance(parent, str) else None
    return None if found is None else found["trace"]
