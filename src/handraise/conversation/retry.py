"""A request that brings answers to a round, as the lot sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from handraise.conversation.conversation import Conversation
from handraise.conversation.digest import Written
from handraise.conversation.recorded import Record
from handraise.conversation.records import Binding, Json, RoundRecord


class Retry(Protocol):
    """A client's retry, and what whoever received it does about the body that it is for."""

    token: str
    """The `requestState` that it echoes."""
    binding: Binding
    responses: dict[str, Json]
    """What it brings, by key; also what nobody asked for."""
    said: Written
    """Its responses: the same retry arriving again has the same ones."""

    def rebind(self, conversation: Conversation) -> None:
        """Point the body to this request, before it goes on."""
        ...

    async def may_replay(self, record: RoundRecord) -> bool:
        """Whether a body that is gone may run once more: what would run is the handler that asked, and declared so."""
        ...

    def replay(self, record: RoundRecord) -> Conversation:
        """Run a body that is gone, and may, once more."""
        ...

    def tell_taken(self, of: Conversation | RoundRecord, answers: Mapping[str, Json]) -> Sequence[Record]:
        """The events that commit with the use of the round, from the body that asked or, when it is gone, its round."""
        ...

    def tell_lost(self, record: RoundRecord) -> Sequence[Record]:
        """The events that commit with the end of a round whose body is gone and may not run again."""
        ...
