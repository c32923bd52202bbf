"""A request to the client on the legacy revisions: sent by the SDK, once for all duplicates of a call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from contextvars import Context, copy_context
from typing import Any

import anyio
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT, ErrorData

from handraise.errors import Expired, Failed, HandraiseError, Mode, NotSupported, Withdrawn
from handraise.server.calls import CURRENT, Wire
from handraise.server.rebind import scratch_of

Reply = dict[str, Any] | ErrorData
"""The client's reply to a request: its result, or an error."""

_BRIEFLY = 1.0
"""How long it may take to tell the client that a question is withdrawn."""
_NEVER = anyio.Event()


async def send_request(
    session: ServerSession,
    channel: Any,
    request_id: str,
    request: Wire,
    timeout: float,
    own: set[asyncio.Task[Reply]],
) -> dict[str, Any]:
    """Send a request under this id, or join the same request of a duplicate of the call; its result.

    Raises the `NoAnswer` that an error means for the question. When the task that sent the request is cancelled, the
    SDK tells the client, and the duplicates get `Withdrawn`. The same happens when the client cancels the call: the SDK
    then cancels only the dispatch that came last. While a request is under way its task is one of the caller's `own`.
    """
    under_way: dict[str, asyncio.Task[Reply]] = scratch_of(session).setdefault("handraise", {})
    sending = under_way.get(request_id)
    is_ours = sending is None
    if sending is None:
        sending = under_way[request_id] = asyncio.get_running_loop().create_task(
            _send(channel, request_id, request, timeout), context=_context_without_call()
        )
        sending.add_done_callback(lambda _sent: under_way.pop(request_id))
    own.add(sending)
    try:
        await asyncio.wait((sending,))
    except asyncio.CancelledError:
        if is_ours or getattr(channel, "cancel_requested", _NEVER).is_set():
            sending.cancel()
            await told((sending,))
        raise
    finally:
        own.discard(sending)
    if sending.cancelled():
        raise Withdrawn
    reply = sending.result()
    if isinstance(reply, ErrorData):
        raise _meaning(reply, request) from MCPError.from_error_data(reply)
    return reply


async def told(sending: Collection[asyncio.Task[Reply]]) -> None:
    """Wait until the client is told of requests that were cancelled; briefly, whatever happens around."""
    if sending:
        with anyio.move_on_after(_BRIEFLY, shield=True):
            await asyncio.wait(sending)


def _context_without_call() -> Context:
    """The reader of a message keeps the context in which it was sent until the next message: without our call."""
    context = copy_context()
    context.run(CURRENT.set, None)  # type: ignore[arg-type]
    return context


_TIMED_OUT = ErrorData(code=REQUEST_TIMEOUT, message="Nobody answered in time")
_NO_WAY = ErrorData(code=METHOD_NOT_FOUND, message="There is no way back to the client")


async def _send(channel: Any, request_id: str, request: Wire, timeout: float) -> Reply:
    end = time.monotonic() + timeout
    options = {"timeout": timeout, "request_id": request_id}
    try:
        result: dict[str, Any] = await channel.send_raw_request(
            request["method"], request.get("params"), options
        )
    except NoBackChannelError:
        return _NO_WAY
    except MCPError as error:
        is_late = error.code == REQUEST_TIMEOUT and time.monotonic() >= end
        return _TIMED_OUT if is_late else error.error
    return result


def _meaning(error: ErrorData, request: Wire) -> HandraiseError:
    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
        return NotSupported(_mode_of(request))
    if error is _TIMED_OUT:
        return Expired()
    if (error.code, error.message) == _CLOSED:
        return Withdrawn()
    return Failed(f"the client answered {error.code}: {error.message}", error_code=error.code)


_CLOSED = CONNECTION_CLOSED, "Connection closed"
"""The SDK's error for a connection that has ended. A client may answer with its code, and another message."""
_MODES: dict[str, Mode] = {"sampling/createMessage": "sampling", "roots/list": "roots"}


def _mode_of(request: Wire) -> Mode:
    method = request["method"]
    if method in _MODES:
        return _MODES[method]
    return "url" if request["params"].get("mode") == "url" else "form"
