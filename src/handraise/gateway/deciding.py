"""The questions of a round of 2026-07-28: each is admitted to the client, or decided without it.

Loaded when the first question comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from handraise.client.answers import dump_as_answer
from handraise.desks import Decision
from handraise.errors import WireError
from handraise.gateway.asking import Asker, Asking, begin_round, note_for_model, parse
from handraise.gateway.at_client import AtClient
from handraise.gateway.calls import Call
from handraise.gateway.home import Home
from handraise.gateway.parking.holding import Holding
from handraise.gateway.passing_round import Round
from handraise.gateway.peers import MODERN
from handraise.questions import Question
from handraise.revisions import Revision


@dataclass(frozen=True, slots=True)
class Deciding:
    """For the round of one call; `among` are the calls because of one of which its server asks."""

    home: Home
    holding: Holding
    asking: Asking
    asker: Asker
    call: Call
    among: list[Call]
    round: Round

    async def decide(self, asked: Mapping[str, Mapping[str, Any]]) -> None:
        """Have every question admitted or decided."""
        begin_round(self.call, len(asked))
        await asyncio.gather(*(self._take(key, request) for key, request in asked.items()))

    async def _take(self, key: str, request: Mapping[str, Any]) -> None:
        try:
            question, revision = parse(request["params"], MODERN)
        except WireError as error:
            await self.asking.refuse(error, MODERN, self.asker, [self.call])
            self.round.decided[key] = {"action": "cancel"}
            self.round.notes.append(
                f"A question of the server was not shown to the user: {error.public} ({error.rule})"
            )
            return
        here = self.home.asks_here(self.call.peer, question.mode)
        if here or self.home.asks_for_passkey(self.asking, question, self.asker, self.among):
            await self._ask_here(key, question, revision)
        else:
            await self._admit(key, question, revision)

    async def _ask_here(self, key: str, question: Question, revision: Revision) -> None:
        with self.holding.holding([self.call]):
            decision = await self.asking.decide(question, revision, self.asker, self.among)
        self._note(key, decision)

    async def _admit(self, key: str, question: Question, revision: Revision) -> None:
        """Have the client ask, unless the policy decides."""
        at_client = AtClient()
        deciding = asyncio.ensure_future(
            self.asking.decide(question, revision, self.asker, self.among, at_client)
        )
        if await at_client.is_shown(deciding):
            self.round.at_client[key] = (at_client, deciding)
        else:
            self._note(key, await deciding)

    def _note(self, key: str, decision: Decision) -> None:
        self.round.decided[key] = dump_as_answer(decision)
        if (note := note_for_model(decision, self.asker.upstream.name)) is not None:
            self.round.notes.append(note)
