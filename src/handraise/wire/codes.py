"""The names and numbers of the protocol that have to do with asking."""

from __future__ import annotations

from typing import Final

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
