"""What stands in for middleware of the SDK's: does as it does, where that is of any use.

Private names: `RequestStateBoundary._security`, `._audience`, `._seal`, `._seal_result`; `mcp.shared._otel._tracer`,
`opentelemetry.trace._TRACER_PROVIDER`. A test pins them.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeGuard

from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import RequestStateBoundary
from mcp.shared import _otel
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)
from opentelemetry import trace

from handraise.conversation import TOKEN_PREFIX
from handraise.server.calls import Context


def stand_in(middleware: Any) -> Any:
    """What stands in for a middleware, if it is one of these; anybody else's stays."""
    if isinstance(middleware, RequestStateBoundary):
        return OwnBoundary(middleware)
    return OwnTelemetry() if type(middleware) is OpenTelemetryMiddleware else middleware


class OwnTelemetry(OpenTelemetryMiddleware):
    """The SDK's telemetry, which steps aside where nobody traces: its span would be nobody's, and in no trace.

    A request may name a trace, by whatever names were agreed on, which is handed on also by who records none.
    """

    def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        if (
            trace._TRACER_PROVIDER is None
            and type(_otel._tracer) is trace.ProxyTracer
            and (not ctx.meta or ctx.meta.keys() <= _NO_TRACE)
            and trace.get_current_span() is trace.INVALID_SPAN
        ):
            return call_next(ctx)
        return super().__call__(ctx, call_next)


_NO_TRACE = frozenset(
    {
        CLIENT_CAPABILITIES_META_KEY,
        CLIENT_INFO_META_KEY,
        LOG_LEVEL_META_KEY,
        PROTOCOL_VERSION_META_KEY,
        "progress_token",
    }
)
"""What a request says about itself by the protocol's own names."""


class OwnBoundary(RequestStateBoundary):
    """The SDK's boundary, which seals and opens everybody's requestState but ours.

    Ours is a random token that means nothing outside the store: there is nothing in it to protect, and its
    lifetime is the question's own.
    """

    def __init__(self, boundary: RequestStateBoundary) -> None:
        super().__init__(boundary._security, default_audience=boundary._audience)

    def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        state = None if ctx.params is None else ctx.params.get("requestState")
        if state is not None and is_ours(state):
            return call_next(ctx)
        return super().__call__(ctx, call_next)

    async def seal(self, ctx: Context, first: Awaitable[HandlerResult]) -> HandlerResult:
        """What comes of a call that brought no state, with somebody else's state in it sealed."""
        return self._seal_result(ctx, await first, None)

    def _seal(self, ctx: Context, state: str, binding: Any = None) -> str:
        return state if is_ours(state) else super()._seal(ctx, state, binding)


def is_ours(state: object) -> TypeGuard[str]:
    """Whether a requestState is one of ours."""
    return isinstance(state, str) and state.startswith(TOKEN_PREFIX)
