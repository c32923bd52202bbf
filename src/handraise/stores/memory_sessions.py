"""Legacy sessions in memory: for nodes that are applications of one process."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence

from handraise.conversation.sessions import Letter, Residence


class MemorySessions:
    """Sessions that go with the process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._nodes: dict[str, tuple[str | None, float]] = {}
        self._rows: dict[str, tuple[str, float]] = {}
        self._letters: dict[str, Letter] = {}

    async def announce(self, node: str, address: str | None, *, until: float) -> None:
        self._nodes[node] = address, until

    async def enter(self, session: str, node: str, *, until: float) -> None:
        self._rows[session] = node, until

    async def find(self, session: str, *, now: float) -> Residence | None:
        node, until = self._rows.get(session, ("", 0.0))
        address, lives_until = self._nodes.get(node, (None, 0.0))
        return Residence(node, address) if now < min(until, lives_until) else None

    async def leave(self, session: str) -> None:
        self._rows.pop(session, None)

    async def post(self, letter: Letter) -> None:
        self._letters.setdefault(letter.id, letter)

    async def letters(self, node: str) -> list[Letter]:
        return [letter for letter in self._letters.values() if letter.node == node]

    async def drop(self, ids: Sequence[str]) -> None:
        for id_ in ids:
            self._letters.pop(id_, None)

    async def sign(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode(), "sha256")

    async def is_signed(self, text: str, proof: bytes) -> bool:
        return hmac.compare_digest(await self.sign(text), proof)

    async def prune(self, now: float) -> int:
        nodes = [node for node, (_, until) in self._nodes.items() if now >= until]
        sessions = [session for session, (_, until) in self._rows.items() if now >= until]
        letters = [letter.id for letter in self._letters.values() if now >= letter.until]
        for node in nodes:
            del self._nodes[node]
        for session in sessions:
            del self._rows[session]
        await self.drop(letters)
        return len(nodes) + len(sessions) + len(letters)
