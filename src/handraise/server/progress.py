"""Progress notices that keep a waiting call alive without getting in the way of the author's own.

Progress must grow with every notice, so the meter sees what the author reports and adds a little to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext

from handraise.server.rebind import channel_of, private_copy, set_channel

Context = ServerRequestContext[Any, Any]

_LITTLE = 0.001


class Meter:
    """Stands before the channel of one request and remembers how far its progress is."""

    def __init__(self, ctx: Context) -> None:
        self.ctx: Context = private_copy(ctx)
        self.channel: Any = channel_of(ctx.session)
        self._last = 0.0
        set_channel(self.ctx.session, self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.channel, name)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress as the author asked for it."""
        self._last = progress
        await self.channel.progress(progress, total, message)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Send any notice; one about progress is remembered."""
        if method == "notifications/progress" and params is not None:
            self._last = params["progress"]
        await self.channel.notify(method, params, opts)

    async def tick(self, message: str) -> None:
        """Say that the call is alive."""
        self._last += _LITTLE
        await self.channel.progress(self._last, None, message)
