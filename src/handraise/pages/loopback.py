"""A loopback listener for a stdio server, open while a page waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp

from handraise.site.listener import Listener


class LoopbackListener:
    """Listens from the first page until no page has waited for `idle` seconds."""

    def __init__(
        self, app: Callable[[], ASGIApp], is_needed: Callable[[], bool], idle: float, port: int = 0
    ) -> None:
        self._port = port
        self.listener: Listener = self._new_listener()
        self._app = app
        self._is_needed = is_needed
        self._idle = idle
        self._lock = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def ensure(self) -> None:
        """Start listening."""
        async with self._lock:
            if not self.listener.is_running:
                self.listener = self._new_listener()  # the old port may be somebody else's by now
                await self.listener.start(self._app())
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._stop_when_idle(), name="handraise: idle pages")

    async def close(self) -> None:
        """Stop now."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await self.listener.stop()

    async def _stop_when_idle(self) -> None:
        while True:
            await asyncio.sleep(self._idle)
            async with self._lock:
                if not self._is_needed():
                    await self.listener.stop()
                    return

    def _new_listener(self) -> Listener:
        return Listener("The pages of this server", port=self._port)
