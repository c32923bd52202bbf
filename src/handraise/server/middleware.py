"""Where Handraise meets the SDK: the middleware around every handler that may ask."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import RequestStateBoundary
from mcp.shared.exceptions import MCPError

from handraise.conversation import TOKEN_PREFIX
from handraise.conversation.body import is_fine
from handraise.errors import HandraiseError
from handraise.revisions import Revision
from handraise.server.calls import CURRENT, Context
from handraise.server.endings import describe
from handraise.server.legacy import LegacyCall
from handraise.server.modern import ModernCall
from handraise.server.rebind import private_copy
from handraise.server.retries import ModernRetry
from handraise.wire import parse_input_responses

if TYPE_CHECKING:
    from handraise.server.runtime import Runtime

logger = logging.getLogger(__name__)

ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The only methods in which a server may ask (2026-07-28, input required)."""

_REVISIONS = {str(revision): revision for revision in Revision}


class AskingMiddleware:
    """Runs each handler so that it can ask: inline on the legacy revisions, in a task of its own on the modern one.

    It goes last, right around the handler, so that the author's own middleware sees every round.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """A plain function, so that what cannot ask passes without a frame of ours."""
        revision = _REVISIONS.get(ctx.protocol_version)
        if ctx.method not in ASKING_METHODS or ctx.request_id is None or revision is None:
            return call_next(ctx)
        if revision is not Revision.JULY_2026:
            return self._serve_legacy(LegacyCall(self._runtime, ctx, revision), call_next)
        state = None if ctx.params is None else ctx.params.get("requestState")
        if state is not None and is_ours(state):
            return self._resume(ctx, call_next, state)
        return self._start(ctx, call_next)

    async def _serve_legacy(self, call: LegacyCall, call_next: CallNext) -> HandlerResult:
        before = CURRENT.set(call)
        try:
            try:
                return call.returned(await call.observed(call_next)(call.ctx))
            except HandraiseError as error:
                return call.raised(error)
            finally:
                call.is_open = False
                CURRENT.reset(before)
        except HandraiseError as error:
            raise _protocol_error(error, call.revision) from error

    def _start(self, ctx: Context, call_next: CallNext) -> Awaitable[HandlerResult]:
        """Begin a body, and give what comes of it first: a round, or the end of the call.

        A body that is over by then is given as it is: most never ask, and have no other frame of ours around them.
        """
        call = ModernCall(self._runtime, private_copy(ctx), Revision.JULY_2026)
        call.pin_arguments()
        params = ctx.params
        if params is not None and "inputResponses" in params and params.get("requestState") is None:
            return self._start_answered(call, call_next, params["inputResponses"])
        first = call.start(call_next)
        return first if is_fine(first) else _told(first)

    async def _start_answered(self, call: ModernCall, call_next: CallNext, brought: object) -> HandlerResult:
        """Begin a body whose request brings answers before anything was asked."""
        try:
            call.answered_before = parse_input_responses(brought)
        except HandraiseError as error:
            raise _protocol_error(error, Revision.JULY_2026) from error
        return await _told(call.start(call_next))

    async def _resume(self, ctx: Context, call_next: CallNext, token: str) -> HandlerResult:
        """Take a retry to its body, and give what comes of it next."""
        try:
            retry = ModernRetry(self._runtime, ctx, call_next, token)
            result: HandlerResult = await self._runtime.lot.resume(retry)
        except HandraiseError as error:
            raise _protocol_error(error, Revision.JULY_2026) from error
        return result


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

    def _seal(self, ctx: Context, state: str, binding: Any = None) -> str:
        return state if is_ours(state) else super()._seal(ctx, state, binding)


def is_ours(state: object) -> TypeGuard[str]:
    """Whether a requestState is one of ours."""
    return isinstance(state, str) and state.startswith(TOKEN_PREFIX)


async def _told(first: Awaitable[HandlerResult]) -> HandlerResult:
    """What comes of a body first, with an error of ours as the protocol has it."""
    try:
        return await first
    except HandraiseError as error:
        raise _protocol_error(error, Revision.JULY_2026) from error


def _protocol_error(error: HandraiseError, revision: Revision) -> MCPError:
    """The JSON-RPC error for an error of ours; the reason goes to the log, the frozen sentence to the wire."""
    if isinstance(error, MCPError):
        return MCPError.from_error_data(error.error)
    logger.warning("%s: %s", error.code, error)
    return MCPError(**describe(error, revision))


Carrier = Callable[[contextvars.Context, Context], None]
"""Brings a framework's own variables of the live round into a body."""
