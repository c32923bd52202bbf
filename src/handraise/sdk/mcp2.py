"""The adapter for mcp 2.x: `MCPServer`, the lowlevel `Server`, and FastMCP 4, whose lowlevel server is one of these."""

from __future__ import annotations

import contextvars
import dataclasses
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeGuard

from mcp.server.auth.middleware.auth_context import auth_context_var, get_access_token
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateBoundary
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    SERVER_INFO_META_KEY,
    ErrorData,
    Request,
    Result,
)
from opentelemetry.context import attach, get_current
from opentelemetry.trace import get_current_span
from pydantic import ConfigDict, ValidationError

from handraise.calls import TOKEN_PREFIX
from handraise.errors import HandraiseError, SetupError, sentence
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.sdk import private
from handraise.sdk.adapter import (
    ASKING_METHODS,
    Adapter,
    ClientName,
    ConnectionLost,
    IncomingRequest,
    Progress,
    RequestFailed,
    Service,
    has_stand_ins,
    mixed,
    run_instead,
    stand_in_of,
)
from handraise.this_user import local_person
from handraise.wire import RESUMES, Capabilities

Context = ServerRequestContext[Any, Any]

_REVISIONS = {str(revision): revision for revision in Revision}
_CONTEXT_FIELDS = frozenset(
    {"session", "method", "params", "request_id", "meta", "request", "protocol_version"}
)


class Mcp2Adapter(Adapter):
    """One server on mcp 2.x."""

    def __init__(self, server: MCPServer[Any] | Server[Any]) -> None:
        super().__init__(server, server if isinstance(server, Server) else private.lowlevel_server(server))
        _require_known_middleware(self.low)

    def install(self, service: Service) -> None:
        if any(isinstance(each, AskingMiddleware) for each in self.low.middleware):
            raise SetupError(
                "Handraise is installed on this server already; install it once, with all options"
            )
        middleware = AskingMiddleware(self, service)
        self.low.middleware.append(middleware)
        authors = self.low.lifespan

        @asynccontextmanager
        async def lifespan(low: Server[Any]) -> AsyncIterator[Any]:
            middleware.move_to_the_end(low.middleware)  # now, because others may have been added since
            await self._put_guards_in_place()
            async with authors(low) as state, service.running():
                yield state

        self.low.lifespan = lifespan

    def on_notice(self, method: str, heard: Callable[[IncomingRequest | None], None]) -> None:
        """Call a function with every notice of this method."""

        async def hear(ctx: Context, call_next: CallNext) -> HandlerResult:
            if ctx.method == method:
                heard(self.request(ctx, call_next))
            return await call_next(ctx)

        self.low.middleware.append(hear)

    def request(self, ctx: Context, call_next: CallNext) -> Mcp2Request:
        """A request as our side sees it."""
        return Mcp2Request(ctx, call_next)

    def stamp(self, result: dict[str, Any], revision: Revision) -> dict[str, Any]:
        if revision.modern:
            result.setdefault("resultType", "complete")
            result["_meta"] = {
                **result.get("_meta", {}),
                SERVER_INFO_META_KEY: dict(self.low.server_info_stamp),
            }
        return result

    # Errors.

    def as_tool_error(self, error: HandraiseError) -> HandraiseError:
        # MCPServer passes on an MCPError. Any other error becomes a result, and is logged as a failure of the tool.
        return (
            error if self.one_handler else self._mix(error, MCPError, {"code": 0, "message": sentence(error)})
        )

    def as_protocol_error(self, error: HandraiseError, fault: Mapping[str, Any]) -> HandraiseError:
        return self._mix(error, MCPError, fault)

    def _mix(
        self, error: HandraiseError, theirs: type[Exception], fault: Mapping[str, Any]
    ) -> HandraiseError:
        """Make our error also an instance of theirs. It stays the same object, with the same traceback."""
        if not isinstance(error, theirs):
            error.__class__ = mixed(type(error), theirs)  # type: ignore[arg-type]
        error.__dict__["error"] = ErrorData(**fault)
        return error

    def refusal(self, fault: Mapping[str, Any]) -> Exception:
        return MCPError(**fault)

    def fault_of(self, error: BaseException) -> dict[str, Any] | None:
        return error.error.model_dump(exclude_none=True) if isinstance(error, MCPError) else None

    def is_wrapped(self, error: HandraiseError, by: BaseException) -> bool:
        return False  # it passes on errors of its own class, which ours are

    # The author's functions.

    async def handler_of(self, method: str, target: str) -> object:
        if self.one_handler:
            entry = self.low.get_request_handler(method)
            return None if entry is None else entry.handler
        return getattr(private.component(self._server(), method, target), "fn", None)

    async def _put_guards_in_place(self) -> None:
        """Make each tool run the guarded function, even if the guard is above `@server.tool()`."""
        if not has_stand_ins():
            return
        tools = await self.tools()
        if tools is None:  # one might run without its guard
            raise SetupError(
                "this release of mcp hides its tools, so Handraise cannot see that each @guard is in place. "
                "handraise doctor says which releases work."
            )
        for tool in tools:
            if (instead := stand_in_of(getattr(tool, "fn", None))) is not None:
                run_instead(tool, instead)


