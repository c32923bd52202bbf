"""A request to the client by the shortest way.

The SDK's own way opens a telemetry span, a cancel scope and a memory stream for each request and waits a turn of the
event loop before it writes, which together cost as much as a third of a plain call. Where the channel is the
dispatcher that we know and nobody traces, the request is handed to whoever writes and its answer awaited in a future.
Anywhere else the SDK's own way is taken. One frame: each is one more to be resumed when the answer comes.

Private names: `_JSONRPCDispatchContext._dispatcher`, `._request_id`; `JSONRPCDispatcher._pending`, `._write`,
`._write_stream`, `._cancel_outbound`, `._resolve_pending`, `._running`, `._closed`; `_CLOSED_OUTCOME`;
`ContextSendStream._inner`; `opentelemetry.trace._TRACER_PROVIDER`. A test pins them and says what to do when they move.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import Context, copy_context
from typing import Any

import anyio
from mcp.server.session import ServerSession
from mcp.shared._context_streams import ContextSendStream
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import _CLOSED_OUTCOME, JSONRPCDispatcher, _JSONRPCDispatchContext
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCRequest,
)
from opentelemetry import trace

from handraise.conversation.deadlines import Deadlines
from handraise.conversation.eagerness import begin_now, ready_in, run_now, running_in
from handraise.errors import Expired, Failed, HandraiseError, Mode, NotSupported, Withdrawn
from handraise.server.calls import CURRENT, Wire
from handraise.server.pipe import write_at_once
from handraise.server.progress import Meter
from handraise.server.rebind import scratch_of

Reply = asyncio.Future[dict[str, Any] | ErrorData]
"""What the client says to a request: its result, or an error."""


class _Waiter:
    """What the dispatcher finds under the id of our request: it puts the answer into a future.

    The body runs at once then, a turn of the event loop sooner than by itself.
    """

    __slots__ = ("_answer", "_body")

    on_progress = None

    def __init__(self, answer: Reply, body: asyncio.Task[Any] | None) -> None:
        self._answer = answer
        self._body = body

    @property
    def send(self) -> _Waiter:
        """The dispatcher has a stream here."""
        return self

    def send_nowait(self, outcome: dict[str, Any] | ErrorData) -> None:
        """The dispatcher's side."""
        if not self._answer.done():
            waiting = ready_in(self._answer.get_loop())
            self._answer.set_result(outcome)
            # Not after an error: the dispatcher tells of a connection's end while it goes through what is pending.
            if self._body is not None and isinstance(outcome, dict):
                run_now(self._body, waiting)


async def send_request(
    session: ServerSession,
    channel: Any,
    request_id: str,
    request: Wire,
    timeout: float,
    deadlines: Deadlines,
    loop: asyncio.AbstractEventLoop,
) -> dict[str, Any]:
    """Send a request under an id of our own, or join it when a duplicate of the call has sent it already; its result.

    Raises what it means for the question that there is none.
    """
    under_way: dict[str, Reply] = scratch_of(session).setdefault("handraise", {})
    context = channel.channel if type(channel) is Meter else channel
    if (same := under_way.get(request_id)) is not None:
        return _result(await _joined(same, context, request_id), request)
    dispatcher: Any = getattr(context, "_dispatcher", None)
    known = type(context) is _JSONRPCDispatchContext and type(dispatcher) is JSONRPCDispatcher
    answer = under_way[request_id] = asyncio.Future(loop=loop)
    if (
        not known
        or not context.can_send_request
        or not dispatcher._running
        or (trace._TRACER_PROVIDER is not None and trace.get_current_span().is_recording())
    ):
        try:
            reply = await _sent_by_the_sdk(channel, request_id, request, timeout)
            if not answer.done():
                answer.set_result(reply)
        finally:
            answer.cancel()
            del under_way[request_id]
        return _result(answer.result(), request)
    waiter = dispatcher._pending[request_id] = _Waiter(answer, running_in(loop))
    deadline = deadlines.add(timeout, waiter.send_nowait, _TIMED_OUT, loop=loop)
    try:
        message = JSONRPCRequest(jsonrpc="2.0", id=request_id, **request)
        metadata = ServerMessageMetadata(related_request_id=context._request_id)
        if not _handed_over(dispatcher._write_stream, message, metadata):
            await dispatcher._write(message, metadata)
        outcome = await answer
    except _GONE:
        outcome = _CLOSED  # the client went before the dispatcher noticed
        waiter.send_nowait(outcome)
    except asyncio.CancelledError:
        await _withdraw(context, dispatcher, request_id, "caller cancelled")
        raise
    finally:
        answer.cancel()
        del under_way[request_id]
        deadlines.drop(deadline)
        dispatcher._pending.pop(request_id, None)
    if outcome is _TIMED_OUT:
        await _withdraw(context, dispatcher, request_id, "nobody answered in time")
    return outcome if isinstance(outcome, dict) else _result(outcome, request)


