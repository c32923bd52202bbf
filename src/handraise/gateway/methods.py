"""Methods of the protocol that several parts of the gateway know by name."""

from __future__ import annotations

from typing import Final

ELICIT: Final = "elicitation/create"
COMPLETE: Final = "notifications/elicitation/complete"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"

NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods that may ask, and the member of their params that says what is called."""
