"""JSON-RPC errors, as far as asking needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handraise.errors import Mode, WireError
from handraise.wire.codes import INVALID_PARAMS


@dataclass(frozen=True, slots=True)
class Fault:
    """The error object of a JSON-RPC response."""

    code: int
    message: str
    data: Any = None


def undeclared_mode(mode: Mode) -> Fault:
    """What a client answers to a mode that it did not declare (2025-06-18 and 2025-11-25)."""
    return Fault(INVALID_PARAMS, f"This client did not declare {'URL' if mode == 'url' else mode} mode.")


def dump_fault(fault: Fault) -> dict[str, Any]:
    """The error object."""
    dumped: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        dumped["data"] = fault.data
    return dumped


def parse_fault(raw: object) -> Fault:
    """The error in a response; WireError when it is none."""
    code = raw.get("code") if isinstance(raw, dict) else None
    message = raw.get("message") if isinstance(raw, dict) else None
    if type(code) is not int or not isinstance(message, str):
        raise WireError("error", "A JSON-RPC error has a code and a message.")
    return Fault(code, message, raw.get("data"))  # type: ignore[attr-defined]
