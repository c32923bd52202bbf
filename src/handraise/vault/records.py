"""A secret in the program, as a row of a store, and the contract of the table that keeps it."""

from __future__ import annotations

import hmac
from typing import Final, NamedTuple, NoReturn, Protocol

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
    """When it expires, in seconds since the epoch."""


class SecretInfo(NamedTuple):
    """A kept secret without its contents, for lists."""

    owner: str
    service: str
    kept_at: float
    until: float | None


class SecretTable(Protocol):
    """The table of sealed secrets: one for each service and owner. Every method is atomic."""

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
        """Remove deleted, replaced and re-wrapped data from the disk; returns what cannot be removed yet."""
        ...

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        """Give the row another wrapped key; False when it is gone, or another wrapped it meanwhile."""
        ...


_HIDDEN: Final = "Secret(•••)"


class Secret:
    """A person's entry on a page. `.reveal()` is the one way to read it.

    Its text form hides it, so that it cannot leave in a log line, an f-string, an error or a tool's result by
    mistake. It cannot be pickled or written as JSON.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """The secret itself. Hand it to what needs it and keep it nowhere."""
        return self.__value

    def __repr__(self) -> str:
        return _HIDDEN

    def __format__(self, spec: str) -> str:
        return _HIDDEN

    # No `__hash__`, on purpose: it would reveal which secrets are equal.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self.__value.encode(), other.__value.encode())

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not written down; reveal() it where it is needed")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret is not written down; reveal() it where it is needed")
