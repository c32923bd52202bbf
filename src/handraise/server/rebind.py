"""A body's own view of its request, moved from round to round.

The body keeps the context and the session that it was started with, whatever it captured of them. What
they point to changes: to the request that is live now, and to nobody while the body is suspended.

This is the only module that touches private names of the SDK on the way to the client:
`ServerSession._request_outbound`, `ServerSession._allowed_log_levels`, `ServerSession._connection` and
`Connection._client_params`; and one of Python, `AsyncExitStack._exit_callbacks`. Each is pinned by a test that says
what to do when it moves.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import anyio
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from opentelemetry.context import attach, get_current
from opentelemetry.trace import get_current_span

T = TypeVar("T")

Context = ServerRequestContext[Any, Any]

_new = object.__new__


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

# What every connection of a suspended body has instead of its own.
_NO_LEVELS: frozenset[Any] = frozenset()
_INITIALIZED = anyio.Event()
_INITIALIZED.set()
_NOTHING_TO_CLOSE = AsyncExitStack()


def private_copy(ctx: Context) -> Context:
    """The same context for the body alone, so that the round's own is never changed."""
    if type(ctx) is not ServerRequestContext or type(ctx.session) is not ServerSession:
        own = _copy(ctx)
        own.session = _copy(ctx.session)
        return own
    # One by one: an object whose `__dict__` nobody asks for is smaller, and quicker to make and to read from.
    own, session, theirs = _new(ServerRequestContext), _new(ServerSession), ctx.session
    session._request_outbound = theirs._request_outbound
    session._connection = theirs._connection
    session._log_is_request_scoped = theirs._log_is_request_scoped
    session._allowed_log_levels = theirs._allowed_log_levels
    own.session = session
    own.lifespan_context = ctx.lifespan_context
    own.protocol_version = ctx.protocol_version
    own.method = ctx.method
    own.params = ctx.params
    own.request_id = ctx.request_id
    own.meta = ctx.meta
    own.request = ctx.request
    own.close_sse_stream = ctx.close_sse_stream
    own.close_standalone_sse_stream = ctx.close_standalone_sse_stream
    return own


def _copy(value: T) -> T:
    own = _new(type(value))
    own.__dict__.update(value.__dict__)
    return own


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


def detach_round(own: Context, *, crowded: bool) -> None:
    """Point the body's view to nobody, and let go of everything that belonged to the round.

    Where thousands are suspended, each with a connection, it is left only what is its own.
    """
    own.request_id = own.meta = own.request = None
    own.close_sse_stream = own.close_standalone_sse_stream = None
    own.session._request_outbound = _NOBODY
    own.session._allowed_log_levels = _NO_LEVELS
    connection = own.session._connection
    connection.initialized = _INITIALIZED  # on 2026-07-28 it is from the start
    if not connection.exit_stack._exit_callbacks:  # type: ignore[attr-defined]
        connection.exit_stack = _NOTHING_TO_CLOSE
    if crowded and own.params is not None and type(meta := own.params.get("_meta")) is dict:
        _share_declared(meta, connection)


_declared: list[tuple[Any, Any, Any]] = []
_FEW = 8


def _share_declared(meta: dict[str, Any], connection: Any) -> None:
    """What a client says of itself, and what the SDK made of it: most say the same, and that is kept once for all."""
    understood = connection._client_params
    if understood is None or understood.capabilities is not connection.client_capabilities:
        return
    can, name = meta.get(CLIENT_CAPABILITIES_META_KEY), meta.get(CLIENT_INFO_META_KEY)
    for known in _declared:
        if known[0] == can and known[1] == name:
            break
    else:
        known = can, name, understood
        _declared.insert(0, known)
        del _declared[_FEW:]
    if can is not None:
        meta[CLIENT_CAPABILITIES_META_KEY] = known[0]
    if name is not None:
        meta[CLIENT_INFO_META_KEY] = known[1]
    connection.client_params = known[2]


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
