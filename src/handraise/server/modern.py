"""A call on 2026-07-28: a question ends the round, and the retry brings the answer."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.context import CallNext

from handraise.conversation import Binding, RoundRecord
from handraise.conversation.digest import Written, digest, keyed_id
from handraise.conversation.journal import Journal
from handraise.errors import Ambiguous, HandraiseError
from handraise.questions import Person
from handraise.server.calls import Call, Context, Wire
from handraise.server.limits import person_time
from handraise.server.person import person_of, principal_of
from handraise.server.rebind import detach_round
from handraise.server.writing import write_arguments
from handraise.wire import parse_input_responses

if TYPE_CHECKING:
    from handraise.server.recording import Recorder


class ModernCall(Call):
    """One request across all its rounds, on a body that can be suspended."""

    _bound: Binding | None = None
    _pinned: Written | None = None
    """Its arguments, where the author's code could change them in place."""
    _replays: str | None = None
    _person: Person | None = None

    def take(self, params: Mapping[str, Any]) -> None:
        """Take what the call brings: its arguments as they are now, and answers, before anything was asked."""
        arguments = params.get("arguments") or {}
        if type(arguments) is not dict or not _FIXED.issuperset(map(type, arguments.values())):
            self._pinned = Written(write_arguments(arguments))
        if "inputResponses" in params and params.get("requestState") is None:
            try:
                self.answered_before = parse_input_responses(params["inputResponses"])
            except HandraiseError as error:
                raise self.refusal(error) from error

    def start_again(self, call_next: CallNext, record: RoundRecord) -> None:
        """Run the handler once more that a body which is gone was running."""
        self._bound, self._replays = record.binding, record.handler
        self.conversation.seed = record.seed
        self.journal = self.conversation.journal = Journal(record.journal, record.pins)
        self.start(call_next, contextvars.copy_context(), self.begin)

    @property
    def binding(self) -> Binding:
        if self._bound is None:
            self._person, principal = principal_of(self.ctx)
            self._bound = binding_of(self.ctx, principal, self.runtime.name, self._pinned)
        return self._bound

    @property
    def person(self) -> Person:
        if self._person is None:
            self._person = person_of(self.ctx)
        return self._person

    @property
    def seed(self) -> str:
        """Kept with every round: another process that runs the body again has to name its questions alike."""
        conversation = self.conversation
        if not conversation.seed:
            conversation.seed = keyed_id(self.runtime.id_key, self.binding.person, self.request_id)
        return conversation.seed

    def next_key(self, content: object) -> str:
        self._numbered += 1
        if self.replayable:
            return keyed_id(self.seed.encode(), self._numbered, content)
        return keyed_id(self.runtime.id_key, self.binding.person, self.request_id, self._numbered, content)

    def paused(self) -> None:
        detach_round(self.ctx)

    def exchange(self, key: str, request: Wire, timeout: float) -> Awaitable[Any]:
        recorder = self.runtime.recorder
        if recorder is not None and not recorder.shares:
            return self._exchange_told(recorder, key, request, timeout)
        return self.conversation.exchange(key, request, timeout)

    async def _exchange_told(self, recorder: Recorder, key: str, request: Wire, timeout: float) -> Any:
        """Ask, when the ledger is not where the rounds are."""
        if self.journal is None or not self.journal.remembers(key, digest(request)):
            await recorder.asked(self, key)
        return await self.conversation.exchange(key, request, timeout)

    def conversation_id(self) -> str:
        return self.conversation.identify()

    @property
    def goes_on_elsewhere(self) -> bool:
        return bool(self.recordings) and not self.conversation.id

    async def together(self, askings: Sequence[Awaitable[Any]]) -> list[Any]:
        """Tasks of their own: what they ask in the same breath goes out in one round."""
        tasks = [asyncio.ensure_future(asking) for asking in askings]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    def refresh(self) -> None:
        # A task or a thread that the body started has a copy of its variables, with the token of an earlier round.
        token = None if self.context is None else self.context.get(auth_context_var)
        if token is not None and auth_context_var.get() is not token:
            auth_context_var.set(token)

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        # Bounded: a client or a proxy gives up on a request that stays silent; then the question is shown again.
        hold = min(self.runtime.options.hold, deadline - time.monotonic())
        with person_time():
            return await self.runtime.flows.wait(elicitation_id, self.person, hold)

    async def declare_replayable(self, name: str) -> None:
        if self.replayable:  # a replayable function that another one calls
            return
        await super().declare_replayable(name)
        if not self.replayable:
            return
        if self._replays not in (None, name):  # another tool of a lowlevel server
            raise self.raisable(Ambiguous(f"{self._replays} is now {name}"))
        self.conversation.handler = name
        self.journal = self.conversation.journal = self.conversation.journal or Journal()

    @contextmanager
    def step(self, key: str) -> Iterator[None]:
        with super().step(key), self.conversation.step():
            yield

    async def judge(self, said: object, verdict: Callable[[], Awaitable[str | None]]) -> str | None:
        # Once: a step of the body's own may have changed what the answer was judged by.
        if not self.replayable or self.journal is None:
            return await verdict()
        pin = digest(said)
        if (known := self.journal.verdict(pin)) is not None:
            return known.value  # type: ignore[no-any-return]
        reason = await verdict()
        await self.conversation.write(self.journal.judged(pin, reason))
        return reason

    async def keep_answer(self, key: str, request: Wire, answer: Any) -> None:
        if self.replayable and self.journal is not None:
            await self.conversation.write(self.journal.answered(key, digest(request), answer))

    async def remember(self, key: str, value: Any) -> None:
        self.journal = self.journal or Journal()
        entry = self.journal.done(key, value)
        if self.replayable:
            await self.conversation.write(entry)


_FIXED = frozenset({str, int, float, bool, type(None)})
"""The JSON values that nobody can change in place."""


def binding_of(ctx: Context, principal: str, server: str, arguments: Written | None = None) -> Binding:
    """What every retry of a call has to match: who makes it, the same call, and the same server."""
    params = ctx.params or {}
    target = params.get("uri" if ctx.method == "resources/read" else "name", "")
    return Binding(
        principal,
        ctx.method,
        str(target),
        arguments or Written(write_arguments(params.get("arguments") or {})),
        server,
    )
