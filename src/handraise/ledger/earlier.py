"""The ledger's decisions for a desk's history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from handraise.desks.past import Earlier, Past
from handraise.questions import Action, Person

if TYPE_CHECKING:
    from handraise.ledger.events import Event
    from handraise.ledger.ledger import Ledger

_MOST: Final = 50
_LOOKED_AT: Final = 2000
"""Events that are read at most for one page, however few of them are wanted."""
_VERBS: Final[dict[Action, str]] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
_BY: Final = {
    "human": "A person {} it",
    "policy": "One of your rules {} it",
    "agent": "The program {} it",
    "timeout": "Nobody answered in time",
}


def earlier(ledger: Ledger) -> Earlier:
    """Read a desk's history from this ledger: `WebDesk(queue, earlier=earlier(ledger))`."""

    async def decided(person: Person | None, before: float) -> list[Past]:
        found: list[Past] = []
        looked_at = 0
        async for _, event in ledger.newest():
            looked_at += 1
            if event.kind == "decided" and event.time < before * 1000 and _is_of(event, person):
                found.append(_past(event))
            if len(found) == _MOST or looked_at == _LOOKED_AT:
                break
        return found

    return decided


def _is_of(event: Event, person: Person | None) -> bool:
    principal = event.about.principal
    return person is None or (principal is not None and principal.key == person.key)


def _past(event: Event) -> Past:
    assert event.action is not None  # the ledger takes no decision without them
    assert event.decided_by is not None
    request = event.about.request
    return Past(
        event.about.server.id,
        None if request is None else request.target,
        _BY[event.decided_by].format(_VERBS[event.action])
        + (" with a passkey" if event.how == "passkey" else ""),
        event.time / 1000,
    )
