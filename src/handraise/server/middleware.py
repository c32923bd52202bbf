"""Where Handraise meets the SDK: the middleware around every handler that may ask."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext, HandlerResult

from handraise.conversation.rounds import Ready
from handraise.errors import AnswerNotKept, HandraiseError, StoreError
from handraise.revisions import Revision
from handraise.server.calls import CURRENT, Context
from handraise.server.endings import protocol_error
from handraise.server.legacy import LegacyCall
from handraise.server.modern import ModernCall
from handraise.server.rebind import private_copy
from handraise.server.retries import ModernRetry
from handraise.server.stand_ins import OwnBoundary, OwnTelemetry, is_ours

if TYPE_CHECKING:
    from handraise.server.runtime import Runtime

ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The only methods in which a server may ask (2026-07-28, input required)."""

_REVISIONS = {str(revision): revision for revision in Revision}
_NO_PARAMS: Mapping[str, Any] = {}


class AskingMiddleware:
    """Runs each handler so that it can ask, in a task of its own.

    It goes last, right around the handler, so that the author's own middleware sees every round. What it does in the
    place of the SDK's `boundary`, if that is next to it, costs nothing for a call that does not ask.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._boundary: OwnBoundary | None = None
        self._chain: list[Any] = []

    def go_last(self, chain: list[Any]) -> None:
        """Be the last in a chain, and stand for the boundary if that would be right before."""
        at = chain.index(self)
        chain[at : at + 1] = [] if self._boundary is None else [self._boundary]
        self._boundary = chain.pop() if chain and isinstance(chain[-1], OwnBoundary) else None
        chain.append(self)
        self._chain = chain

    def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        """A plain function, so that what cannot ask passes without a frame of ours, and what does not with few."""
        revision = _REVISIONS.get(ctx.protocol_version)
        if ctx.method not in ASKING_METHODS or ctx.request_id is None or revision is None:
            if ctx.method == "initialize":
                self._runtime.begin(ctx.session)
            return call_next(ctx) if self._boundary is None else self._boundary(ctx, call_next)
        chain, state = self._chain, (ctx.params or _NO_PARAMS).get("requestState")
        if state is not None and is_ours(state) and revision is Revision.JULY_2026:
            return self._resume(ctx, call_next, state)
        if len(chain) != 2 or type(chain[0]) is not OwnTelemetry:
            return self._serve_within(ctx, call_next, revision, state)
        # Alone with the SDK's telemetry, which awaits a handler as soon as it has it.
        if state is None:
            return self._begin(ctx, call_next, revision, contextvars.copy_context(), alone=True)
        return self._serve(ctx, call_next, revision, state, contextvars.copy_context(), alone=True)

    async def _serve_within(
        self, ctx: Context, call_next: CallNext, revision: Revision, state: Any
    ) -> HandlerResult:
        """Serve within middleware of the author's, which may await a handler later, in a task, or not at all.

        What a body has set in context variables is there when it has ended, as if it had run right here.
        """
        context = contextvars.copy_context()
        try:
            result: HandlerResult = await self._serve(ctx, call_next, revision, state, context, alone=False)
            return result
        finally:
            if CURRENT in context and not context[CURRENT].is_open:
                for variable, value in context.items():
                    if variable is not CURRENT and variable.get(None) is not value:
                        variable.set(value)

    def _serve(
        self,
        ctx: Context,
        call_next: CallNext,
        revision: Revision,
        state: Any,
        within: contextvars.Context,
        *,
        alone: bool,
    ) -> Any:
        if state is None or self._boundary is None:
            return self._begin(ctx, call_next, revision, within, alone=alone)

        def begin(opened: Context) -> Any:
            return self._begin(opened, call_next, revision, within, alone=alone, seals=False)

        return self._boundary(ctx, begin)

    def _begin(
        self,
        ctx: Context,
        call_next: CallNext,
        revision: Revision,
        within: contextvars.Context,
        *,
        alone: bool,
        seals: bool = True,
    ) -> Awaitable[HandlerResult]:
        """Begin a body, and give what comes of it first: a round, or the end of the call."""
        if revision is not Revision.JULY_2026:
            return LegacyCall(self._runtime, ctx, revision).start(call_next, within)
        # If we are alone with the SDK's own, the context is the body's once we have it.
        call = ModernCall(self._runtime, ctx if alone else private_copy(ctx), revision)
        call.take(ctx.params or _NO_PARAMS)
        first = call.start(call_next, within)
        if not seals or self._boundary is None or _has_no_state(first):
            return first
        return self._boundary.seal(ctx, first)

    async def _resume(self, ctx: Context, call_next: CallNext, token: str) -> HandlerResult:
        """Take a retry to its body, and give what comes of it next."""
        try:
            retry = ModernRetry(self._runtime, ctx, call_next, token)
            result: HandlerResult = await self._runtime.lot.resume(retry)
        except HandraiseError as error:
            told = AnswerNotKept(str(error)) if type(error) is StoreError else error
            raise protocol_error(told, Revision.JULY_2026) from error
        return result


def _has_no_state(first: Awaitable[HandlerResult]) -> bool:
    """Whether a call has come to a round of ours, or to its end with a result that has nobody's state in it."""
    if type(first) is asyncio.Task:
        if first.cancelled() or first.exception() is not None:
            return False
        result = first.result()
    elif not isinstance(first, Ready):
        return False
    elif first.outcome.kind == "round":
        return True
    else:
        result = first.outcome.value
    if type(result) is not dict:
        return False
    return result.get("resultType") != "input_required" or is_ours(result.get("requestState"))


Carrier = Callable[[contextvars.Context, Context], None]
"""Brings a framework's own variables of the live round into a body."""
