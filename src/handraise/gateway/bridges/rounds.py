"""The state of a bridge from the revisions before to 2026-07-28: calls through all their rounds, and the handshake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handraise.gateway.messages import Id, Message
from handraise.gateway.peers import claimed_in


@dataclass(slots=True)
class RoundCall:
    """A request on its way, through all its rounds."""

    message: Message
    key: Id
    state: str | None = None
    missing: dict[Id, str] = field(default_factory=dict)
    """The questions that the client has not answered yet, by the id under which it knows them."""
    answers: dict[str, Any] = field(default_factory=dict)
    idle: int = 0


def hello(discovered: Mapping[str, Any], version: str) -> dict[str, Any]:
    """What a server says of itself, as an answer to `initialize`."""
    told = {
        "protocolVersion": version,
        "capabilities": {"logging": {}, **(discovered.get("capabilities") or {})},
        "serverInfo": claimed_in(discovered) or {"name": "unknown", "version": ""},
    }
    return {**told, "instructions": discovered["instructions"]} if "instructions" in discovered else told
