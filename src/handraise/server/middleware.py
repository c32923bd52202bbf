"""Where Handraise meets the SDK: the middleware around every handler that may ask."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from mcp.server.context import CallNext, HandlerResult
from mcp.server.request_state import RequestStateBoundary
from mcp.shared.exceptions import MCPError

from handraise.conversation import TOKEN_PREFIX, Conversation, RoundRecord
from handraise.errors import HandraiseError, NotReplayable
from handraise.revisions import Revision
from handraise.server.calls import CURRENT, Call, Context
from handraise.server.endings import describe, error_result, escaped
from handraise.server.legacy import LegacyCall
from handraise.server.modern import ModernCall, binding_of
from handraise.server.person import person_of
from handraise.server.rebind import attach_round, carry_variables, private_copy
from handraise.server.replay import is_declared
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
        if is_ours(state):
            return self._resume(ctx, state, call_next, revision)
        return self._start(ctx, call_next, revision, fresh=state is None)

    async def _serve_legacy(self, call: LegacyCall, call_next: CallNext) -> HandlerResult:
        before = CURRENT.set(call)
        try:
            return await _ended_well(call, call_next)
        except HandraiseError as error:
            raise _protocol_error(error, call.revision) from error
        finally:
            CURRENT.reset(before)

    async def _start(
        self, ctx: Context, call_next: CallNext, revision: Revision, *, fresh: bool
    ) -> HandlerResult:
        call = ModernCall(self._runtime, private_copy(ctx), revision)
        try:
            if fresh and ctx.params is not None and ctx.params.get("inputResponses"):
                call.answered_before = parse_input_responses(ctx.params["inputResponses"])
            result: HandlerResult = await call.run(_ended_well(call, call_next), _context_of(call))
        except HandraiseError as error:
            raise _protocol_error(error, revision) from error
        return result

    async def _resume(
        self, ctx: Context, token: str, call_next: CallNext, revision: Revision
    ) -> HandlerResult:
        """Take a retry to the body that waits for it, or run that body again when it is gone."""
        params: Mapping[str, Any] = ctx.params or {}

        def replay(record: RoundRecord) -> Conversation:
            if not is_declared(record.handler):
                raise NotReplayable(f"{record.binding.method} {record.binding.target} may not run again")
            own = private_copy(ctx)
            own.params = {k: v for k, v in params.items() if k not in ("requestState", "inputResponses")}
            call = ModernCall(self._runtime, own, revision)
            call.begin_again(record)
            call.brought = frozenset(responses)
            call.begin(_ended_well(call, call_next), _context_of(call))
            return call.conversation

        try:
            responses = parse_input_responses(params.get("inputResponses"))
            result: HandlerResult = await self._runtime.lot.resume(
                token,
                binding_of(ctx, person_of(ctx)),
                responses,
                rebind=lambda conversation: self._rebind(conversation, ctx),
                replay=replay,
                **_telling(self._runtime, ctx, revision),
            )
        except HandraiseError as error:
            raise _protocol_error(error, revision) from error
        return result

    def _rebind(self, conversation: Conversation, ctx: Context) -> None:
        context = conversation.context
        if context is None:
            return
        attach_round(context[CURRENT].ctx, ctx)
        carry_variables(context)
        for carry in self._runtime.carriers:
            carry(context, ctx)


class OwnBoundary(RequestStateBoundary):
    """The SDK's boundary, which seals and opens everybody's requestState but ours.

    Ours is a random token that means nothing outside the store: there is nothing in it to protect, and its
    lifetime is the question's own.
    """

    def __init__(self, boundary: RequestStateBoundary) -> None:
        super().__init__(boundary._security, default_audience=boundary._audience)

    def __call__(self, ctx: Context, call_next: CallNext) -> Any:
        if ctx.params is not None and is_ours(ctx.params.get("requestState")):
            return call_next(ctx)
        return super().__call__(ctx, call_next)

    def _seal(self, ctx: Context, state: str, binding: Any = None) -> str:
        return state if is_ours(state) else super()._seal(ctx, state, binding)


def _context_of(call: Call) -> contextvars.Context:
    """What a body runs in: the variables of the request that began it, and its own call."""
    context = contextvars.copy_context()
    context.run(CURRENT.set, call)
    return context


def _telling(runtime: Runtime, ctx: Context, revision: Revision) -> dict[str, Any]:
    """What the lot tells the ledger of a retry, if there is one."""
    if (recorder := runtime.recorder) is None:
        return {}
    return {
        "tell_taken": partial(recorder.taken, ctx, revision),
        "tell_lost": partial(recorder.lost, ctx, revision),
    }


def is_ours(state: object) -> TypeGuard[str]:
    """Whether a requestState is one of ours."""
    return isinstance(state, str) and state.startswith(TOKEN_PREFIX)


async def _ended_well(call: Call, call_next: CallNext) -> HandlerResult:
    """Run the handler. An error of ours that left the author's code becomes what it should be on the wire."""
    if call.runtime.recorder is not None:
        call_next = call.runtime.recorder.observing(call, call_next)
    try:
        result = await call_next(call.ctx)
    except HandraiseError as error:
        if call.ctx.method != "tools/call" or isinstance(error, MCPError):
            raise
        return call.runtime.stamped(error_result(error), call.revision)
    finally:
        call.is_open = False
    ending = call.ending
    if ending is None or not isinstance(result, dict) or not result.get("isError") or not escaped(ending):
        return result
    ending.__traceback__ = None
    if isinstance(ending, HandraiseError):
        return call.runtime.stamped({**result, **error_result(ending)}, call.revision)
    raise ending


def _protocol_error(error: HandraiseError, revision: Revision) -> MCPError:
    """The JSON-RPC error for an error of ours; the reason goes to the log, the frozen sentence to the wire."""
    if isinstance(error, MCPError):
        return MCPError.from_error_data(error.error)
    logger.warning("%s: %s", error.code, error)
    return MCPError(**describe(error, revision))


Carrier = Callable[[contextvars.Context, Context], None]
"""Brings a framework's own variables of the live round into a body."""