class AskingMiddleware:
    """Passes every request that may ask to our service.

    It is the last middleware, right around the handler, so that the author's own middleware sees every round.
    """

    def __init__(self, adapter: Mcp2Adapter, service: Service) -> None:
        self._adapter = adapter
        self._service = service

    def move_to_the_end(self, chain: list[Any]) -> None:
        """Become the last middleware, and take our tokens past the SDK's boundary."""
        others = (each for each in chain if each is not self)
        chain[:] = [
            *(TokenBypass(each) if isinstance(each, RequestStateBoundary) else each for each in others),
            self,
        ]

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method in ASKING_METHODS and ctx.request_id is not None:
            result: HandlerResult = await self._service.serve(self._adapter.request(ctx, call_next))
            return result
        if ctx.method == "notifications/initialized":
            request = self._adapter.request(ctx, call_next)
            request.connection[_SESSION_ID] = request.session_id
            self._service.meet(request)
        result = await call_next(ctx)
        if ctx.method == "server/discover" and self._service.resumes and isinstance(result, dict):
            return _declaring_resumes(result)
        return result


class TokenBypass:
    """Takes our tokens past the SDK's boundary, which seals and opens every requestState.

    Our token is random and means nothing outside the store. The seal would expire after ten minutes; a question may
    take longer.
    """

    def __init__(self, boundary: RequestStateBoundary) -> None:
        self._boundary = boundary

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params or {}
        brought = params.get("requestState")
        issued: str | None = None

        async def inside(opened: Context) -> HandlerResult:
            nonlocal issued
            if _is_ours(brought):
                opened = dataclasses.replace(
                    opened, params={**(opened.params or {}), "requestState": brought}
                )
            result = await call_next(opened)
            if isinstance(result, Mapping) and _is_ours(state := result.get("requestState")):
                issued = state
                return {**result, "requestState": None}  # the boundary seals nothing then
            return result

        if _is_ours(brought):
            ctx = dataclasses.replace(ctx, params={**params, "requestState": None})  # and opens nothing
        result = await self._boundary(ctx, inside)
        return {**result, "requestState": issued} if issued and isinstance(result, Mapping) else result


