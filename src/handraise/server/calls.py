"""The call that is being served: what `ask` talks to, the same on every revision."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT

from handraise.conversation import Binding, Conversation, RoundRecord
from handraise.conversation.digest import canonical, digest, keyed_id
from handraise.conversation.journal import Journal
from handraise.errors import (
    Expired,
    Failed,
    HandraiseError,
    Mode,
    NotSupported,
    TooManyQuestions,
    UsageError,
    Withdrawn,
)
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.server.clocks import innermost_scope, stopped_clocks
from handraise.server.endings import as_protocol_error, as_tool_error
from handraise.server.person import client_of_token, local_person, person_of
from handraise.server.progress import Meter
from handraise.server.rebind import channel_of, scratch_of, session_id_of, standalone_channel_of
from handraise.wire import Capabilities

if TYPE_CHECKING:
    from handraise.server.install import Runtime

Context = ServerRequestContext[Any, Any]
Wire = Mapping[str, Any]

_MODES: dict[str, Mode] = {"sampling/createMessage": "sampling", "roots/list": "roots"}


class Call:
    """One request that is being served, on any revision."""

    def __init__(self, runtime: Runtime, ctx: Context, revision: Revision) -> None:
        self.runtime = runtime
        self.ctx = ctx
        self.revision = revision
        self.journal: Journal | None = None
        self.ending: HandraiseError | MCPError | None = None
        """The error that was raised to end the call, in case the framework hides it."""
        self.answered_before: Mapping[str, Any] = {}
        """Answers that came with the call, before anything was asked."""
        self.outside: anyio.CancelScope | None = None
        """The cancel scope in which the body started: limits from there on are not the author's."""
        self._asked = 0
        self._numbered = 0

    # What differs between the revisions.

    async def exchange(self, requests: Mapping[str, Wire], timeout: float) -> dict[str, Any]:
        """Send input requests and give back what the client answered to each, as it came."""
        raise NotImplementedError

    @property
    def person(self) -> Person:
        """Who will answer."""
        raise NotImplementedError

    @property
    def seed(self) -> str:
        """What makes the ids of this call's questions its own."""
        raise NotImplementedError

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        """Wait for a URL question to be finished in the browser, as long as this revision lets a call wait."""
        raise NotImplementedError

    def announce_when_complete(self, elicitation_id: str, deadline: float) -> None:
        """Tell the client when a URL question is finished, where the revision has a notice for it."""

    # What does not.

    @property
    def capabilities(self) -> Capabilities:
        """What the client of the request that is live now can be asked for."""
        return declared_by(self.ctx.session, self.revision)

    def require_mode(self, mode: Mode) -> None:
        """Raise `NotSupported` unless the client declared that it can be asked this."""
        if not getattr(self.capabilities, mode):
            raise NotSupported(mode)

    def count(self, questions: int) -> None:
        """Take note of questions that are about to be asked; refuse when there were too many."""
        self._asked += questions
        limit = self.runtime.options.max_questions
        if self._asked > limit:
            raise TooManyQuestions(f"this call wants to ask question {self._asked}; {limit} are allowed")

    def next_key(self, content: object) -> str:
        """An id for the next question: the same when the same request is dispatched twice."""
        self._numbered += 1
        return keyed_id(self.runtime.id_key, self.person.key, self.seed, self._numbered, content)

    def raisable(self, error: HandraiseError) -> HandraiseError:
        """An error as it has to be raised so that it leaves this call well, if the author lets it."""
        if isinstance(error, NotSupported) and self.revision.modern:
            return as_protocol_error(error)
        if self.ctx.method == "tools/call":
            self.ending = error
            return as_tool_error(error, self.runtime.tool_error)
        return as_protocol_error(error)

    def end_with(self, error: MCPError) -> NoReturn:
        """End the call with a JSON-RPC error, also where the framework would hide it."""
        self.ending = error
        raise error

    def declare_replayable(self, handler: str) -> None:
        """The handler may run again from the top."""
        self.journal = self.journal or Journal()

    async def remember(self, key: str, value: Any) -> None:
        """Write a `once` result to the journal, safely, before the body goes on."""
        self.journal = self.journal or Journal()
        self.journal.done(key, value)


