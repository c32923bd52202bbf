"""A request to the client by the shortest way.

The SDK's own way opens a telemetry span, a cancel scope and a memory stream for each request, which together
cost as much as a third of a plain call. Where the channel is the dispatcher that we know and nobody traces, the
request is written to its stream and its answer awaited in a future. Anywhere else the SDK's own way is taken.

Private names: `_JSONRPCDispatchContext._dispatcher`, `._request_id`; `JSONRPCDispatcher._pending`, `._write`,
`._cancel_outbound`, `._running`; `opentelemetry.trace._TRACER_PROVIDER`. A test pins them and says what to do when
they move.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher, _JSONRPCDispatchContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorData, JSONRPCRequest
from opentelemetry import trace

from handraise.conversation.deadlines import Deadlines
from handraise.conversation.eagerness import run_now, running_in
from handraise.server.progress import Meter


class _Waiter:
    """What the dispatcher finds under the id of our request: it puts the answer into a future.

    The body runs at once then, a turn of the event loop sooner than by itself.
    """

    __slots__ = ("_answer", "_body")

    on_progress = None

    def __init__(
        self, answer: asyncio.Future[dict[str, Any] | ErrorData], body: asyncio.Task[Any] | None
    ) -> None:
        self._answer = answer
        self._body = body

    @property
    def send(self) -> _Waiter:
        """The dispatcher has a stream here."""
        return self

    def send_nowait(self, outcome: dict[str, Any] | ErrorData) -> None:
        """The dispatcher's side."""
        if not self._answer.done():
            self._answer.set_result(outcome)
            # Not after an error: the dispatcher tells of a connection's end while it goes through what is pending.
            if self._body is not None and isinstance(outcome, dict):
                run_now(self._body)


def send_request(
    channel: Any,
    request_id: str,
    method: str,
    params: Mapping[str, Any] | None,
    timeout: float,
    deadlines: Deadlines,
) -> Awaitable[dict[str, Any]]:
    """Send a request with an id of our own and give back its result. Awaiting it raises `MCPError` like the SDK."""
    context = channel.channel if isinstance(channel, Meter) else channel
    dispatcher: Any = getattr(context, "_dispatcher", None)
    known = type(context) is _JSONRPCDispatchContext and type(dispatcher) is JSONRPCDispatcher
    if (
        not known
        or not context.can_send_request
        or not dispatcher._running
        or (trace._TRACER_PROVIDER is not None and trace.get_current_span().is_recording())
    ):
        sent: Awaitable[dict[str, Any]] = channel.send_raw_request(
            method, params, {"timeout": timeout, "request_id": request_id}
        )
        return sent
    return _express(context, dispatcher, request_id, method, params, timeout, deadlines)


async def _express(
    context: Any,
    dispatcher: Any,
    request_id: str,
    method: str,
    params: Mapping[str, Any] | None,
    timeout: float,
    deadlines: Deadlines,
) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[dict[str, Any] | ErrorData] = asyncio.Future(loop=loop)
    waiter = _Waiter(answer, running_in(loop))
    dispatcher._pending[request_id] = waiter
    fields: dict[str, Any] = {} if params is None else {"params": params}
    message = JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, **fields)
    deadline = deadlines.add(timeout, waiter.send_nowait, _TIMED_OUT)
    try:
        await dispatcher._write(message, ServerMessageMetadata(related_request_id=context._request_id))
        outcome = await answer
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        outcome = _CLOSED  # the client went before the dispatcher noticed
    except asyncio.CancelledError:
        await _withdraw(context, dispatcher, request_id, "caller cancelled")
        raise
    finally:
        deadlines.drop(deadline)
        dispatcher._pending.pop(request_id, None)
    if outcome is _TIMED_OUT:
        await _withdraw(context, dispatcher, request_id, "nobody answered in time")
    if isinstance(outcome, ErrorData):
        raise MCPError.from_error_data(outcome)
    return outcome


_TIMED_OUT = ErrorData(code=REQUEST_TIMEOUT, message="Nobody answered in time")
_CLOSED = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")


async def _withdraw(context: Any, dispatcher: Any, request_id: str, reason: str) -> None:
    """Tell the client that the question needs no answer any more; briefly, whatever happens around."""
    with anyio.move_on_after(1, shield=True):
        await dispatcher._cancel_outbound(request_id, reason, context._request_id)
