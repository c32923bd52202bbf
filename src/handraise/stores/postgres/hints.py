"""Wake-ups between nodes: hints that something may have happened, each to the one node that wants to know.

A hint is sent beside the transaction that it tells of, never inside: NOTIFY takes a lock that lets one transaction
commit after the other. Hints for the same node that wait while one is on its way go together. A hint that is lost
costs time, and never an answer: every node looks for itself now and then. Answers go along, sealed, where they fit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import psycopg

from handraise.errors import StoreError
from handraise.stores.postgres.database import Connection, Database
from handraise.stores.postgres.nodes import Node

Told: TypeAlias = Callable[[str, str, bytes], None]
"""Called with the node that gives a hint, the token that it is about, and what it brings."""

_FULL = 7_900
"""PostgreSQL takes fewer than 8,000 bytes in one notification."""
_LONGEST = 3_800
_PAUSE = 0.2


class Hints:
    """Sends the hints of one node, and hears those which are for it."""

    def __init__(self, database: Database, node: Node, told: Told) -> None:
        self._database = database
        self._node = node
        self._told = told
        self._waiting: dict[str, list[str]] = {}
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._hearing = asyncio.Event()

    async def start(self) -> None:
        """Listen, from now on if the database is there."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="handraise hints")
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE * 5):
                    await self._hearing.wait()

    async def stop(self) -> None:
        """Neither listen nor send any more."""
        tasks = [task for task in (self._listening, self._sending) if task is not None]
        self._listening = self._sending = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def give(self, node: str, token: str, brought: bytes = b"") -> None:
        """Hint to a node, soon, that something happened to a round."""
        self._waiting.setdefault(node, []).append(_written(token, brought))
        if self._sending is None or self._sending.done():
            self._sending = self._database.begin(self._send)

    async def _send(self, db: Connection) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            for node, hints in waiting.items():
                for payload in _packed(self._node.name, hints):
                    await db.execute("SELECT pg_notify(%s, %s)", (_channel(node), payload))

    async def _listen(self) -> None:
        while True:
            try:
                db = await self._database.connect()
                async with db:
                    await db.execute(f"LISTEN {_channel(self._node.name)}")
                    self._hearing.set()
                    async for notice in db.notifies():
                        self._hear(notice.payload)
            except (psycopg.Error, StoreError):
                await asyncio.sleep(_PAUSE)

    def _hear(self, payload: str) -> None:
        sender, *hints = payload.split(" ")
        for hint in hints:
            self._told(sender, *_read(hint))


def _written(token: str, brought: bytes) -> str:
    """One hint. What is too long to be brought is left for the other node to take up."""
    return f"{token}:{brought.hex()}" if 0 < len(brought) < _LONGEST else token


def _read(hint: str) -> tuple[str, bytes]:
    token, _, brought = hint.partition(":")
    try:
        return token, bytes.fromhex(brought)
    except ValueError:  # whoever may use the database may send anything
        return token, b""


def _packed(sender: str, hints: list[str]) -> list[str]:
    """The hints in as few payloads as they fit into."""
    packed = [sender]
    for hint in hints:
        if len(packed[-1]) + len(hint) >= _FULL:
            packed.append(sender)
        packed[-1] += f" {hint}"
    return packed


def _channel(node: str) -> str:
    return f"handraise_{node}"
