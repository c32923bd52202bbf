"""One session at a server over streamable HTTP, and what ends with it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from handraise.gateway.messages import CANCELLED, Id, Message, cancel_for, id_key, is_id

_MOST_ASKED: Final = 4096


class RemoteSession:
    """A session. A server without sessions has one, which has no id and is never over."""

    def __init__(self, mark: str | None = None) -> None:
        """`mark`: what the ids of the server's requests begin with at the client. Default: they stay as they are."""
        self.id: str | None = None
        self.over = False
        """The server does not know it any more."""
        self.following: asyncio.Task[None] | None = None
        """Follows the server's own stream."""
        self.working: set[Id] = set()
        """The client's requests that the server answers with a stream, while it does."""
        self._mark = mark
        self._asked: dict[Id, Id] = {}
        """The server's open requests: the ids by which the client knows them, by the server's own."""
        self._fresh = count(1)

    def next(self) -> RemoteSession:
        """The session after this one.

        The attack, or a mishap: a server counts its questions from 1 again, and the late answer to question 1 of the
        old session counts for question 1 of the new one. So the client gets ids that it never saw.
        """
        return RemoteSession(f"handraise-{secrets.token_hex(8)}-")

    @contextmanager
    def works_on(self, message: Message) -> Iterator[None]:
        """Note that the server works on a request."""
        id = id_key(message.id)
        if message.is_request:
            self.working.add(id)
        try:
            yield
        finally:
            self.working.discard(id)

    def as_known(self, message: Message) -> Message | None:
        """A server's message as the client knows it; None for a request whose id is open already."""
        if message.is_request and message.id is not None:
            return self._ask(message, message.id)
        if message.method != CANCELLED:
            return message
        own: Any = message.params.get("requestId")
        known = self._asked.pop(own, None) if is_id(own) else None
        return message if known is None else cancel_for(message, known)

    def _ask(self, message: Message, own: Id) -> Message | None:
        if own in self._asked:
            return None
        if len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        known = self._asked[own] = own if self._mark is None else f"{self._mark}{next(self._fresh)}"
        return message if known == own else message.with_(id=known)

    def own_answer(self, message: Message) -> Message | None:
        """The client's answer as the server knows it; None if it answers a request of an earlier session."""
        own = next((own for own, known in self._asked.items() if known == message.id), None)
        if own is None:
            return message if self._mark is None else None
        del self._asked[own]
        return message if own == message.id else message.with_(id=own)

    def forget_asked(self) -> list[Id]:
        """Forget the server's open requests; the ids by which the client knows them."""
        known, self._asked = list(self._asked.values()), {}
        return known
