"""A retry on 2026-07-28: it is taken to the body that waits for it, or that body is run again when it is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.context import CallNext

from handraise.conversation import Conversation, RoundRecord
from handraise.conversation.digest import Written
from handraise.conversation.recorded import Record
from handraise.revisions import Revision
from handraise.server.calls import Context
from handraise.server.declared import serves
from handraise.server.modern import ModernCall, binding_of
from handraise.server.person import principal_of
from handraise.server.rebind import attach_round, private_copy
from handraise.server.writing import write_answers
from handraise.wire import parse_retry

if TYPE_CHECKING:
    from handraise.server.runtime import Runtime


class ModernRetry:
    """One request that echoes a requestState of ours, with what it brings."""

    __slots__ = ("_call_next", "_ctx", "_runtime", "binding", "responses", "said", "token")

    def __init__(self, runtime: Runtime, ctx: Context, call_next: CallNext, token: str) -> None:
        self._runtime, self._ctx, self._call_next = runtime, ctx, call_next
        self.token = token
        self.responses: dict[str, Any]
        self.responses, written = parse_retry((ctx.params or {}).get("inputResponses"), write=write_answers)
        self.said = Written(written)
        self.binding = binding_of(ctx, principal_of(ctx)[1], runtime.name)

    def rebind(self, conversation: Conversation) -> None:
        """Point the body to this request, before it goes on."""
        call = conversation.body
        assert isinstance(call, ModernCall)
        if call.context is None:
            return
        attach_round(call.ctx, self._ctx, call.context)
        for carry in self._runtime.carriers:
            carry(call.context, self._ctx)

    async def may_replay(self, record: RoundRecord) -> bool:
        """Whether what serves this request is still the handler that asked, and was declared replayable."""
        if record.handler is None:
            return False
        return await serves(self._runtime.tools, record.binding.method, record.binding.target, record.handler)

    def replay(self, record: RoundRecord) -> Conversation:
        """Run a body that is gone once more."""
        own = private_copy(self._ctx)
        own.params = {k: v for k, v in (own.params or {}).items() if k not in _RETRYING}
        call = ModernCall(self._runtime, own, Revision.JULY_2026)
        call.brought = frozenset(self.responses)
        call.start_again(self._call_next, record)
        return call.conversation

    def tell_taken(self, of: Conversation | RoundRecord, answers: Mapping[str, Any]) -> Sequence[Record]:
        """The events that commit with the use of the round, if there is a ledger."""
        recorder = self._runtime.recorder
        return () if recorder is None else recorder.taken(self._ctx, Revision.JULY_2026, of, answers)

    def tell_lost(self, record: RoundRecord) -> Sequence[Record]:
        """The events that commit with the end of a round whose answers nobody can use, if there is a ledger."""
        recorder = self._runtime.recorder
        return () if recorder is None else recorder.lost(self._ctx, Revision.JULY_2026, record)


_RETRYING = frozenset({"requestState", "inputResponses"})
"""What a retry has beside the request that it repeats."""
