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
        """The ids by which the client knows the server's latest requests, by the server's own."""
        self._open: dict[Id, None] = {}
        """Those of them that are not answered."""
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

    def as_known(self, message: Message) -> Message:
        """A server's message as the client knows it."""
        own: Any = message.id if message.is_request else message.params.get("requestId")
        if message.is_request:
            known = self._known_id(own)
            self._open[known] = None
            return message if known == own else message.with_(id=known)
        if message.method != CANCELLED or not is_id(own) or own not in self._asked:
            return message
        self._open.pop(self._asked[own], None)
        return cancel_for(message, self._asked[own])

    def _known_id(self, own: Id) -> Id:
        if own not in self._asked:
            self._asked[own] = own if self._mark is None else f"{self._mark}{next(self._fresh)}"
            if len(self._asked) > _MOST_ASKED:
                self._open.pop(self._asked.pop(next(iter(self._asked))), None)
        return self._asked[own]

    def own_answer(self, message: Message) -> Message | None:
        """The client's answer as the server knows it; None if it answers a request of an earlier session."""
        self._open.pop(id_key(message.id), None)
        if self._mark is None:
            return message
        own = next((own for own, known in self._asked.items() if known == message.id), None)
        return None if own is None else message.with_(id=own)

    def forget_open(self) -> list[Id]:
        """Forget the server's open requests; the ids by which the client knows them."""
        known, self._open = list(self._open), {}
        return known
