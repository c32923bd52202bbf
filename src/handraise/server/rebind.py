"""A body's own view of its request, moved from round to round.

The body keeps the context and the session that it was started with, whatever it captured of them. What
they point to changes: to the request that is live now, and to nobody while the body is suspended.

This is the only module that touches private names of the SDK on the way to the client:
`ServerSession._request_outbound`, `._allowed_log_levels` and `._connection`. Each is pinned by
a test that says what to do when it moves.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import anyio
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import NoBackChannelError
from opentelemetry.context import attach, get_current
from opentelemetry.trace import get_current_span

Context = ServerRequestContext[Any, Any]


class _Nobody:
    """The channel of a suspended body: nobody listens."""

    can_send_request = False
    request_id = None
    message_metadata = None
    transport = None

    def __init__(self) -> None:
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> Any:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Dropped: there is no request that it could belong to."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Dropped: there is no request that it could belong to."""


_NOBODY: Any = _Nobody()

_NO_LEVELS: frozenset[Any] = frozenset()


def private_copy(ctx: Context) -> Context:
    """The same context for the body alone, so that the round's own is never changed."""
    return replace(ctx, session=copy(ctx.session))


def attach_round(own: Context, live: Context, variables: contextvars.Context) -> None:
    """Point the body's view to the request that is live now, and give it this round's access token and trace.

    Its own variables stay as they are, and so does a span of its own that is open.
    """
    variables.run(_bring, auth_context_var.get(), get_current())
    own.request_id, own.meta, own.request = live.request_id, live.meta, live.request
    own.close_sse_stream = live.close_sse_stream
    own.close_standalone_sse_stream = live.close_standalone_sse_stream
    session, now = own.session, live.session
    session._request_outbound = now._request_outbound
    session._allowed_log_levels = now._allowed_log_levels
    # The connection stays the first round's (frameworks keep state on it); what the client can do is this round's,
    # and so is the end at which things are closed.
    session._connection.client_capabilities = now._connection.client_capabilities
    session._connection.exit_stack = now._connection.exit_stack


def _bring(token: Any, trace: Any) -> None:
    auth_context_var.set(token)
    if not get_current_span().is_recording():  # the span of a round ends with the round
        attach(trace)


def detach_round(own: Context) -> None:
    """Point the body's view to nobody, and let go of everything that belonged to the round."""
    own.request_id = own.meta = own.request = None
    own.close_sse_stream = own.close_standalone_sse_stream = None
    own.session._request_outbound = _NOBODY
    own.session._allowed_log_levels = _NO_LEVELS


def channel_of(session: ServerSession) -> Any:
    """The channel on which a request to the client belongs to the call that is being served."""
    return session._request_outbound


def set_channel(session: ServerSession, channel: Any) -> None:
    """Put another channel before the one of the call that is being served."""
    session._request_outbound = channel


def standalone_channel_of(session: ServerSession) -> Any:
    """The channel that belongs to the connection and to no call."""
    return session._connection.outbound


def scratch_of(session: ServerSession) -> dict[str, Any]:
    """A dictionary that lives as long as the connection."""
    return session._connection.state


def session_id_of(session: ServerSession) -> str:
    """The transport's session id, or nothing."""
    return session._connection.session_id or ""
