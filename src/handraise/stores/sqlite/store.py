"""The tables of one SQLite file as a store."""

from __future__ import annotations

import os
from collections.abc import Sequence

from handraise.conversation.records import Binding, Consumption, Entry, Flow, Json, Outcome, RoundRecord
from handraise.stores.sqlite import flows, rounds, secrets
from handraise.stores.sqlite.file import SqliteFile


class SqliteStore:
    """Keeps everything in one SQLite file (WAL), its contents sealed, readable by its owner only."""

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None) -> None:
        self._file = SqliteFile(path, schemas=(rounds.SCHEMA, flows.SCHEMA, secrets.SCHEMA), keys=keys)
        self.secrets = secrets.SqliteSecrets(self._file)
        """The vault's table."""

    async def open_round(self, record: RoundRecord) -> None:
        await self._file.write(lambda db, sealer: rounds.insert(db, sealer, record))

    async def find_round(self, token: str) -> RoundRecord | None:
        return await self._file.read(lambda db, sealer: rounds.find(db, sealer, token))

    async def consume(
        self, token: str, *, binding: Binding, answers: dict[str, Json], digest: str, now: float
    ) -> Consumption:
        return await self._file.write(
            lambda db, sealer: rounds.consume(db, sealer, token, binding, answers, digest, now)
        )

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        return await self._file.write(lambda db, _: rounds.hold(db, token, since, now))

    async def close_round(self, token: str) -> bool:
        return await self._file.write(lambda db, _: rounds.close(db, token))

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        await self._file.write(lambda db, sealer: rounds.append(db, sealer, conversation, entries))

    async def settle(self, token: str, outcome: Outcome, *, until: float) -> None:
        await self._file.write(lambda db, sealer: rounds.settle(db, sealer, token, outcome, until))

    async def end(self, conversation: str, *, until: float) -> None:
        await self._file.write(lambda db, _: rounds.end(db, conversation, until))

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        return await self._file.read(lambda db, sealer: rounds.pending(db, sealer, person))

    async def open_flow(self, flow: Flow) -> None:
        await self._file.write(lambda db, _: flows.open_flow(db, flow))

    async def complete_flow(self, elicitation_id: str, *, person: str, now: float) -> bool:
        return await self._file.write(lambda db, _: flows.complete(db, elicitation_id, person, now))

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        return await self._file.read(lambda db, _: flows.find(db, elicitation_id))

    async def prune(self, now: float) -> int:
        gone = await self._file.write(
            lambda db, _: rounds.prune(db, now) + flows.prune(db, now) + secrets.prune(db, now)
        )
        if gone:
            await self._file.read(lambda db, _: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
        return gone

    async def aclose(self) -> None:
        await self._file.aclose()
