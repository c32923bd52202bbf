"""The tables of the ledger: events, their places in the tree, contents that can be erased, signed notes.

Events are written side by side, and get their numbers afterwards, one batch after the other: a number that is given
while writing would make every writer wait for the one before to reach the disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, LiteralString

from handraise.conversation.recorded import Grow, Kept, Leaf, Record, Row, Settle, TreeState
from handraise.disk import Leftover
from handraise.errors import StoreError
from handraise.stores.postgres.along import Along
from handraise.stores.postgres.database import Connection, Database
from handraise.stores.postgres.nodes import PRESENT

_NUMBER: LiteralString = """
    WITH new AS (
        SELECT arrival, row_number() OVER (ORDER BY arrival) AS place FROM events WHERE number IS NULL
    ),
    numbered AS (
        UPDATE events SET number = tree.numbered + new.place FROM new, tree WHERE events.arrival = new.arrival
        RETURNING 1
    )
    UPDATE tree SET numbered = numbered + (SELECT count(*) FROM numbered)"""
_GONE: LiteralString = f"SELECT name FROM nodes WHERE NOT {PRESENT}"  # noqa: S608 - SQL of ours, no input
_LEFT_OPEN: LiteralString = """
    SELECT body FROM (
        SELECT DISTINCT ON (question) body, open, writer FROM events WHERE arrival > %s
        ORDER BY question, arrival DESC
    ) AS last
    WHERE open AND writer = %s"""


class PostgresLedger:
    """The ledger in a database."""

    def __init__(self, database: Database, along: Along, enter: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._along = along
        self._enter = enter

    async def record(self, records: Sequence[Record]) -> None:
        await self._enter()
        await self._along.tell(records)

    async def settle_orphans(self, settle: Settle) -> int:
        settled = 0
        for (name,) in await self._database.all(_GONE):
            settled += await self._settle_node(name, settle)
        return settled

    async def _settle_node(self, name: str, settle: Settle) -> int:
        """Nobody else does it meanwhile, and nobody ever once none of its questions waits any more."""

        async def work(db: Connection) -> int:
            async with db.transaction():
                gone = f"SELECT first FROM nodes WHERE name = %s AND NOT {PRESENT} FOR UPDATE"  # noqa: S608 - SQL of ours, no input
                row = await (await db.execute(gone, (name,))).fetchone()
                if row is None:
                    return 0
                orphans = await (await db.execute(_LEFT_OPEN, (row[0], name))).fetchall()
                settled = [record for (body,) in orphans if (record := settle(body)) is not None]
                await self._along.tell_in(db, settled)
                if len(settled) == len(orphans):
                    await db.execute("DELETE FROM nodes WHERE name = %s", (name,))
                return len(settled)

        return await self._database.run(work)

    async def place(self, grow: Grow, limit: int) -> TreeState:
        async def place(db: Connection) -> TreeState:
            async with db.transaction():
                tree = await _number(db)
                query = "SELECT number, body FROM events WHERE number > %s ORDER BY number LIMIT %s"
                found = await (await db.execute(query, (tree.size, limit))).fetchall()
                if not found:
                    return tree
                if found[-1][0] != tree.size + len(found):
                    raise StoreError(
                        f"an event between {tree.size + 1} and {found[-1][0]} was removed from the ledger"
                    )
                grown, hashes = grow(tree, [body for _, body in found])
                query = (
                    "INSERT INTO leaves SELECT %s + place, hash"
                    " FROM unnest(%s::bytea[]) WITH ORDINALITY AS leaf (hash, place)"
                )
                await db.execute(query, (tree.size, hashes))
                await db.execute("UPDATE tree SET size = %s, peaks = %s", grown)
                return grown

        return await self._database.run(place)

    async def tree(self) -> TreeState:
        row = await self._database.one("SELECT size, peaks FROM tree")
        return TreeState(0, b"") if row is None else TreeState(*row)

    async def leaves(self, after: int, limit: int) -> list[Leaf]:
        query = (
            "SELECT number, hash, body FROM leaves LEFT JOIN events USING (number)"
            " WHERE number > %s ORDER BY number LIMIT %s"
        )
        return [Leaf(*row) for row in await self._database.all(query, (after, limit))]

    async def rows(self, after: int, limit: int) -> list[Row]:
        query = "SELECT number, body FROM events WHERE number > %s ORDER BY number LIMIT %s"
        return await self._rows(query, (after, limit))

    async def rows_before(self, number: int | None, limit: int) -> list[Row]:
        query = (
            "SELECT number, body FROM events WHERE number < coalesce(%s, 9223372036854775807)"
            " ORDER BY number DESC LIMIT %s"
        )
        return await self._rows(query, (number, limit))

    async def _rows(self, query: LiteralString, params: Sequence[Any]) -> list[Row]:
        async def read(db: Connection) -> list[Row]:
            if await (await db.execute("SELECT 1 FROM events WHERE number IS NULL LIMIT 1")).fetchone():
                async with db.transaction():
                    await _number(db)
            return [Row(*row) for row in await (await db.execute(query, params)).fetchall()]

        return await self._database.run(read)

    async def add_note(self, note: str) -> None:
        await self._database.change("INSERT INTO notes (note) VALUES (%s)", (note,))

    async def notes(self) -> list[str]:
        return [note for (note,) in await self._database.all("SELECT note FROM notes ORDER BY number")]

    async def contents(self, refs: Collection[str]) -> dict[str, Kept]:
        query = "SELECT ref, key, body FROM contents WHERE ref = ANY(%s)"
        sealer = self._database.sealer
        found = await self._database.all(query, (list(refs),))
        kept = {ref: Kept(ref, sealer.open(key, f"contents/{ref}"), body) for ref, key, body in found}
        return {ref: kept[ref] for ref in refs if ref in kept}

    async def erase(self, refs: Collection[str]) -> int:
        return await self._database.change("DELETE FROM contents WHERE ref = ANY(%s)", (list(refs),))

    async def purge(self) -> Leftover | None:
        return await self._database.purge("contents", "events")

    async def cut(self, upto: int, note: str) -> int:
        async def cut(db: Connection) -> int:
            async with db.transaction():
                tree = await _number(db)
                last = min(upto, tree.size)
                await db.execute(
                    "DELETE FROM contents USING events WHERE contents.event = events.id AND events.number <= %s",
                    (last,),
                )
                gone = await db.execute("DELETE FROM events WHERE number <= %s", (last,))
                await db.execute("INSERT INTO notes (note) VALUES (%s)", (note,))
                return gone.rowcount

        return await self._database.run(cut)


async def _number(db: Connection) -> TreeState:
    """Give numbers to the events that have none; the tree, which is ours until the transaction ends."""
    row = await (await db.execute("SELECT size, peaks FROM tree FOR UPDATE")).fetchone()
    assert row is not None
    await db.execute(_NUMBER)
    return TreeState(*row)