class Mcp2Request(IncomingRequest):
    """A request of a client."""

    def __init__(self, ctx: Context, call_next: CallNext) -> None:
        self.ctx = ctx
        self.method = ctx.method
        self.id = ctx.request_id
        self.params: Mapping[str, Any] = ctx.params or {}
        known = _REVISIONS.get(ctx.protocol_version)
        self.revision = known or Revision.JUNE_2025
        self.can_be_asked = known is not None and (
            known.modern or not ctx.method or ctx.session.can_send_request
        )
        self.token = get_access_token()
        self.session_id = _session_id(ctx, self.revision)
        self.person = _person(self.token, ctx, self.session_id)
        self._call_next = call_next

    @property
    def capabilities(self) -> Capabilities:
        return _capabilities(self.ctx.session, self.revision) if self.can_be_asked else Capabilities()

    @property
    def client(self) -> ClientName | None:
        params = self.ctx.session.client_params
        if params is None:
            return None
        return ClientName(params.client_info.name, params.client_info.version or None)

    @property
    def connection(self) -> dict[str, Any]:
        return private.connection_state(self.ctx.session)

    @property
    def progress_token(self) -> str | int | None:
        token: str | int | None = (self.ctx.meta or {}).get("progress_token")
        return token

    def handler(self, *, replay: bool = False) -> Mcp2Handler:
        return Mcp2Handler(self, self._call_next, replay=replay)

    async def send_request(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        metadata = None if self.id is None else ServerMessageMetadata(related_request_id=self.id)
        request: Any = _SentRequest(method=method, params=None if params is None else dict(params))
        try:
            result = await self.ctx.session.send_request(request, _AnyResult, metadata=metadata)
        except NoBackChannelError:
            raise RequestFailed(METHOD_NOT_FOUND, "there is no way back to the client") from None
        except MCPError as error:
            if (error.code, error.message) == _CLOSED:
                raise ConnectionLost from error
            raise RequestFailed(error.code, error.message) from error
        except ValidationError as error:
            raise RequestFailed(
                None, f"the client's result to {method} does not follow the protocol"
            ) from error
        return result.model_dump(by_alias=True, exclude_unset=True)

    async def send_complete(self, elicitation_id: str, *, on_request: bool) -> None:
        related = self.id if on_request else None
        await self.ctx.session.send_elicit_complete(elicitation_id, related)


class Mcp2Handler:
    """The SDK's handler of one call, with its own context."""

    def __init__(self, request: Mcp2Request, call_next: CallNext, *, replay: bool) -> None:
        self.session = LiveSession(request.ctx.session, request.progress_token)
        self._ctx: Context = dataclasses.replace(request.ctx, session=self.session)
        if replay:
            params = {name: value for name, value in request.params.items() if name not in _RETRY_MEMBERS}
            self._ctx.params = params
        self._call_next = call_next

    def run(self) -> Awaitable[HandlerResult]:
        return self._call_next(self._ctx)

    def attach(self, request: IncomingRequest, variables: contextvars.Context | None) -> None:
        assert isinstance(request, Mcp2Request)
        own, live = self._ctx, request.ctx
        own.request_id, own.meta, own.request = live.request_id, live.meta, live.request
        own.close_sse_stream = live.close_sse_stream
        own.close_standalone_sse_stream = live.close_standalone_sse_stream
        self.session.attach(live.session, request.progress_token)
        if variables is not None:
            variables.run(_bring, auth_context_var.get(), get_current())

    def detach(self) -> None:
        own = self._ctx
        own.request_id = own.meta = own.request = None
        own.close_sse_stream = own.close_standalone_sse_stream = None
        self.session.detach()

    def refresh(self, variables: contextvars.Context | None) -> None:
        token = None if variables is None else variables.get(auth_context_var)
        if token is not None and auth_context_var.get() is not token:
            auth_context_var.set(token)

    async def keep_alive(self, message: str) -> None:
        await self.session.keep_alive(message)


_SESSION_ID = "handraise session id"
_RETRY_MEMBERS = frozenset({"requestState", "inputResponses"})
_CLOSED = CONNECTION_CLOSED, "Connection closed"
"""The SDK's error for a closed connection. A client may send the same code with another message."""


class _SentRequest(Request[dict[str, Any] | None, str]):
    """A request as it is sent."""


class _AnyResult(Result):
    """A result as it came."""

    model_config = ConfigDict(extra="allow")


def session_request(session: ServerSession) -> Mcp2Request:
    """A legacy session outside any request. Its questions use the connection's own stream."""
    session = session.live if isinstance(session, LiveSession) else session
    ctx: Context = ServerRequestContext(
        session=session, lifespan_context=None, protocol_version=session.protocol_version, method=""
    )
    return Mcp2Request(ctx, _no_handler)


async def _no_handler(_ctx: Context) -> HandlerResult:
    raise AssertionError("a session outside of a request has no handler")


def _declaring_resumes(introduction: dict[str, Any]) -> dict[str, Any]:
    """Add to a server's capabilities that its calls survive a restart. Our gateway relies on it."""
    capabilities = introduction.get("capabilities") or {}
    experimental = {**(capabilities.get("experimental") or {}), RESUMES: {}}
    return {**introduction, "capabilities": {**capabilities, "experimental": experimental}}


def _bring(token: Any, trace: Any) -> None:
    auth_context_var.set(token)
    if not get_current_span().is_recording():  # the span of a round ends with the round
        attach(trace)


def _session_id(ctx: Context, revision: Revision) -> str:
    if ctx.request is not None:
        return ctx.request.headers.get("mcp-session-id") or ""
    # Outside of a request, from the handshake. 2026-07-28 has no sessions.
    return "" if revision.modern else str(private.connection_state(ctx.session).get(_SESSION_ID, ""))


def _person(token: AccessToken | None, ctx: Context, session_id: str) -> Person:
    """The person behind a request."""
    if token is not None:
        client, issuer, subject = principal_components(token)
        if subject is None:  # a client without a person: no subject of its issuer may equal it
            issuer, subject = f"clients of {issuer or ''}", client
        return Person(issuer or "", subject, "token")
    is_remote = ctx.request is not None or session_id
    return Person("", session_id, "anonymous") if is_remote else local_person()


def _capabilities(session: ServerSession, revision: Revision) -> Capabilities:
    """`elicitation: {}` means form only, and URL mode needs 2025-11-25 or later."""
    declared = session.client_capabilities
    if declared is None:
        return Capabilities()
    modes = declared.elicitation
    return Capabilities(
        form=modes is not None and (modes.form is not None or modes.url is None),
        url=modes is not None and modes.url is not None and revision.url_mode,
        roots=declared.roots is not None,
        sampling=declared.sampling is not None,
    )


def _is_ours(state: object) -> TypeGuard[str]:
    """Whether a requestState is one of our tokens."""
    return isinstance(state, str) and state.startswith(TOKEN_PREFIX)


def _require_known_middleware(low: Server[Any]) -> None:
    """Refuse a release whose middleware looks different. The SDK calls its middleware provisional."""
    fields = {each.name for each in dataclasses.fields(ServerRequestContext)}
    if not isinstance(getattr(low, "middleware", None), list) or not fields >= _CONTEXT_FIELDS:
        raise SetupError(
            "this release of mcp has another kind of middleware. Handraise needs an older one, or a newer Handraise: "
            "handraise doctor says which releases work."
        )


class LiveSession(ServerSession):
    """A `ServerSession` that passes everything on to the session of the live request."""

    def __init__(self, session: ServerSession, progress_token: str | int | None) -> None:
        self._first = session
        self._live = session
        self._listening = True
        self._progress: Progress | None = None
        self._progress_token = progress_token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)

    def attach(self, session: ServerSession, progress_token: str | int | None) -> None:
        """Speak for another request of the same call."""
        self._live, self._listening = session, True
        self._progress, self._progress_token = None, progress_token

    def detach(self) -> None:
        """Release the request: requests fail, and notices are dropped."""
        self._listening = False

    @property
    def _so_far(self) -> Progress:
        """The progress of the live request."""
        if self._progress is None:
            self._progress = Progress()
        return self._progress

    @property
    def live(self) -> ServerSession:
        """The session of the live request."""
        return self._live

    @property
    def client_params(self) -> Any:
        return self._live.client_params

    @property
    def client_capabilities(self) -> Any:
        return self._live.client_capabilities

    @property
    def can_send_request(self) -> bool:
        return self._listening and self._live.can_send_request

    @property
    def protocol_version(self) -> str:
        return self._live.protocol_version

    def check_client_capability(self, capability: Any) -> bool:
        """Check if the client of the live request supports a capability."""
        return self._live.check_client_capability(capability)

    async def send_request(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send a request to the client, while a request of the call is live."""
        if not self._listening:
            raise NoBackChannelError(request.method)
        return await self._live.send_request(request, *args, **options)

    async def send_notification(self, notification: Any, *args: Any, **options: Any) -> None:
        """Send a notice to the client, while a request of the call is live."""
        if self._listening:
            await self._live.send_notification(notification, *args, **options)

    async def send_log_message(self, *args: Any, **options: Any) -> None:
        """Send a log message on the live request."""
        if self._listening:
            with warnings.catch_warnings():  # the deprecation warning belongs to the author's code
                warnings.simplefilter("ignore")
                sending = self._live.send_log_message(*args, **options)
            await sending

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress of the live request."""
        if self._listening:
            progress, total = self._so_far.report(progress, total)
            await self._live.report_progress(progress, total, message)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: Any = None,
    ) -> None:
        """Send a progress notice. One about the live request goes on its stream."""
        if progress_token == self._progress_token:
            await self.report_progress(progress, total, message)
        elif self._listening:
            await self._live.send_progress_notification(
                progress_token, progress, total, message, related_request_id
            )

    async def keep_alive(self, message: str) -> None:
        """Send progress to keep the call alive, unless the author's progress is complete."""
        if self._listening and (value := self._so_far.step()) is not None:
            await self._live.report_progress(value, None, message)
