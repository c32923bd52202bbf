"""Where Handraise meets the SDK: the middleware around every handler that may ask."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import RequestStateBoundary

from handraise.conversation import TOKEN_PREFIX
from handraise.errors import AnswerNotKept, HandraiseError, StoreError
from handraise.revisions import Revision
from handraise.server.calls import CURRENT, Context
from handraise.server.endings import protocol_error
from handraise.server.legacy import LegacyCall
from handraise.server.modern import ModernCall
from handraise.server.rebind import private_copy
from handraise.server.retries import ModernRetry

if TYPE_CHECKING:
    from handraise.server.runtime import Runtime

ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The only methods in which a server may ask (2026-07-28, input required)."""

_REVISIONS = {str(revision): revision for revision in Revision}
_NO_PARAMS: Mapping[str, Any] = {}


class AskingMiddleware:
    """Runs each handler so that it can ask, in a task of its own.

    It is the last middleware, right around the handler, so that the author's own middleware sees every round.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def arrange(self, chain: list[Any]) -> None:
        """Become the last of a chain of middleware, and keep our tokens out of the SDK's boundary."""
        others = (each for each in chain if each is not self)
        chain[:] = [
            *(TokenBypass(each) if isinstance(each, RequestStateBoundary) else each for each in others),
            self,
        ]

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        revision = _REVISIONS.get(ctx.protocol_version)
        if ctx.method not in ASKING_METHODS or ctx.request_id is None or revision is None:
            if ctx.method == "initialize":
                self._runtime.begin(ctx.session)
            return await call_next(ctx)
        state = (ctx.params or _NO_PARAMS).get("requestState")
        if is_ours(state) and revision.modern:
            return await self._resume(ctx, call_next, state)
        return await self._begin(ctx, call_next, revision)

    async def _begin(self, ctx: Context, call_next: CallNext, revision: Revision) -> HandlerResult:
        """Begin a body, and give what comes of it first: a round, or the end of the call.

        When the body has ended, its context variables are set here too, as if it had run right here.
        """
        context = contextvars.copy_context()
        call: LegacyCall | ModernCall
        if revision.modern:
            call = ModernCall(self._runtime, private_copy(ctx), revision)
            call.take(ctx.params or _NO_PARAMS)
        else:
            call = LegacyCall(self._runtime, ctx, revision)
        try:
            result: HandlerResult = await call.start(call_next, context)
            return result
        except asyncio.CancelledError:
            await call.withdrawn_questions_told()
            raise
        finally:
            if not call.is_open:
                for variable, value in context.items():
                    if variable is not CURRENT and variable.get(None) is not value:
                        variable.set(value)

    async def _resume(self, ctx: Context, call_next: CallNext, token: str) -> HandlerResult:
        """Take a retry to its body, and give what comes of it next."""
        try:
            retry = ModernRetry(self._runtime, ctx, call_next, token)
            result: HandlerResult = await self._runtime.lot.resume(retry)
        except HandraiseError as error:
            told = AnswerNotKept(str(error)) if type(error) is StoreError else error
            raise protocol_error(told, Revision.JULY_2026) from error
        return result


class TokenBypass:
    """Stands around the SDK's boundary, which seals and opens every requestState, and takes our tokens past it.

    A token of ours is random and means nothing outside the store. The seal would end it after ten minutes; its
    lifetime is the question's own.
    """

    def __init__(self, boundary: RequestStateBoundary) -> None:
        self._boundary = boundary

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params or _NO_PARAMS
        brought = params.get("requestState")
        issued: str | None = None

        async def inside(opened: Context) -> HandlerResult:
            nonlocal issued
            if is_ours(brought):
                opened = replace(opened, params={**(opened.params or _NO_PARAMS), "requestState": brought})
            result = await call_next(opened)
            if isinstance(result, Mapping) and is_ours(state := result.get("requestState")):
                issued = state
                return {**result, "requestState": None}  # the boundary seals nothing then
            return result

        if is_ours(brought):
            ctx = replace(ctx, params={**params, "requestState": None})  # and opens nothing
        result = await self._boundary(ctx, inside)
        return {**result, "requestState": issued} if issued and isinstance(result, Mapping) else result


def is_ours(state: object) -> TypeGuard[str]:
    """Whether a requestState is one of our tokens."""
    return isinstance(state, str) and state.startswith(TOKEN_PREFIX)


Carrier = Callable[[contextvars.Context, Context], None]
"""Brings a framework's own variables of the live round into a body."""
