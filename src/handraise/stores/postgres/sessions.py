"""The tables of legacy sessions: which node has which, where it is reached, and letters to those which are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from handraise.conversation.sessions import Letter, Residence
from handraise.stores import sealed_sessions as rows
from handraise.stores.postgres.database import Database

_ANNOUNCE: LiteralString = """
    INSERT INTO hosts VALUES (%s, %s, %s)
    ON CONFLICT (node) DO UPDATE SET address = excluded.address, until = excluded.until"""
_ENTER: LiteralString = """
    INSERT INTO sessions VALUES (%s, %s, %s)
    ON CONFLICT (session) DO UPDATE SET node = excluded.node, until = excluded.until"""
_FIND: LiteralString = """
    SELECT hosts.node, address, hosts.until FROM sessions JOIN hosts USING (node)
    WHERE session = %(session)s AND sessions.until > %(now)s AND hosts.until > %(now)s"""
_PRUNE: LiteralString = """
    WITH h AS (DELETE FROM hosts WHERE until <= %(now)s RETURNING 1),
        s AS (DELETE FROM sessions WHERE until <= %(now)s RETURNING 1),
        l AS (DELETE FROM letters WHERE until <= %(now)s RETURNING 1)
    SELECT (SELECT count(*) FROM h) + (SELECT count(*) FROM s) + (SELECT count(*) FROM l)"""


class PostgresSessions:
    """Legacy sessions in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def announce(self, node: str, address: str | None, *, until: float) -> None:
        sealed = rows.dump_address(self._database.sealer, node, address, until)
        await self._database.change(_ANNOUNCE, (node, sealed, until))

    async def enter(self, session: str, node: str, *, until: float) -> None:
        await self._database.change(_ENTER, (rows.name_of(session), node, until))

    async def find(self, session: str, *, now: float) -> Residence | None:
        row = await self._database.one(_FIND, {"session": rows.name_of(session), "now": now})
        return None if row is None else rows.load_residence(self._database.sealer, row)

    async def leave(self, session: str) -> None:
        await self._database.change("DELETE FROM sessions WHERE session = %s", (rows.name_of(session),))

    async def post(self, letter: Letter) -> None:
        await self._database.change(
            "INSERT INTO letters VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
            rows.dump_letter(self._database.sealer, letter),
        )

    async def letters(self, node: str) -> list[Letter]:
        query = "SELECT id, node, message, until FROM letters WHERE node = %s ORDER BY posted"
        return [
            rows.load_letter(self._database.sealer, row) for row in await self._database.all(query, (node,))
        ]

    async def drop(self, ids: Sequence[str]) -> None:
        await self._database.change("DELETE FROM letters WHERE id = ANY(%s)", (list(ids),))

    async def sign(self, text: str) -> bytes:
        return rows.sign(self._database.sealer, text)

    async def is_signed(self, text: str, proof: bytes) -> bool:
        return rows.is_signed(self._database.sealer, text, proof)

    async def prune(self, now: float) -> int:
        row = await self._database.one(_PRUNE, {"now": now})
        return 0 if row is None else int(row[0])
