"""The contract of a store for legacy sessions: which node has which, and what waits to be brought to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from handraise.conversation.records import Json


class Residence(NamedTuple):
    """Where a session lives."""

    node: str
    address: str | None
    """Where the other nodes reach it; None when they cannot."""


class Letter(NamedTuple):
    """A message to a session whose node cannot be reached: it is left in the store, and fetched from there."""

    id: str
    node: str
    message: Json
    until: float
    """When nobody wants it any more."""


class Sessions(Protocol):
    """Where the nodes find each other's sessions. Every method is atomic; times are seconds of the store's clock."""

    async def announce(self, node: str, address: str | None, *, until: float) -> None:
        """Say that a node lives until then at least, and where it is."""
        ...

    async def enter(self, session: str, node: str, *, until: float) -> None:
        """Note that a node has a session."""
        ...

    async def find(self, session: str, *, now: float) -> Residence | None:
        """Where a session is; None when nobody has it, or its node is gone."""
        ...

    async def leave(self, session: str) -> None:
        """The session is over."""
        ...

    async def post(self, letter: Letter) -> None:
        """Leave a letter. The same id again changes nothing."""
        ...

    async def letters(self, node: str) -> list[Letter]:
        """The letters to a node, oldest first."""
        ...

    async def drop(self, ids: Sequence[str]) -> None:
        """Letters that reached their session."""
        ...

    async def sign(self, text: str) -> bytes:
        """A proof that somebody who shares this store said so."""
        ...

    async def is_signed(self, text: str, proof: bytes) -> bool:
        """Whether somebody who shares this store said so."""
        ...

    async def prune(self, now: float) -> int:
        """Delete what is over; how many records went."""
        ...
