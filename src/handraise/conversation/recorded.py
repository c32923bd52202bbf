"""What a store keeps of the ledger, and the contract for it.

A store knows nothing about events: it keeps bytes in the order in which they were committed, hands them to whoever
gives them their places in the tree, and keeps contents apart so that they can be erased.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from handraise.disk import Leftover


class Kept(NamedTuple):
    """Contents of an event, beside it."""

    ref: str
    key: bytes
    """What they are hashed with, and encrypted with if they are kept."""
    body: bytes | None
    """The contents, encrypted; None when only their hash is to be known."""


class Record(NamedTuple):
    """One event, as it is written."""

    question: str
    body: bytes
    open: bool
    """Whether the question is still in flight after this."""
    kept: tuple[Kept, ...] = ()
    once: str = ""
    """A name for an event that may be told again: it is written once. Without one it is written each time."""


class Row(NamedTuple):
    """One event, as it is read."""

    number: int
    """From 1, in the order in which they were committed; the place in the tree, once it has one."""
    body: bytes


class Leaf(NamedTuple):
    """One place in the tree."""

    number: int
    hash: bytes
    body: bytes | None
    """None: its event is no longer there."""


class TreeState(NamedTuple):
    """The tree as far as it has grown."""

    size: int
    peaks: bytes


Grow: TypeAlias = Callable[[TreeState, Sequence[bytes]], tuple[TreeState, list[bytes]]]
"""Gives the tree with these bodies added, and their leaf hashes. Pure."""
Settle: TypeAlias = Callable[[bytes], Record | None]
"""Gives the event that ends a question, from its last one; None for one that still waits. Pure."""


class LedgerTables(Protocol):
    """The tables of the ledger in a store. Every method is atomic, and on return what it wrote is safe."""

    def record(self, records: Sequence[Record]) -> Awaitable[None]:
        """Write events: all of them or none. They have no place in the tree yet."""
        ...

    async def settle_orphans(self, settle: Settle) -> int:
        """End the questions that were in flight in processes that are gone; how many were ended.

        Of several who do it at once one does, and a question that anybody ended is left alone.
        """
        ...

    async def place(self, grow: Grow, limit: int) -> TreeState:
        """Give the next events their places. Of several who do it at once one goes after the other."""
        ...

    async def tree(self) -> TreeState:
        """How far the tree has grown."""
        ...

    async def leaves(self, after: int, limit: int) -> list[Leaf]:
        """The places behind a number, in order."""
        ...

    async def rows(self, after: int, limit: int) -> list[Row]:
        """The events behind a number, in order, also those without a place."""
        ...

    async def rows_before(self, number: int | None, limit: int) -> list[Row]:
        """The events before a number, or the newest ones; the newest first."""
        ...

    async def add_note(self, note: str) -> None:
        """Keep a signed note."""
        ...

    async def notes(self) -> list[str]:
        """All signed notes, in order."""
        ...

    async def contents(self, refs: Collection[str]) -> dict[str, Kept]:
        """The contents with these references that are not erased."""
        ...

    async def erase(self, refs: Collection[str]) -> int:
        """Erase contents together with their keys; how many there were. `purge` takes them off the disk."""
        ...

    async def cut(self, upto: int, note: str) -> int:
        """Remove the events up to a number and their contents, not their places, and keep the note that says so."""
        ...

    async def purge(self) -> Leftover | None:
        """Take what was erased or cut off the disk; what is left when that cannot be done yet."""
        ...