_TIMED_OUT = ErrorData(code=REQUEST_TIMEOUT, message="Nobody answered in time")
_CLOSED = _CLOSED_OUTCOME
"""What the dispatcher tells of a connection's end. A client that answers with the same code is there, and answers."""
_NEVER = anyio.Event()
_GONE = anyio.BrokenResourceError, anyio.ClosedResourceError
_GIVEN_UP = ErrorData(code=CONNECTION_CLOSED, message="The question was given up")
_NO_WAY = ErrorData(code=METHOD_NOT_FOUND, message="There is no way back to the client")


async def _joined(same: Reply, context: Any, request_id: str) -> dict[str, Any] | ErrorData:
    """The reply to a request of another dispatch of this call. When that one ends, nobody waits for it any more.

    A client that cancels the call reaches only the dispatch that came last, which then speaks for all of them.
    """
    try:
        await asyncio.wait((same,))
    except asyncio.CancelledError:
        if getattr(context, "cancel_requested", _NEVER).is_set():
            await _give_up(same, context, request_id, "caller cancelled")
        raise
    return _GIVEN_UP if same.cancelled() else same.result()


async def _give_up(reply: Reply, context: Any, request_id: str, reason: str) -> None:
    dispatcher = getattr(context, "_dispatcher", None)
    if type(dispatcher) is not JSONRPCDispatcher or reply.done():
        return
    dispatcher._resolve_pending(request_id, _GIVEN_UP)
    if not reply.done():  # it went by the SDK's way, which has a stream of its own
        reply.set_result(_GIVEN_UP)
    await _withdraw(context, dispatcher, request_id, reason)


def _handed_over(stream: Any, message: JSONRPCRequest, metadata: ServerMessageMetadata) -> bool:
    """Give a message to whoever writes, if they have nothing else to do."""
    if type(stream) is not ContextSendStream:
        return False
    if write_at_once(stream, message):
        return True
    try:
        stream._inner.send_nowait((_own_context(), SessionMessage(message, metadata)))
    except anyio.WouldBlock:
        return False
    return True


def _own_context() -> Context:
    """Whoever reads a message keeps its context until the next one comes: a call would be kept in there."""
    context = copy_context()
    context.run(CURRENT.set, None)  # type: ignore[arg-type]
    return context


async def _sent_by_the_sdk(
    channel: Any, request_id: str, request: Wire, timeout: float
) -> dict[str, Any] | ErrorData:
    end = time.monotonic() + timeout
    options = {"timeout": timeout, "request_id": request_id}
    try:
        sent: dict[str, Any] = await channel.send_raw_request(
            request["method"], request.get("params"), options
        )
    except NoBackChannelError:
        return _NO_WAY
    except MCPError as error:
        if error.code == REQUEST_TIMEOUT and time.monotonic() >= end:
            return _TIMED_OUT
        return _CLOSED if error.code == CONNECTION_CLOSED and _is_closed(channel, error) else error.error
    return sent


def _is_closed(channel: Any, error: MCPError) -> bool:
    """Whether an error that the SDK raised is about the connection's end, and not what the client answered."""
    context = channel.channel if type(channel) is Meter else channel
    return bool(getattr(getattr(context, "_dispatcher", context), "_closed", True)) or isinstance(
        error.__context__, _GONE
    )


async def _withdraw(context: Any, dispatcher: Any, request_id: str, reason: str) -> None:
    """Tell the client that the question needs no answer any more; briefly, whatever happens around.

    In a task of its own: who waits for whoever asked may be cancelled again and again, and hands that on.
    """
    told = dispatcher._cancel_outbound(request_id, reason, context._request_id)
    telling = begin_now(told, context=_own_context())
    _TELLING.add(telling)
    telling.add_done_callback(_TELLING.discard)
    with anyio.move_on_after(1, shield=True):
        await asyncio.shield(telling)


_TELLING: set[asyncio.Task[None]] = set()
"""They are kept until they are done."""


def _result(outcome: dict[str, Any] | ErrorData, request: Wire) -> dict[str, Any]:
    """The result of a request. Raises what it means for the question that it came to an error."""
    if isinstance(outcome, ErrorData):
        raise _meaning(outcome, request) from MCPError.from_error_data(outcome)
    return outcome


def _meaning(error: ErrorData, request: Wire) -> HandraiseError:
    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
        return NotSupported(_mode_of(request))
    if error is _TIMED_OUT:
        return Expired()
    if error is _GIVEN_UP or error is _CLOSED:
        return Withdrawn()
    return Failed(f"the client answered {error.code}: {error.message}", error_code=error.code)


_MODES: dict[str, Mode] = {"sampling/createMessage": "sampling", "roots/list": "roots"}


def _mode_of(request: Wire) -> Mode:
    method = request["method"]
    if method in _MODES:
        return _MODES[method]
    return "url" if request["params"].get("mode") == "url" else "form"
