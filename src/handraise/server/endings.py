"""Our errors on the wire: as a JSON-RPC error, or as a tool result that the model can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handraise.calls import SettledError
from handraise.errors import (
    CATEGORY,
    HandraiseError,
    NotSupported,
    StateRefused,
    WireError,
    is_text_of,
    sentence,
)
from handraise.revisions import Revision
from handraise.wire import INVALID_PARAMS, MISSING_CAPABILITY, URL_REQUIRED, dump_missing_capability

INTERNAL_ERROR = -32603


class LinksRequired(HandraiseError):
    """The call ends before it starts, with error -32042: the client has to show these links first (2025-11-25)."""

    code = "links_required"
    public = "This request needs something from the person first."

    def __init__(self, elicitations: Mapping[str, Any]) -> None:
        super().__init__(self.public)
        self.fault: dict[str, Any] = {"code": URL_REQUIRED, "message": self.public, "data": elicitations}


def fault_of(error: BaseException, revision: Revision = Revision.JULY_2026) -> dict[str, Any]:
    """The JSON-RPC error object for an error; -32021 is known on 2026-07-28 only."""
    if isinstance(error, SettledError):
        return dict(error.error)
    if isinstance(error, NotSupported) and revision.modern:
        return {
            "code": MISSING_CAPABILITY,
            "message": error.public,
            "data": dump_missing_capability((error.mode,)),
        }
    if isinstance(error, StateRefused):
        # The SDK's own words for any requestState that it refuses, so that nobody learns whose it was.
        return {
            "code": INVALID_PARAMS,
            "message": "Invalid or expired requestState",
            "data": {"reason": "invalid_request_state"},
        }
    if isinstance(error, WireError):
        return {"code": INVALID_PARAMS, "message": error.public, "data": {"rule": error.rule}}
    if isinstance(error, HandraiseError):
        return {"code": INTERNAL_ERROR, "message": sentence(error), "data": {"reason": error.code}}
    return {"code": INTERNAL_ERROR, "message": "Internal server error"}


def error_result(error: HandraiseError) -> dict[str, Any]:
    """The tool result for an error: a sentence for the model, a category for programs."""
    text = {"type": "text", "text": sentence(error)}
    return {"content": [text], "isError": True, "_meta": {CATEGORY: error.category}}


def is_error(result: object) -> bool:
    """Whether a tool result says that the tool failed."""
    return isinstance(result, Mapping) and bool(result.get("isError"))


def is_made_of(result: object, error: HandraiseError) -> bool:
    """Whether a framework made a tool result from this error: its sentence, perhaps after the framework's own words.

    Only the text is left: frameworks turn the exception into a result before we see it.
    """
    if not isinstance(result, Mapping) or not is_error(result):
        return False
    blocks = result.get("content") or ()
    texts = [str(block.get("text")) for block in blocks if isinstance(block, Mapping)]
    return len(texts) == 1 and is_text_of(texts[0], error)
