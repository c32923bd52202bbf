"""A node of the scale part: `-m bench.scale_node URL`. Takes one line of JSON at a time, and answers with one."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
from tests.calls.bare_server import BareServer

from handraise.calls import Call
from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import digest
from handraise.calls.store import RoundUse
from handraise.ledger import Ledger
from handraise.stores.postgres import PostgresStore
from handraise.testing.part_contracts import ALICE, DEADLINE, NOW, YES, a_round

KEYS = [b"k" * 32]
MAC = b"m" * 32
BODY = b"x" * 400
"""An event of the ledger, as large as they are."""
USE = "UPDATE handraise.rounds SET digest = %s, answers = %s, since = %s WHERE token = %s"
HINT = "x" * 240
"""As long as the hint that brings a short answer."""
MESSAGE = {"method": "elicitation/create", "params": {"mode": "form", "message": "Which one?"}}


class Node:
    """The commands of a node."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store = PostgresStore(url, keys=KEYS, patience=60.0)
        self.woken_at: dict[str, float] = {}
        self.server = BareServer(self._tool, self.store)
        self.committed = 0.0
        self._heard: asyncio.Queue[float] = asyncio.Queue()
        self._sending: psycopg.AsyncConnection[Any] | None = None
        self._listening: asyncio.Task[None] | None = None

    async def _tool(self, call: Call) -> Any:
        async with call.at_question():
            await call.ask_in_round("q", MESSAGE, 3600.0)
        self.woken_at[call.current.token] = time.monotonic()
        return "done"

    async def memory(self) -> int:
        """Resident bytes."""
        gc.collect()
        return _resident()

    async def park(self, count: int) -> float:
        """Ask that many questions; the seconds it took."""
        begun = time.perf_counter()
        for first in range(0, count, CHUNK):
            await asyncio.gather(*(self.server.call() for _ in range(min(CHUNK, count - first))))
        return time.perf_counter() - begun

    async def ask(self) -> str:
        """One more question; its token."""
        return str((await self.server.call())["requestState"])

    async def answer(self, token: str) -> float:
        """Answer it; the seconds until the end of the call was here."""
        begun = time.perf_counter()
        await self.server.retry(token, {"q": {"action": "accept"}})
        return time.perf_counter() - begun

    async def answer_at(self, token: str) -> float:
        """Answer it; when the answer was committed."""
        store = self.store
        take_answers = store.take_answers

        async def noting(*args: Any) -> Any:
            taken, home = await take_answers(*args)
            if taken.verdict == "first":
                self.committed = time.monotonic()
            return taken, home

        store.take_answers = noting  # type: ignore[method-assign,assignment]
        await self.answer(token)
        store.take_answers = take_answers  # type: ignore[method-assign]
        return self.committed

    async def woken(self, token: str) -> float:
        """When the handler went on."""
        return self.woken_at.pop(token)

    async def listen(self) -> None:
        """Hear bare notifications."""
        db = await psycopg.AsyncConnection.connect(self.url, autocommit=True)
        await db.execute("LISTEN bare")

        async def hear() -> None:
            async with db:
                async for _ in db.notifies():
                    self._heard.put_nowait(time.monotonic())

        self._listening = asyncio.create_task(hear())

    async def heard(self) -> float:
        """When the next one came."""
        return await self._heard.get()

    async def notify(self, token: str) -> float:
        """Write the row of an answer, and send one; when it was committed."""
        if self._sending is None:
            self._sending = await psycopg.AsyncConnection.connect(
                self.url, autocommit=True, prepare_threshold=1
            )
        await self._sending.execute(USE, (b"d" * 100, b"a" * 150, NOW, token))
        committed = time.monotonic()
        await self._sending.execute("SELECT pg_notify('bare', %s)", (HINT,))
        return committed

    async def disk(self, table: str) -> int:
        """The bytes of a table with all that belongs to it."""
        row = await self.store.database.one("SELECT pg_total_relation_size(%s::text::regclass)", (table,))
        assert row is not None
        return int(row[0])

    async def consume(self, count: int, clients: int) -> tuple[float, float]:
        """The time of an answer with its event: seconds that pass, and seconds of this node's processor."""
        tokens = await self._opened(count)
        Ledger.of(self.store)  # whose key marks the events
        self.store.on_answered(
            lambda token, brought: True
        )  # their bodies are here, as those of a node's own calls are

        async def one(token: str) -> None:
            event = Record("q", BODY, False)
            await self.store.consume(token, RoundUse(ALICE, YES, digest(YES), NOW), events=[event])

        return await _each(tokens, clients, lambda _: _same(one))

    async def bare(self, count: int, clients: int) -> tuple[float, float]:
        """The same for the rows alone: an update and an insert in a transaction, on a connection for each client."""
        tokens = await self._opened(count)
        # In a table of its own: rows that the ledger did not write would break it.
        table = "CREATE TABLE IF NOT EXISTS handraise.bare_events (LIKE handraise.events INCLUDING ALL)"
        async with await psycopg.AsyncConnection.connect(self.url) as making:
            await making.execute(table)
        event = (
            "INSERT INTO handraise.bare_events (id, body, question, open, writer, kept, mac)"
            " VALUES (%s, %s, 'q', false, 'bare', '', %s)"
        )

        async def client(_: int) -> Callable[[str], Awaitable[None]]:
            db = await psycopg.AsyncConnection.connect(self.url, autocommit=True, prepare_threshold=1)
            self._bare.append(db)

            async def one(token: str) -> None:
                async with db.transaction():
                    await db.execute(f"{USE} AND digest IS NULL", (b"d" * 100, b"a" * 150, NOW, token))
                    await db.execute(event, (secrets.token_bytes(16), BODY, MAC))

            return one

        self._bare: list[psycopg.AsyncConnection[Any]] = []
        each = await _each(tokens, clients, client)
        for db in self._bare:
            await db.close()
        return each

    async def _opened(self, count: int) -> list[str]:
        tokens = [secrets.token_urlsafe(18) for _ in range(count)]
        rounds = [a_round(token, call_id=token)._replace(deadline=DEADLINE) for token in tokens]
        for first in range(0, count, CHUNK):
            await asyncio.gather(*(self.store.open_round(record) for record in rounds[first : first + CHUNK]))
        return tokens


CHUNK = 500


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def _same(one: Callable[[str], Awaitable[None]]) -> Callable[[str], Awaitable[None]]:
    return one


async def _each(
    tokens: list[str], clients: int, client: Callable[[int], Awaitable[Callable[[str], Awaitable[None]]]]
) -> tuple[float, float]:
    """The seconds that one takes when so many clients take one after the other: passed, and of the processor."""
    works = [await client(at) for at in range(clients)]
    left = iter(tokens)

    async def work(one: Callable[[str], Awaitable[None]]) -> None:
        for token in left:
            await one(token)

    begun, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work(one) for one in works))
    return (time.perf_counter() - begun) / len(tokens), (time.process_time() - used) / len(tokens)


async def main(url: str) -> None:
    """Do what each line says, until there is none."""
    node, loop = Node(url), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        what, *args = json.loads(line)
        print(json.dumps(await getattr(node, what)(*args)), flush=True)
    os._exit(0)  # orderly, each of its questions would be withdrawn, and that is not what is measured


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
