"""Progress notices that keep a waiting call alive without getting in the way of the author's own.

Progress must grow with every notice, so the meter sees what the author reports, and adds a little to it that never
reaches the author's total. What the author reports is sent as it is, unless that little is more already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext

from handraise.server.rebind import channel_of, private_copy, set_channel

Context = ServerRequestContext[Any, Any]

_LITTLE = 0.001
_NOTICE = "notifications/progress"


class Meter:
    """Stands before the channel of one request and remembers how far its progress is."""

    def __init__(self, ctx: Context) -> None:
        self.ctx: Context = private_copy(ctx)
        self.channel: Any = channel_of(ctx.session)
        self._token = (ctx.meta or {}).get("progress_token")
        self._sent = self._said = -math.inf
        """What was sent last, and what the author said last."""
        self._total = math.inf
        set_channel(self.ctx.session, self)
        vars(self.ctx.session)["send_progress_notification"] = self._send

    def __getattr__(self, name: str) -> Any:
        return getattr(self.channel, name)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress as the author asked for it."""
        await self.channel.progress(self._reported(progress, total), total, message)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Send any notice; one about the progress of this request is a report of the author's."""
        if method == _NOTICE and params is not None and params.get("progressToken") == self._token:
            params = {**params, "progress": self._reported(params["progress"], params.get("total"))}
        await self.channel.notify(method, params, opts)

    async def _send(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: Any = None,
    ) -> None:
        """The session's own method, with what is about this request on its channel: elsewhere it would not be seen."""
        own: Any = self.ctx.request_id if progress_token == self._token else related_request_id
        session = self.ctx.session
        await type(session).send_progress_notification(session, progress_token, progress, total, message, own)

    async def tick(self, message: str) -> None:
        """Say that the call is alive, unless the author has said that nothing is left to do."""
        more = self._more()
        if more > self._sent:
            self._sent = more
            await self.channel.progress(more, None, message)

    def _reported(self, progress: float, total: float | None) -> float:
        """What to send for what the author reports."""
        grows, self._said = progress > self._said, progress
        if total is not None:
            self._total = total
        overtaken = grows and progress <= self._sent
        self._sent = max(progress, self._more()) if overtaken else progress
        return self._sent

    def _more(self) -> float:
        """A little more than was sent last, if there is room."""
        sent = max(self._sent, 0.0)
        return sent + (_LITTLE if self._total == math.inf else _LITTLE * (self._total - sent))
