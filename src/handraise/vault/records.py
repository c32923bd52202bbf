"""What a store keeps of a secret, and the contract of the table that keeps it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from handraise.disk import Leftover


class SealedSecret(NamedTuple):
    """One row. Its contents need the vault's key, and every other column is authenticated with them."""

    row: str
    """Random."""
    owner: str
    """The person's key."""
    service: str
    wrapped: bytes
    """The row's own data key, wrapped by the vault's."""
    sealed: bytes
    """The contents, sealed by the data key."""
    kept_at: float
    until: float | None
    """When it is of no use any more; wall clock, in seconds."""


class Kept(NamedTuple):
    """That something is kept, for lists: never what."""

    owner: str
    service: str
    kept_at: float
    until: float | None


class SecretTable(Protocol):
    """Where sealed secrets live: one a service and owner. Every method is atomic."""

    async def put(self, secret: SealedSecret) -> None:
        """Keep it, in place of what the same owner had for the same service."""
        ...

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        """The owner's own, or None."""
        ...

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        """Everybody's or one owner's, by owner and service."""
        ...

    async def remove(self, owner: str, service: str) -> bool:
        """Forget it; False when there was none."""
        ...

    async def purge(self) -> Leftover | None:
        """Take what was removed, replaced or re-wrapped off the disk; what is left when that cannot be done yet."""
        ...

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        """Give the row another wrapped key; False when it is gone, or another wrapped it meanwhile."""
        ...
