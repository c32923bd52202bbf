"""What a client's request says of itself: its era, what it calls, and whether it repeats another one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from handraise.gateway.messages import Message
from handraise.gateway.methods import NAMED
from handraise.gateway.peers import VERSION_KEY

ROUND: Final = ("inputResponses", "requestState")
"""What the params of a retry have beside those of the request that it repeats."""


def is_modern(message: Message) -> bool:
    """Whether a message carries the envelope of 2026-07-28."""
    meta = message.params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def name_of(message: Message) -> str:
    """Which tool, prompt or resource a request calls."""
    return str(message.params.get(NAMED.get(message.method or "", ""), ""))


def arguments_of(message: Message) -> Mapping[str, Any]:
    """The arguments of the tool or prompt that a request calls."""
    arguments = message.params.get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def likeness(message: Message) -> tuple[str, str]:
    """What a request and its retries have in common, and no other call has."""
    called = [message.params.get(name) for name in ("name", "uri", "arguments")]
    return message.method or "", json.dumps(called, sort_keys=True)


def params_at_first(message: Message) -> dict[str, Any]:
    """The params of a request without what its retries add."""
    return {name: value for name, value in message.params.items() if name not in ROUND}