class ModernCall(Call):
    """A call on 2026-07-28: a question ends the round, and the retry brings the answer."""

    def __init__(self, runtime: Runtime, ctx: Context, revision: Revision) -> None:
        super().__init__(runtime, ctx, revision)
        params = ctx.params or {}
        self._person = person_of(ctx)
        self._client = client_of_token()
        self._method = ctx.method
        self._target = str(params.get("uri" if ctx.method == "resources/read" else "name", ""))
        arguments = params.get("arguments") or {}
        nested = not isinstance(arguments, dict) or any(isinstance(v, dict | list) for v in arguments.values())
        # The author's code may change nested arguments in place, so those are pinned before it runs.
        self._arguments: Any = canonical(arguments) if nested else arguments
        self.conversation = Conversation(runtime.lot, self.binding)
        self.conversation.first_id = str(ctx.request_id)

    def begin_again(self, record: RoundRecord) -> None:
        """Be the call that a body which is gone was serving."""
        self.conversation = Conversation(self.runtime.lot, record.binding)
        self.conversation.first_id = record.first_id
        self.journal = self.conversation.journal = Journal(record.journal)

    def binding(self) -> Binding:
        """What every retry of this call has to match."""
        arguments = self._arguments
        pinned = arguments if isinstance(arguments, bytes) else canonical(arguments)
        return Binding(
            person=f"{self._person.key} {self._client}",
            method=self._method,
            target=self._target,
            arguments=digest(pinned.decode()),
        )

    @property
    def person(self) -> Person:
        return self._person

    @property
    def seed(self) -> str:
        return self.conversation.first_id

    async def exchange(self, requests: Mapping[str, Wire], timeout: float) -> dict[str, Any]:
        with stopped_clocks(None):
            return await self.conversation.exchange(requests, timeout)

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        # Bounded: a client or a proxy gives up on a request that stays silent; then the question is shown again.
        hold = min(self.runtime.options.hold, deadline - time.monotonic())
        with stopped_clocks(None):
            return await self.runtime.flows.wait(elicitation_id, self.person, hold)

    def declare_replayable(self, handler: str) -> None:
        self.conversation.handler = handler
        self.journal = self.conversation.journal = self.conversation.journal or Journal()

    async def remember(self, key: str, value: Any) -> None:
        self.journal = self.journal or Journal()
        entry = self.journal.done(key, value)
        if self.conversation.handler is not None:
            await self.conversation.write(entry)


