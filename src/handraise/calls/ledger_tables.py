"""The contract between the ledger and the tables of a store.

A store knows nothing about events. It keeps bytes in order, keeps contents apart so that they can be erased, and
asks the ledger's `Authenticator` for every hash, MAC and signature. `handraise.ledger.proof` says what they
protect and why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, TypeAlias

from handraise.disk import Leftover

_encode = json.JSONEncoder(
    sort_keys=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


class StoredContent(NamedTuple):
    """Contents of an event, in a table of their own."""

    ref: str
    key: bytes
    """The key of their hash, and of their encryption if they are kept."""
    body: bytes | None
    """The encrypted contents; None to keep only their hash."""


class Record(NamedTuple):
    """One event to write."""

    question: str
    body: bytes
    open: bool
    """Whether the question is still in flight after this."""
    kept: tuple[StoredContent, ...] = ()
    once: str = ""
    """A name for an event that may come again: it is written once. Without a name it is written each time."""


class StoredEvent(NamedTuple):
    """One event as read."""

    number: int
    """From 1, in order of commit; the place in the tree, once it has one."""
    body: bytes


class EventColumns(NamedTuple):
    """An event with the columns beside it. All of them are part of its leaf hash."""

    body: bytes
    question: str
    open: int
    writer: str
    name: str
    """The name under which the event is written only once, or the database's own id for it."""
    kept: str
    """The digests of its rows in the table of contents, as `dump_digests` writes them."""
    mac: bytes
    """The MAC of the other columns under the ledger's key."""


class Head(NamedTuple):
    """The head of the ledger: the tree, and the chain of signed notes, with a MAC under the ledger's key."""

    size: int
    """How many events have a place in the tree."""
    peaks: bytes
    notes: int
    """How many notes were signed."""
    last: bytes
    """The hash of the last note."""
    mac: bytes


class Anchor(NamedTuple):
    """A copy of the head outside the database, which reveals that the database was replaced by an old copy."""

    size: int
    notes: int
    root: bytes
    last: bytes
    mac: bytes

    @property
    def age(self) -> int:
        """Grows with every change of the head."""
        return self.size + self.notes


class LedgerPlace(NamedTuple):
    """One place in the tree, or one event that has none."""

    number: int | None
    hash: bytes | None
    """None: the event has no place yet."""
    row: EventColumns | None
    """None: the event is no longer there."""
    owner: str = ""
    """The event's name in the table of contents."""
    waits: bool = False
    """Whether the event may be without a place, because this store gives places later."""


Draft: TypeAlias = Callable[[Head, Sequence[str]], tuple[Head, str]]
"""Signs a note about the current ledger and these contents; returns the new head and the note. Pure."""
Settle: TypeAlias = Callable[[bytes], Record | None]
"""Makes the event that ends a question from its last event; None for a question that still waits. Pure."""


class Authenticator(Protocol):
    """Lets a store use the ledger's key. Every method is pure."""

    def first(self) -> Head:
        """The head of an empty ledger."""

    def require(self, head: Head) -> None:
        """Raise `StoreError` when somebody without the key wrote this head."""

    def place(self, head: Head, rows: Sequence[EventColumns]) -> tuple[Head, list[bytes]]:
        """The head with these events added, and their leaf hashes. The head has to be authentic."""

    def marked(self, row: EventColumns, *, placed: bool) -> EventColumns:
        """The event with its MAC. Only an event without a place may get one."""

    def require_row(self, row: EventColumns, *, placed: bool) -> None:
        """Raise `StoreError` when somebody without the key wrote this event."""

    def loss(self, now: int) -> Draft:
        """A note that events were removed before they had a place. `now`: milliseconds since 1970."""

    def anchor_of(self, head: Head) -> Anchor:
        """The copy of this head to keep outside of the database."""

    def require_newest(self, head: Head | None, anchor: Anchor | None) -> None:
        """Raise `StoreError` when the database is older than the anchor, or the anchor is lost."""


class Snapshot(Protocol):
    """The tables of the ledger at one moment, for verification. Reading changes nothing and needs no key."""

    heads: Sequence[Head]
    """The rows of the table that holds the head. There should be one."""
    notes: Sequence[tuple[int, str]]
    anchored: bool
    """Whether this store keeps an anchor."""
    anchor: Anchor | None
    problems: Sequence[str]
    """Sentences about how the tables differ from those that the store made."""

    def places(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        """The places of the tree, in order."""

    def unplaced(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        """The events that have no place in the tree."""

    async def contents(self, refs: Collection[str]) -> Mapping[str, tuple[str, str]]:
        """The owner and the digest of these contents, if they exist."""

    async def count_contents(self) -> int:
        """How many rows the table of contents has."""


class LedgerTables(Protocol):
    """The tables of the ledger in a store. Every method is atomic, and on return what it wrote is safe."""

    def attach(self, authenticator: Authenticator) -> None:
        """Use this ledger's key for all later writes."""

    def record(self, records: Sequence[Record]) -> Awaitable[None]:
        """Write events: all of them or none."""

    async def settle_orphans(self, settle: Settle) -> int:
        """End the open questions of processes that are gone; returns how many.

        Of several callers at once only one does it. Ended questions are left alone.
        """

    async def place(self, limit: int) -> Head:
        """Give the next events their places, unless `record` did; returns the new head.

        Concurrent callers take turns.
        """

    async def size(self) -> int:
        """How many events have a place in the tree."""

    async def hashes(self, after: int, limit: int) -> list[bytes]:
        """The leaf hashes after a number, in order."""

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """The whole ledger at this moment, for verification."""

    async def rows(self, after: int, limit: int) -> list[StoredEvent]:
        """The events after a number, in order, including those without a place."""

    async def rows_before(self, number: int | None, limit: int) -> list[StoredEvent]:
        """The events before a number, or the newest ones; the newest first."""

    async def add_note(self, draft: Draft) -> str:
        """Sign and keep a note."""

    async def notes(self) -> list[str]:
        """All signed notes, in order."""

    async def contents(self, refs: Collection[str]) -> dict[str, StoredContent]:
        """The contents with these references that are not erased."""

    async def erase(self, refs: Collection[str], draft: Draft) -> int:
        """Erase contents and their keys, and keep a signed note of it. `purge` removes them from the disk.

        Returns how many there were. If none, nothing is signed.
        """

    async def cut(self, upto: int, draft: Draft) -> int:
        """Remove the events up to a number and their contents, not their leaf hashes, and keep a signed note of it."""

    async def purge(self) -> Leftover | None:
        """Remove erased and cut data from the disk; returns what is left if that is not possible yet."""


def content_digest(key: bytes, body: bytes | None) -> str:
    """The digest of one row in the table of contents. It reveals nothing about erased contents."""
    return hashlib.sha256(len(key).to_bytes(4) + key + (b"" if body is None else b"\x01" + body)).hexdigest()


def dump_digests(digests: Mapping[str, str]) -> str:
    """The digests of an event's contents, by reference, as text for the event's row."""
    return _encode(digests) if digests else ""
