"""The current roots: of a connection on the legacy revisions, of one call on 2026-07-28."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from handraise.server.ask import ask
from handraise.server.boundary.rootset import RootSet, adopt_uris
from handraise.server.served import current_call

Configured = Callable[[], RootSet | None]
"""Returns the configured roots; None when none are configured."""

_TRIES = 5


class Scope:
    """The roots of one client, read when they are needed and again after a notice that they changed.

    A new set replaces the old one in a single assignment, so no operation sees a mixture.
    """

    def __init__(self, configured: Configured) -> None:
        self._configured = configured
        self._lock = anyio.Lock()
        self._known: RootSet | None = None
        self._notices = 0

    def changed(self) -> None:
        """Forget the roots, because the client said that they changed."""
        self._notices += 1
        self._known = None

    async def roots(self) -> RootSet:
        """The current roots. Files that were opened under other roots stop working."""
        known = self._known
        if known is not None:
            return known
        async with self._lock:
            if self._known is None:
                self._known = known = await self._read()
                return known
            return self._known

    async def _read(self) -> RootSet:
        """Ask the client; again if the roots change meanwhile."""
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
