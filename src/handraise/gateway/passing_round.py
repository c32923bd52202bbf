"""A round of 2026-07-28 on its way: what went on to the client, and what was decided without it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from handraise.gateway.upstreams import Source

if TYPE_CHECKING:
    from handraise.desks import Decision
    from handraise.gateway.at_client import AtClient


class Round:
    """Questions of one round that went on to the client, and what was decided without it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.at_client: dict[str, tuple[AtClient, asyncio.Future[Decision]]] = {}
        self.decided: dict[str, dict[str, Any]] = {}
        self.notes: list[str] = []

    def end(self, why: str | None = None) -> None:
        """Nobody will answer it any more."""
        for _, deciding in self.at_client.values():
            deciding.cancel(why)

    async def answers(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The answers for the server: the client's as it sent them, unless they may not leave; ours beside them."""
        from handraise.gateway.asking import dump

        for key, (at_client, _) in self.at_client.items():
            at_client.answer(sent.get(key))
        answers = {**sent, **self.decided}
        for key, (_, deciding) in self.at_client.items():
            decided = dump(await deciding)
            raw = sent.get(key)
            if key in sent and not (isinstance(raw, dict) and raw.get("action") == decided["action"]):
                answers[key] = decided
        return answers
