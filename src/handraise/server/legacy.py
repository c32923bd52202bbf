"""A call on 2025-06-18 or 2025-11-25: the question goes down the live call, and the body waits."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
import weakref
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession

from handraise.conversation.digest import keyed_id
from handraise.errors import Mode, UsageError
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.server.calls import Call, Context, Wire
from handraise.server.client_requests import Reply, send_request, told
from handraise.server.limits import person_time
from handraise.server.notices import Notice
from handraise.server.person import person_of, principal_of
from handraise.server.progress import Meter
from handraise.server.rebind import channel_of, scratch_of, session_id_of, standalone_channel_of
from handraise.this_user import local_person

if TYPE_CHECKING:
    from handraise.server.runtime import Runtime

_BRIEFLY = 2.0
"""As long as the end of a call may take for what is left of it."""


class LegacyCall(Call):
    """One request whose body waits inline, on the stream of the request itself."""

    _channel = staticmethod(channel_of)
    """Where requests to the client go."""
    _sent = 0
    _made = ""
    """The key that was made for a question which was not sent yet."""

    _links: tuple[_Link, ...] = ()
    """Its URL questions that had no id of the author's."""

    def __init__(self, runtime: Runtime, ctx: Context, revision: Revision) -> None:
        self._meter = Meter(ctx) if _wants_progress(ctx) else None
        self._requests: set[asyncio.Task[Reply]] = set()
        """Its requests to the client that are under way."""
        super().__init__(runtime, ctx if self._meter is None else self._meter.ctx, revision)

    def can(self, mode: Mode) -> bool:
        # Stateless or JSON-only HTTP has no way back to the client, whatever it declared.
        return self.ctx.session.can_send_request and super().can(mode)

    @property
    def person(self) -> Person:
        return person_of(self.ctx)

    @property
    def seed(self) -> str:
        return f"{session_id_of(self.ctx.session)} {self.ctx.request_id!r}"

    def exchange(self, key: str, request: Wire, timeout: float) -> Awaitable[Any]:
        if self.runtime.recorder is None and self._meter is None:
            return self._send(key, request, timeout)
        return self._exchange_told(key, request, timeout)

    async def _exchange_told(self, key: str, request: Wire, timeout: float) -> Any:
        """Ask, and tell those who want to know: the ledger before, the client's timer meanwhile."""
        if self.runtime.recorder is not None:
            await self.runtime.recorder.asked(self, key)
        awake = self._keep_awake()
        try:
            return await self._send(key, request, timeout)
        finally:
            if awake is not None:
                awake.cancel()

    async def stop_asking(self) -> None:
        """And let the client know before the call ends."""
        left = {*self.prepared, *self.askers}
        await super().stop_asking()
        await asyncio.wait(left, timeout=_BRIEFLY)

    async def withdrawn_questions_told(self) -> None:
        await told(self._requests)

    def next_key(self, content: object) -> str:
        self._numbered += 1
        principal = principal_of(self.ctx)[1]
        self._made = keyed_id(self.runtime.id_key, principal, self.seed, self._numbered, content)
        return self._made

    def _send(self, key: str, request: Wire, timeout: float) -> Awaitable[Any]:
        """Send it under a JSON-RPC id that is new on this connection, and the same when the call is dispatched twice.

        A key that was made for it is. One that the author chose is the same in other calls, which would then get this
        call's answer; and a question that is asked again keeps its key.
        """
        self._sent += 1
        if key == self._made:
            self._made = ""
        else:
            key = keyed_id(self.runtime.id_key, self.seed, self._sent, key)
        session = self.ctx.session
        return send_request(session, self._channel(session), key, request, timeout, self._requests)

    async def together(self, askings: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        """One after the other: a client shows one dialog at a time."""
        try:
            return [await asking for asking in askings]
        finally:
            for asking in askings:  # those that come after one which failed
                asking.close()

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        awake = self._keep_awake()
        notice = self._notice(elicitation_id, math.inf, {})  # as long as we wait
        try:
            seconds = deadline - time.monotonic()
            with person_time():
                return await self.runtime.flows.wait(elicitation_id, self.person, seconds, notice)
        finally:
            if awake is not None:
                awake.cancel()

    def new_elicitation_id(self, url: str) -> str:
        """Random, and the same in a duplicate of this call: that one's answer is to the question of this one."""
        shared = scratch_of(self.ctx.session).setdefault("handraise ids", weakref.WeakValueDictionary())
        name = (self.person, self.seed, len(self._links), url)
        link = shared.setdefault(name, _Link(super().new_elicitation_id(url)))
        self._links = (*self._links, link)
        return str(link.elicitation_id)

    async def announce_when_complete(self, elicitation_id: str, deadline: float) -> None:
        keeper = scratch_of(self.ctx.session).setdefault("handraise notices", {})
        await self.runtime.flows.announce(self._notice(elicitation_id, deadline, keeper), self.person)

    def _notice(self, elicitation_id: str, deadline: float, keeper: dict[str, Notice]) -> Notice:
        connection = standalone_channel_of(self.ctx.session)
        return Notice(elicitation_id, deadline, connection, partial(_open_channel, weakref.ref(self)), keeper)

    def _keep_awake(self) -> asyncio.Task[None] | None:
        """Progress with the caller's token, so that the client's timer does not run out while a person thinks."""
        if self._meter is None:
            return None
        return asyncio.get_running_loop().create_task(self._tick(self._meter))

    async def _tick(self, meter: Meter) -> None:
        while True:
            await asyncio.sleep(self.runtime.options.keep_awake)
            await meter.tick("Waiting for the person to answer")


class SessionCall(LegacyCall):
    """No call at all: a question on a legacy session that the author holds, with an id of its own."""

    _channel = staticmethod(standalone_channel_of)

    def __init__(self, session: ServerSession) -> None:
        from handraise.server.runtime import runtime_for

        try:
            revision = Revision(session.protocol_version)
        except ValueError:
            raise UsageError(f"revision {session.protocol_version} has no elicitation") from None
        if revision.modern:
            raise UsageError("on 2026-07-28 a question needs a request that it belongs to")
        ctx: Context = ServerRequestContext(
            session=session, lifespan_context=None, protocol_version=session.protocol_version, method=""
        )
        super().__init__(runtime_for(session), ctx, revision)
        self._seed = secrets.token_urlsafe(12)

    def can(self, mode: Mode) -> bool:
        return Call.can(self, mode)

    def meaning(self, cancelled: asyncio.CancelledError) -> BaseException:
        return cancelled  # what is cancelled here is the author's own

    @property
    def seed(self) -> str:
        return self._seed

    @property
    def person(self) -> Person:
        session = session_id_of(self.ctx.session)
        return Person("", session, "anonymous") if session else local_person()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Link:
    """The id of a URL question, for as long as a call has it."""

    elicitation_id: str


def _open_channel(asker: weakref.ref[LegacyCall]) -> Any:
    """The channel of a call that is being served; None when it is over, or gone."""
    call = asker()
    return None if call is None or not call.is_open else call._channel(call.ctx.session)


def _wants_progress(ctx: Context) -> bool:
    return ctx.meta is not None and ctx.meta.get("progress_token") is not None
