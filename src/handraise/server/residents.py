"""The legacy sessions of one node: the others are told where they are, and bring what comes for them."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from handraise.conversation.sessions import Letter, Residence, Sessions
from handraise.errors import StoreError

logger = logging.getLogger(__name__)

_LEASE = 60.0
"""For how long a node that was not heard of is still taken to be there; most deaths show at once, by its address."""
_KEPT = 86_400.0
"""For how long a session is known to which no request came."""
_LOOK = 0.25
"""How often a node that the others cannot reach looks for letters."""
_TICK = 1.0


@runtime_checkable
class SharedStore(Protocol):
    """What routing needs of a store."""

    @property
    def sessions(self) -> Sessions:
        """The tables of legacy sessions."""
        ...

    def now(self) -> float:
        """The clock that all who share the store go by."""
        ...


class Residents:
    """Announces the sessions of one node, finds those of the others, and takes in letters."""

    def __init__(
        self, store: SharedStore, address: str | None, deliver: Callable[[Letter], Awaitable[None]]
    ) -> None:
        self._store = store
        self._deliver = deliver
        self.address = address
        self.node: str = secrets.token_hex(8)
        self._here: dict[str, float] = {}
        """When each session was last used, by the store's clock."""
        self._brought: set[str] = set()
        self._present: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    def __contains__(self, session: str) -> bool:
        return session in self._here

    async def admit(self, session: str) -> None:
        """Have a session, and let the others know before its client does."""
        await self._start()
        await self._note(session)

    async def use(self, session: str) -> None:
        """A request came to a session of ours: it is known for another while."""
        if self._store.now() - self._here.get(session, 0.0) > _KEPT / 2:
            with _told_if_away():
                await self._note(session)

    async def dismiss(self, session: str) -> None:
        """The client ended its session."""
        self._here.pop(session, None)
        with _told_if_away():
            await self._store.sessions.leave(session)

    async def find(self, session: str) -> Residence | None:
        """Where a session is; None when it is here, nowhere, or on a node that is gone."""
        found = await self._store.sessions.find(session, now=self._store.now())
        return None if found is None or found.node == self.node else found

    async def close(self) -> None:
        """Be here no more; whoever asks for our sessions is told that they are over."""
        if self._present is None:
            return
        present, self._present = self._present, None
        present.cancel()
        await asyncio.gather(present, return_exceptions=True)
        with _told_if_away():
            await self._store.sessions.announce(self.node, None, until=self._store.now())

    async def _note(self, session: str) -> None:
        now = self._store.now()
        await self._store.sessions.enter(session, self.node, until=now + _KEPT)
        self._here[session] = now

    async def _start(self) -> None:
        async with self._starting:
            if self._present is None:
                await self._announce()
                self._present = asyncio.create_task(self._be_present(), name="handraise sessions")

    async def _announce(self) -> None:
        now = self._store.now()
        await self._store.sessions.announce(self.node, self.address, until=now + _LEASE)
        for session in [known for known, used in self._here.items() if now - used > _KEPT]:
            del self._here[session]

    async def _be_present(self) -> None:
        loop = asyncio.get_running_loop()
        announced = loop.time()
        pause = _LOOK if self.address is None else _TICK
        while True:
            await asyncio.sleep(pause)
            with _told_if_away():
                if loop.time() - announced >= _LEASE / 3:
                    await self._announce()
                    announced = loop.time()
                if self.address is None:
                    await self._take_in(await self._store.sessions.letters(self.node))

    async def _take_in(self, letters: Sequence[Letter]) -> None:
        """Deliver each letter once, also when it could not be dropped the last time."""
        for letter in letters:
            if letter.id not in self._brought:
                self._brought.add(letter.id)
                await self._deliver(letter)
        if letters:
            await self._store.sessions.drop([letter.id for letter in letters])
            self._brought.clear()


@contextmanager
def _told_if_away() -> Iterator[None]:
    """What can wait until the store is there again, or until a lease ends, fails no request."""
    try:
        yield
    except StoreError as error:
        logger.warning("the sessions of this node could not be kept up to date: %s", error)
