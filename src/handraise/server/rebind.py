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
from dataclasses import fields
from typing import Any, TypeVar

import anyio
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from opentelemetry.context import attach, get_current

T = TypeVar("T")

Context = ServerRequestContext[Any, Any]

_DECLARING = (CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY)
_CONTEXT = tuple(field.name for field in fields(ServerRequestContext))
SESSION = ("_request_outbound", "_connection", "_log_is_request_scoped", "_allowed_log_levels")
_MOVED = ("request_id", "meta", "request", "close_sse_stream", "close_standalone_sse_stream")


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
    """The same context for the body alone, so that the round's own is never changed.

    Only what the client says of itself is exchanged in both, for an equal one that other bodies have too.
    """
    own = _copy(ctx, ServerRequestContext, _CONTEXT)
    own.session = _copy(ctx.session, ServerSession, SESSION)
    meta = (ctx.params or {}).get("_meta")
    if type(meta) is dict:
        meta.update(_said.shared({key: meta[key] for key in _DECLARING if key in meta}))
    return own


def _copy(value: T, kind: type, names: tuple[str, ...]) -> T:
    own = object.__new__(type(value))
    if type(value) is kind:
        # One by one: an object whose `__dict__` nobody asks for is smaller, and quicker to read from.
        for name in names:
            setattr(own, name, getattr(value, name))
    else:
        own.__dict__.update(value.__dict__)
    return own


def attach_round(own: Context, live: Context) -> None:
    """Point the body's view to the request that is live now."""
    for name in _MOVED:
        setattr(own, name, getattr(live, name))
    session, now = own.session, live.session
    session._request_outbound = now._request_outbound
    session._allowed_log_levels = now._allowed_log_levels
    # The connection stays the first round's (frameworks keep state on it); what the client can do is this round's,
    # and so is the end at which things are closed.
    session._connection.client_capabilities = now._connection.client_capabilities
    session._connection.exit_stack = now._connection.exit_stack


def detach_round(own: Context) -> None:
    """Point the body's view to nobody, and let go of everything that belonged to the round."""
    for name in _MOVED:
        setattr(own, name, None)
    own.session._request_outbound = _NOBODY
    own.session._allowed_log_levels = _NO_LEVELS
    _slim(own.session._connection)


def _slim(connection: Connection) -> None:
    """Leave to a connection what is its own: thousands of bodies may be suspended, each with one."""
    if connection.initialized.is_set():
        connection.initialized = _INITIALIZED
    if not connection.exit_stack._exit_callbacks:  # type: ignore[attr-defined]
        connection.exit_stack = _NOTHING_TO_CLOSE
    params = connection._client_params
    if params is not None and params.capabilities is connection.client_capabilities:
        connection.client_params = _understood.shared(params)


class _Declarations:
    """What clients said of themselves lately. Most say the same, and that is kept once for all of them."""

    def __init__(self) -> None:
        self._known: tuple[Any, ...] = ()

    def shared(self, declared: Any) -> Any:
        """The same declaration, one that others have too."""
        for known in self._known:
            if known == declared:
                return known
        self._known = (declared, *self._known[:_FEW])
        return declared


_FEW = 7
_said = _Declarations()
_understood = _Declarations()


def carry_variables(into: contextvars.Context) -> None:
    """Give the body this round's access token and trace; its own variables stay as they are."""
    into.run(auth_context_var.set, auth_context_var.get())
    into.run(attach, get_current())


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
