"""Change something and write its events in one statement: both or neither.

A single statement needs no explicit transaction, so it costs one round trip.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from handraise.calls.ledger_tables import Authenticator, EventColumns, Record, content_digest, dump_digests
from handraise.errors import StoreError
from handraise.stores.postgres_database import Connection, Database

COLUMNS: LiteralString = "e.id, e.arrival, e.body, e.question, e.open, e.writer, e.kept, e.mac"
_EVENTS: LiteralString = """,
    told AS (
        INSERT INTO events (id, body, question, open, writer, kept, mac)
        SELECT id, body, question, open, %(writer)s, kept, mac
        FROM unnest(
            %(ids)s::bytea[], %(bodies)s::bytea[], %(about)s::text[], %(opens)s::boolean[], %(digests)s::text[],
            %(macs)s::bytea[]
        ) WITH ORDINALITY AS told (id, body, question, open, kept, mac, place)
        WHERE %(always)s OR EXISTS (SELECT FROM done)
        ORDER BY place
        ON CONFLICT (id) DO NOTHING
        RETURNING id
    ),
    kept AS (
        INSERT INTO contents (ref, event, key, body)
        SELECT content.*
        FROM unnest(%(refs)s::text[], %(tellers)s::bytea[], %(keys)s::bytea[], %(contents)s::bytea[])
            AS content (ref, event, key, body)
        JOIN told ON told.id = content.event
    )"""

_WRITTEN: LiteralString = "SELECT (SELECT count(*) FROM done), ARRAY(SELECT id FROM told)"
_TELL: LiteralString = f"WITH done AS (SELECT 1){_EVENTS} {_WRITTEN}"


class EventWriter:
    """Writes events together with other changes, in the name of one node."""

    def __init__(self, database: Database, writer: str) -> None:
        self._database = database
        self._writer = writer
        self._authenticator: Authenticator | None = None
        self.unplaced: set[bytes] = set()
        """The ids of events that this node wrote and has not seen in the tree yet."""

    def attach(self, authenticator: Authenticator) -> None:
        """Use this ledger's key for all later writes."""
        self._authenticator = authenticator

    @property
    def authenticator(self) -> Authenticator:
        if self._authenticator is None:
            raise StoreError("no ledger uses this store yet: make a Ledger of it first")
        return self._authenticator

    async def write(
        self,
        change: LiteralString,
        params: Mapping[str, Any],
        events: Sequence[Record],
        *,
        more: LiteralString = "",
        always: bool = False,
    ) -> int:
        """Make a change; returns the number of changed rows. Events are written if there are any, or `always`.

        `more` are further parts of the WITH clause, in which the change is called `done`.
        """
        if not events and not more:
            return await self._database.change(change, params)
        query = (  # every part is written in this package
            f"WITH done AS ({change} RETURNING 1){more}{_EVENTS if events else ''}"  # noqa: S608 - SQL of ours, no input
            f" {_WRITTEN if events else 'SELECT count(*) FROM done'}"
        )
        told = {**params, **self._told(events), "always": always} if events else params
        row = await self._database.one(query, told)
        if row is None:
            return 0
        if events and (row[0] or always):
            await self._written(told["ids"], row[1])
        return int(row[0])

    async def tell(self, events: Sequence[Record]) -> None:
        """Write events without another change."""
        if events:
            told = self._told(events)
            row = await self._database.one(_TELL, {**told, "always": True})
            await self._written(told["ids"], [] if row is None else row[1])

    async def tell_in(self, db: Connection, events: Sequence[Record]) -> list[bytes]:
        """Write events inside a transaction; returns their ids, to add to `unplaced` after the commit."""
        if not events:
            return []
        row = await (await db.execute(_TELL, {**self._told(events), "always": True})).fetchone()
        return [] if row is None else row[1]

    async def _written(self, ids: Sequence[bytes], new: Sequence[bytes]) -> None:
        """Remember the new events. For the others, which exist already, check that somebody with the key wrote them.

        The attack: somebody adds an event under the id of another one for a moment, so that the real one is lost.
        """
        self.unplaced.update(new)
        before = set(ids).difference(new)
        if not before:
            return
        query: LiteralString = f"SELECT {COLUMNS} FROM events AS e WHERE id = ANY(%s)"  # noqa: S608 - SQL of ours, no input
        found = await self._database.all(query, (list(before),))
        for columns in found:
            try:
                self.authenticator.require_row(waiting_row(columns), placed=False)
            except StoreError:
                self.authenticator.require_row(placed_row(columns), placed=True)
        if len(found) < len(before):
            raise StoreError("an event was removed from the ledger; run `handraise ledger verify`")

    def _told(self, events: Sequence[Record]) -> dict[str, Any]:
        """Each event has an id, so that writing it again after a lost connection changes nothing."""
        batch, sealer = secrets.token_bytes(12), self._database.sealer
        ids = [_id_of(event.once) or batch + at.to_bytes(4) for at, event in enumerate(events)]
        told_first = dict(zip(reversed(ids), reversed(events), strict=True))
        kept = [
            (id_, one.ref, sealer.seal(one.key, f"contents/{one.ref}"), one.body)
            for id_, event in told_first.items()
            for one in event.kept
        ]
        digests: dict[bytes, dict[str, str]] = {id_: {} for id_ in ids}
        for id_, ref, key, body in kept:
            digests[id_][ref] = content_digest(key, body)
        rows = [
            self.authenticator.marked(
                waiting_row(
                    (id_, None, e.body, e.question, e.open, self._writer, dump_digests(digests[id_]), b"")
                ),
                placed=False,
            )
            for id_, e in zip(ids, events, strict=True)
        ]
        return {
            "writer": self._writer,
            "ids": ids,
            "bodies": [row.body for row in rows],
            "about": [row.question for row in rows],
            "opens": [event.open for event in events],
            "digests": [row.kept for row in rows],
            "macs": [row.mac for row in rows],
            "refs": [ref for _, ref, _, _ in kept],
            "tellers": [id_ for id_, _, _, _ in kept],
            "keys": [key for _, _, key, _ in kept],
            "contents": [body for _, _, _, body in kept],
        }


def waiting_row(columns: Sequence[Any]) -> EventColumns:
    """An event without a place, from `COLUMNS`. Its arrival number is not known yet."""
    id_, _, body, question, is_open, writer, kept, mac = columns
    return EventColumns(body, question, int(is_open), writer, id_.hex(), kept, mac)


def placed_row(columns: Sequence[Any]) -> EventColumns:
    """An event with a place, from `COLUMNS`. Every column is part of its leaf."""
    id_, arrival, body, question, is_open, writer, kept, mac = columns
    return EventColumns(body, question, int(is_open), writer, f"{id_.hex()} {arrival}", kept, mac)


def _id_of(name: str) -> bytes:
    """The id of an event with a name; None for any other."""
    return hashlib.sha256(name.encode()).digest()[:16] if name else b""
