"""Which roots hold now: for a connection on the legacy revisions, for one call on 2026-07-28."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from handraise.server.ask import ask
from handraise.server.boundary.rootset import RootSet, adopt_uris
from handraise.server.served import current_call

Configured = Callable[[], RootSet | None]
"""The roots of the server's own configuration, as they are now; None when it has no opinion."""

_TRIES = 5


class Scope:
    """The roots of one client, read when they are needed and again after a notice that they changed.

    A new set takes the place of the old one in a single assignment: no operation ever sees half of each.
    """

    def __init__(self, configured: Configured) -> None:
        self._configured = configured
        self._lock = anyio.Lock()
        self._known: RootSet | None = None
        self._notices = 0

    def changed(self) -> None:
        """The client said that its roots changed: what is known of them holds no longer."""
        self._notices += 1
        self._known = None

    async def roots(self) -> RootSet:
        """The roots that hold now. What was opened under others stops working."""
        known = self._known
        if known is not None:
            return known
        async with self._lock:
            if self._known is None:
                self._known = known = await self._read()
                return known
            return self._known

    async def _read(self) -> RootSet:
        """Ask the client, and again when it says meanwhile that something changed."""
        for _ in range(_TRIES):
            heard, roots = self._notices, await self._ask()
            if heard == self._notices:
                return roots
        return RootSet(unusable=("the client's roots kept changing while they were read",))

    async def _ask(self) -> RootSet:
        configured = self._configured()
        if not current_call().can("roots"):
            return configured or RootSet(unusable=("the client has no roots and the server configures none",))
        named = adopt_uris(root.uri for root in await ask.roots())
        return named if configured is None else named & configured