class LegacyCall(Call):
    """A call on 2025-06-18 or 2025-11-25: the question goes down the live call, and the body waits."""

    def __init__(self, runtime: Runtime, ctx: Context, revision: Revision) -> None:
        self._meter = Meter(ctx) if _wants_progress(ctx) else None
        super().__init__(runtime, ctx if self._meter is None else self._meter.ctx, revision)
        self.outside = innermost_scope()
        self.is_open = True

    @property
    def capabilities(self) -> Capabilities:
        if not self.ctx.session.can_send_request:
            return Capabilities()  # stateless or JSON-only HTTP: there is no way back to the client
        return super().capabilities

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

    async def exchange(self, requests: Mapping[str, Wire], timeout: float) -> dict[str, Any]:
        with stopped_clocks(self.outside):
            awake = self._keep_awake()
            try:
                return {key: await self._send(key, request, timeout) for key, request in requests.items()}
            finally:
                if awake is not None:
                    awake.cancel()

    async def completed(self, elicitation_id: str, deadline: float) -> bool:
        with stopped_clocks(self.outside):
            awake = self._keep_awake()
            try:
                return await self.runtime.flows.wait(elicitation_id, self.person, deadline - time.monotonic())
            finally:
                if awake is not None:
                    awake.cancel()

    def announce_when_complete(self, elicitation_id: str, deadline: float) -> None:
        if self.revision.url_mode:
            self.runtime.flows.announce(elicitation_id, deadline, lambda: self._tell(elicitation_id))

    async def _tell(self, elicitation_id: str) -> None:
        """The completion notice: on the call's own stream while it is open, then on the connection's."""
        channel = self.channel if self.is_open else standalone_channel_of(self.ctx.session)
        await channel.notify("notifications/elicitation/complete", {"elicitationId": elicitation_id})

    async def _send(self, key: str, request: Wire, timeout: float) -> Any:
        """Send one request, or join it when a duplicate of this call has sent it already."""
        under_way: dict[str, asyncio.Future[Any]] = scratch_of(self.ctx.session).setdefault("handraise", {})
        if (same := under_way.get(key)) is not None:
            return await asyncio.shield(same)
        answer = under_way[key] = asyncio.get_running_loop().create_future()
        try:
            raw = await self._request(key, request, timeout)
            answer.set_result(raw)
            return raw
        except HandraiseError as error:
            answer.set_exception(error)
            answer.exception()
            raise
        finally:
            answer.cancel()
            del under_way[key]

    async def _request(self, key: str, request: Wire, timeout: float) -> Any:
        method = request["method"]
        began = time.monotonic()
        try:
            return await self.channel.send_raw_request(
                method, request.get("params"), {"timeout": timeout, "request_id": key}
            )
        except NoBackChannelError as error:
            raise NotSupported(_mode_of(request)) from error
        except MCPError as error:
            if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
                raise NotSupported(_mode_of(request)) from error
            if error.code == REQUEST_TIMEOUT and time.monotonic() - began >= timeout:
                raise Expired from error
            if error.code == CONNECTION_CLOSED:
                raise Withdrawn from error
            raise Failed(f"the client answered {error.code}: {error.message}", error_code=error.code) from error

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

    def __init__(self, runtime: Runtime, session: ServerSession, revision: Revision) -> None:
        ctx: Context = ServerRequestContext(
            session=session,
            lifespan_context=None,
            protocol_version=session.protocol_version,
            method="",
        )
        super().__init__(runtime, ctx, revision)

    @property
    def person(self) -> Person:
        session = session_id_of(self.ctx.session)
        return Person("", session, "anonymous") if session else local_person()

    @property
    def capabilities(self) -> Capabilities:
        return declared_by(self.ctx.session, self.revision)

    @property
    def channel(self) -> Any:
        return standalone_channel_of(self.ctx.session)


CURRENT: ContextVar[Call] = ContextVar("handraise_call")


def current_call() -> Call:
    """The call that the running code serves. Raises `UsageError` outside of one."""
    call = CURRENT.get(None)
    if call is None:
        raise UsageError(
            "ask was used outside of a request. Ask inside a tool, prompt or resource template of a server on which "
            "Handraise().install(server) was called; on a legacy session of your own, pass session=…"
        )
    return call


def declared_by(session: ServerSession, revision: Revision) -> Capabilities:
    """What a client declared: `elicitation: {}` means form only, and URL needs 2025-11-25 or later."""
    declared = session.client_capabilities
    if declared is None:
        return Capabilities()
    elicitation = declared.elicitation
    return Capabilities(
        form=elicitation is not None and (elicitation.form is not None or elicitation.url is None),
        url=elicitation is not None and elicitation.url is not None and revision.url_mode,
        roots=declared.roots is not None,
        sampling=declared.sampling is not None,
    )


def _wants_progress(ctx: Context) -> bool:
    return ctx.meta is not None and ctx.meta.get("progress_token") is not None


def _mode_of(request: Wire) -> Mode:
    method = request["method"]
    if method in _MODES:
        return _MODES[method]
    return "url" if request["params"].get("mode") == "url" else "form"
