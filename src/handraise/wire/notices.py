"""The notice that a URL question is finished. 2025-11-25 only."""

from __future__ import annotations

from typing import Any

from handraise.errors import WireError
from handraise.wire.codes import COMPLETE


def dump_completion(elicitation_id: str) -> dict[str, Any]:
    """The notification that a URL question is finished."""
    return {"method": COMPLETE, "params": {"elicitationId": elicitation_id}}


def parse_completion(params: object) -> str:
    """Which URL question a notice says is finished. Whether it is ours is not for here to say."""
    elicitation_id = params.get("elicitationId") if isinstance(params, dict) else None
    if not isinstance(elicitation_id, str) or not elicitation_id:
        raise WireError("elicitation_id", "A completion notice names the elicitationId.")
    return elicitation_id
