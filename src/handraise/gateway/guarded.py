"""Calls that a guard of the user's is for: they decide at our desk, before the server hears of the call."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from handraise.errors import GuardRefused, HandraiseError
from handraise.gateway.calls import Call
from handraise.gateway.home import Home
from handraise.gateway.links import Place
from handraise.gateway.messages import Message
from handraise.gateway.parking.holding import Holding
from handraise.gateway.requests import name_of

if TYPE_CHECKING:
    from handraise.desks import Decision
    from handraise.gateway.guarding import Asked
    from handraise.questions import Person

logger = logging.getLogger(__name__)

_REASKS: Final = 3
"""How often somebody is asked again who mistyped what had to be typed; servers of ours do the same."""


class Guarded:
    """Asks first, where a guard wants it."""

    def __init__(self, home: Home, holding: Holding, person: Callable[[], Person]) -> None:
        self._home = home
        self._holding = holding
        self._person = person
        self._hints: dict[str, dict[str, Any]] = {}

    def note_hints(self, message: Message) -> None:
        """Remember what tools say about themselves; one that was never listed said nothing."""
        tools = (message.result or {}).get("tools")
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
                said = tool.get("annotations")
                self._hints[name] = said if isinstance(said, dict) else {}

    async def refusal(self, call: Call, place: Place, *, again: bool) -> Message | None:
        """What the client gets instead of a result; None when the call may go to its server.

        `again`: a guard asked about it in a process that is gone, so that without a guard it does not go either.
        """
        with contextlib.suppress(HandraiseError):  # who cannot read them lets nothing pass, below
            if not await self._home.guards() and not again:
                return None
        from handraise.gateway import guarding
        from handraise.questions import Declined

        asked, decision = None, None
        try:
            asked = await self._question(call, place)
            if asked is None:
                return guarding.unguarded(call) if again else None
            asked.rule.quiet.require_over(self._person().key, asked.tool)
            if self._home.options.desk != "none":
                decision = await self._decision(call, place, asked)
                if isinstance(decision.answer, Declined):
                    asked.rule.quiet.begin(self._person().key, asked.tool)
        except GuardRefused as error:
            return guarding.unasked(call, error)
        except HandraiseError as error:
            logger.error("a guard could not ask: %s", error)
        return guarding.refusal(asked, decision, call)

    async def _question(self, call: Call, place: Place) -> Asked | None:
        rules = await self._home.guards()
        from handraise.gateway.guarding import question_for

        names = dict.fromkeys((name_of(place.message), call.name))
        return question_for(
            rules, place.source.upstream.name, names, call.arguments, self._hints.get(call.name)
        )

    async def _decision(self, call: Call, place: Place, asked: Asked) -> Decision:
        from handraise.conversation.tickets import NOT_SENT
        from handraise.gateway.asking import Asker
        from handraise.gateway.guarding import mistyped
        from handraise.revisions import Revision

        asking = await self._home.asking()
        asker = Asker(place.source, self._person(), call.peer)
        call.round = NOT_SENT
        with self._holding.holding([call]):
            decide = partial(
                asking.decide,
                revision=Revision.JULY_2026,
                asker=asker,
                calls=[call],
                read=asked.read,
                guard=True,
            )
            decision = await decide(asked.question)
            for _ in range(_REASKS):
                if not mistyped(decision):
                    break
                decision = await decide(asked.again())
        call.round = None
        return decision
