"""A call on 2025-06-18 or 2025-11-25: the question goes down the live call, and the body waits."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT

from handraise.conversation.digest import keyed_id
from handraise.errors import Expired, Failed, HandraiseError, Mode, NotSupported, UsageError, Withdrawn
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.server.calls import Call, Context, Wire
from handraise.server.clocks import innermost_scope, start_clocks, stop_clocks
from handraise.server.express import send_request
from handraise.server.person import person_of, principal_of
from handraise.server.progress import Meter
from handraise.server.rebind import channel_of, scratch_of, session_id_of, standalone_channel_of
from handraise.this_user import local_person

if TYPE_CHECKING:
    from handraise.server.runtime import Runtime

_MODES: dict[str, Mode] = {"sampling/createMessage": "sampling", "roots/list": "roots"}


class LegacyCall(Call):
    """One request whose body waits inline, on the stream of the request itself."""

    def __init__(self, runtime: Runtime, ctx: Context, revision: Revision) -> None:
        self._meter = Meter(ctx) if _wants_progress(ctx) else None
        super().__init__(runtime, ctx if self._meter is None else self._meter.ctx, revision)
        self.outside = innermost_scope()
        self._sent = 0
        self._made = ""
        """The key that was made for a question which was not sent yet."""

    def can(self, mode: Mode) -> bool:
        # Stateless or JSON-only HTTP has no way back to the client, whatever it declared.
        return self.ctx.session.can_send_request and super().can(mode)

    @property
    def person(self) -> Person:
        return person_of(self.ctx)

    @property
    def seed(self) -> str:
        return f"{session_id_of(self.ctx.session)} {self.ctx.request_id}"

    @property
    def channel(self) -> Any:
        """Where requests to the client go."""
        return channel_of(self.ctx.session)

    def exchange(self, key: str, request: Wire, timeout: float) -> Awaitable[Any]:
        if self.runtime.recorder is None and self._meter is None:
            return self._send(self._next_id(key), request, timeout)
        return self._exchange_told(key, request, timeout)

    async def _exchange_told(self, key: str, request: Wire, timeout: float) -> Any:
        """Ask, and tell those who want to know: the ledger before, the client's timer meanwhile."""
        if self.runtime.recorder is not None:
            await self.runtime.recorder.asked(self, key)
        awake = self._keep_awake()
        try:
            return await self._send(self._next_id(key), request, timeout)
        finally:
            if awake is not None:
                awake.cancel()

    def next_key(self, content: object) -> str:
        self._numbered += 1
        principal = principal_of(self.ctx)[1]
        self._made = keyed_id(self.runtime.id_key, principal, self.seed, self._numbered, content)
        return self._made

    def _next_id(self, key: str) -> str:
        """The JSON-RPC id of the next request: new on this connection, and the same when the call is dispatched twice.

        A key that was made for it is. One that the author chose is the same in other calls, which would then get this
        call's answer; and a question that is asked again keeps its key.
        """
        self._sent += 1
        if key == self._made:
            self._made = ""
            return key
        return keyed_id(self.runtime.id_key, self.seed, self._sent, key)

    async def together(self, askings: Sequence[Awaitable[Any]]) -> list[Any]:
        """One after the other: a client shows one dialog at a time."""
        return [await asking for asking in askings]

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        stopped = stop_clocks(self.outside)
        awake = self._keep_awake()
        try:
            return await self.runtime.flows.wait(elicitation_id, self.person, deadline - time.monotonic())
        finally:
            if awake is not None:
                awake.cancel()
            start_clocks(stopped)

    def announce_when_complete(self, elicitation_id: str, deadline: float) -> None:
        self.runtime.flows.announce(elicitation_id, deadline, lambda: self._tell(elicitation_id))

    async def _tell(self, elicitation_id: str) -> None:
        """The completion notice: on the call's own stream while it is open, then on the connection's."""
        channel = self.channel if self.is_open else standalone_channel_of(self.ctx.session)
        await channel.notify("notifications/elicitation/complete", {"elicitationId": elicitation_id})

    async def _send(self, request_id: str, request: Wire, timeout: float) -> Any:
        """Send one request, or join it when a duplicate of this call has sent it already."""
        under_way: dict[str, asyncio.Future[Any]] = scratch_of(self.ctx.session).setdefault("handraise", {})
        if (same := under_way.get(request_id)) is not None:
            return await asyncio.shield(same)
        answer: asyncio.Future[Any] = asyncio.Future()
        under_way[request_id] = answer
        method, params, deadlines = request["method"], request.get("params"), self.runtime.lot.deadlines
        end = time.monotonic() + timeout
        try:
            raw = await send_request(self.channel, request_id, method, params, timeout, deadlines)
            answer.set_result(raw)
            return raw
        except MCPError as error:
            failure = _meaning(error, request, timed_out=time.monotonic() >= end)
            answer.set_exception(failure)
            answer.exception()  # seen: there may be no duplicate that waits for it
            raise failure from error
        finally:
            answer.cancel()
            del under_way[request_id]

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

    def __init__(self, runtime: Runtime, session: ServerSession) -> None:
        try:
            revision = Revision(session.protocol_version)
        except ValueError:
            raise UsageError(f"revision {session.protocol_version} has no elicitation") from None
        if revision.modern:
            raise UsageError("on 2026-07-28 a question needs a request that it belongs to")
        ctx: Context = ServerRequestContext(
            session=session, lifespan_context=None, protocol_version=session.protocol_version, method=""
        )
        super().__init__(runtime, ctx, revision)
        self._seed = secrets.token_urlsafe(12)

    def can(self, mode: Mode) -> bool:
        return Call.can(self, mode)

    @property
    def seed(self) -> str:
        return self._seed

    @property
    def person(self) -> Person:
        session = session_id_of(self.ctx.session)
        return Person("", session, "anonymous") if session else local_person()

    @property
    def channel(self) -> Any:
        return standalone_channel_of(self.ctx.session)


def _wants_progress(ctx: Context) -> bool:
    return ctx.meta is not None and ctx.meta.get("progress_token") is not None


def _meaning(error: MCPError, request: Wire, *, timed_out: bool) -> HandraiseError:
    """What it means for the question that a request came to an error."""
    if isinstance(error, NoBackChannelError) or error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
        return NotSupported(_mode_of(request))
    if error.code == REQUEST_TIMEOUT and timed_out:
        return Expired()
    if error.code == CONNECTION_CLOSED:
        return Withdrawn()
    return Failed(f"the client answered {error.code}: {error.message}", error_code=error.code)


def _mode_of(request: Wire) -> Mode:
    method = request["method"]
    if method in _MODES:
        return _MODES[method]
    return "url" if request["params"].get("mode") == "url" else "form"
