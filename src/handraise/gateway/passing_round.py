"""A round of 2026-07-28 on its way: what went on to the client, and what was decided without it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from handraise.gateway.messages import Message
from handraise.gateway.methods import ELICIT
from handraise.gateway.requests import likeness
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
        self.later: dict[str, Mapping[str, Any]] = {}
        """Questions for our desk, asked once the client did its own part: until then it has to wait for nobody."""
        self.notes: list[str] = []
        self.cause: Any = None
        """What a desk was told of the call, of which the retry is the next part."""

    def end(self, why: str | None = None) -> None:
        """Nobody will answer it any more."""
        for _, deciding in self.at_client.values():
            deciding.cancel(why)
        if self.cause is not None:
            self.cause.end(None)

    async def answers(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The answers for the server: the client's as it sent them, unless they may not leave; ours beside them."""
        from handraise.client.answers import dump_as_answer

        for key, (at_client, _) in self.at_client.items():
            at_client.answer(sent.get(key))
        answers = {**sent, **self.decided}
        for key, (_, deciding) in self.at_client.items():
            decision, raw = await deciding, sent.get(key)
            if key in sent and not (isinstance(raw, dict) and raw.get("action") == decision.answer.action):
                answers[key] = dump_as_answer(decision)
        return answers


def round_key(state: str, message: Message) -> tuple[str, ...]:
    """What tells a retry: its state, and that it repeats the call. Another call would take a yes of a guard's along."""
    return state, *likeness(message)


def questions_in(requests: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What of a round is for a person; the rest is for the client itself. One without params breaks the rules later."""
    return {
        key: each if isinstance(each.get("params"), dict) else {**each, "params": {}}
        for key, each in requests.items()
        if isinstance(each, dict) and each.get("method") == ELICIT
    }
