"""The adapter for mcp 1.x: its `FastMCP`, its lowlevel `Server`, and FastMCP 2 and 3, whose lowlevel server is one.

mcp 1.x has no middleware. The handlers of the three methods in which a server may ask are wrapped when the server
starts. It knows no revision after 2025-11-25, so a handler never moves on to a later request.
"""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import request_ctx
from mcp.server.session import ServerSession
from mcp.shared.exceptions import McpError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic import ConfigDict, ValidationError

from handraise.errors import HandraiseError, SetupError, is_text_of
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.sdk import private
from handraise.sdk.adapter import (
    Adapter,
    ClientName,
    ConnectionLost,
    IncomingRequest,
    Progress,
    RequestFailed,
    Service,
    mixed,
    run_instead,
    stand_in_of,
)
from handraise.this_user import local_person
from handraise.wire import Capabilities

_METHODS: dict[type[Any], str] = {
    types.CallToolRequest: "tools/call",
    types.GetPromptRequest: "prompts/get",
    types.ReadResourceRequest: "resources/read",
}
_RESULTS: dict[str, type[types.Result]] = {
    "tools/call": types.CallToolResult,
    "prompts/get": types.GetPromptResult,
    "resources/read": types.ReadResourceResult,
}
_REVISIONS = {str(revision): revision for revision in Revision if revision.legacy}
_STATE = "handraise_state"
_CLOSED = -32000, "Connection closed"

Handle = Callable[[Any], Awaitable[Any]]


class Mcp1Adapter(Adapter):
    """One server on mcp 1.x."""

    def __init__(self, server: Any, tool_error: type[Exception] = ToolError) -> None:
        super().__init__(server, server if isinstance(server, Server) else private.lowlevel_server(server))
        self._tool_error = tool_error
        self._is_installed = False

    def install(self, service: Service) -> None:
        if getattr(self.low, "handraise_is_installed", False):
            raise SetupError(
                "Handraise is installed on this server already; install it once, with all options"
            )
        self.low.handraise_is_installed = True
        authors = self.low.lifespan

        @asynccontextmanager
        async def lifespan(low: Any) -> AsyncIterator[Any]:
            if not self._is_installed:  # now, because the author registers handlers after `install`
                self._is_installed = True
                self._wrap_handlers(service)
                await self._put_guards_in_place()
            async with authors(low) as state, service.running():
                yield state

        self.low.lifespan = lifespan

    def _wrap_handlers(self, service: Service) -> None:
        handlers: dict[Any, Handle] = self.low.request_handlers
        for kind, method in _METHODS.items():
            if kind in handlers:
                handlers[kind] = _serving(service, handlers[kind], method)

    def on_notice(self, method: str, heard: Callable[[IncomingRequest | None], None]) -> None:
        kinds = {"notifications/roots/list_changed": types.RootsListChangedNotification}
        before = self.low.notification_handlers.get(kinds[method])

        async def hear(notice: Any) -> None:
            heard(None)  # mcp 1.x does not say on which connection it came
            if before is not None:
                await before(notice)

        self.low.notification_handlers[kinds[method]] = hear

    def stamp(self, result: dict[str, Any], revision: Revision) -> dict[str, Any]:
        return result

    # Errors.

    def as_tool_error(self, error: HandraiseError) -> HandraiseError:
        if not isinstance(error, self._tool_error):
            error.__class__ = mixed(type(error), self._tool_error)  # type: ignore[arg-type]
        # FastMCP logs an error at the level that it carries. A decline is not a failure of the tool.
        error.__dict__["log_level"] = logging.DEBUG
        return error

    def as_protocol_error(self, error: HandraiseError, fault: Mapping[str, Any]) -> HandraiseError:
        return self.as_tool_error(error)  # frameworks of this generation hide any other kind

    def refusal(self, fault: Mapping[str, Any]) -> Exception:
        return McpError(types.ErrorData(**fault))

    def fault_of(self, error: BaseException) -> dict[str, Any] | None:
        return error.error.model_dump(exclude_none=True) if isinstance(error, McpError) else None

    def is_wrapped(self, error: HandraiseError, by: BaseException) -> bool:
        if by.__cause__ is error and type(by).__module__.startswith(("mcp.", "fastmcp.")):
            return True
        # mcp raises a ValueError for a failed prompt or resource, with the error as context. An author's exception
        # during the handling of our error has that context too; its text tells them apart.
        return error in _causes(by) and is_text_of(str(by), error)

    # The author's functions.

    async def handler_of(self, method: str, target: str) -> object:
        """Nothing is replayed: suspended calls need 2026-07-28."""
        return None

    async def _put_guards_in_place(self) -> None:
        """Make each tool run the guarded function, and each plain function in a thread."""
        tools = await self.tools()
        if tools is None:
            raise SetupError("this release of mcp hides its tools: put every @guard below @server.tool()")
        for tool in tools:
            function = getattr(tool, "fn", None)
            instead = stand_in_of(function) or _in_thread(function)
            if instead is not None:
                run_instead(tool, instead)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and everything that it was raised from or while handling."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _in_thread(function: object) -> Callable[..., Awaitable[Any]] | None:
    """A plain function in a worker thread, as mcp 2 runs it: there it can wait for a person. None for any other."""
    if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
        return None

    @functools.wraps(function)
    async def threaded(*args: Any, **options: Any) -> Any:
        return await anyio.to_thread.run_sync(functools.partial(function, *args, **options))

    return threaded


def _serving(service: Service, handle: Handle, method: str) -> Handle:
    async def serve(request: Any) -> Any:
        incoming = Mcp1Request(request_ctx.get(), method, request, handle)
        service.meet(incoming)
        return incoming.as_result(await service.serve(incoming))

    return serve


class Mcp1Request(IncomingRequest):
    """A request of a client."""

    def __init__(self, ctx: Any, method: str, request: Any, handle: Handle) -> None:
        self.ctx = ctx
        self.session: ServerSession = ctx.session
        self.method = method
        self.id = ctx.request_id
        params = getattr(request, "params", None)
        self.params: Mapping[str, Any] = (
            {} if params is None else params.model_dump(by_alias=True, mode="json", exclude_none=True)
        )
        known = _REVISIONS.get(_negotiated(self.session))
        self.revision = known or Revision.JUNE_2025
        self.can_be_asked = known is not None and _leads_back(ctx.request)
        self.token = get_access_token()
        self.session_id = self._session_id()
        self.person = _person(self.token, ctx.request, self.session_id)
        self._request = request
        self._handle = handle
        self._result: tuple[Any, Any] | None = None

    def _session_id(self) -> str:
        if self.ctx.request is None:
            return str(self.connection.get("session id", ""))
        found: str = self.ctx.request.headers.get("mcp-session-id") or ""
        self.connection["session id"] = found
        return found

    @property
    def capabilities(self) -> Capabilities:
        handshake = self.session.client_params
        if handshake is None or not self.can_be_asked:
            return Capabilities()
        declared = handshake.capabilities
        modes = declared.elicitation
        form, url = getattr(modes, "form", None), getattr(modes, "url", None)
        return Capabilities(
            form=modes is not None and (form is not None or url is None),
            url=url is not None and self.revision.url_mode,
            roots=declared.roots is not None,
            sampling=declared.sampling is not None,
        )

    @property
    def client(self) -> ClientName | None:
        handshake = self.session.client_params
        if handshake is None:
            return None
        return ClientName(handshake.clientInfo.name, handshake.clientInfo.version or None)

    @property
    def connection(self) -> dict[str, Any]:
        """Kept on the session, which is one for each connection."""
        state: dict[str, Any] | None = getattr(self.session, _STATE, None)
        if state is None:
            state = {}
            setattr(self.session, _STATE, state)
        return state

    @property
    def progress_token(self) -> str | int | None:
        return None if self.ctx.meta is None else self.ctx.meta.progressToken

    def handler(self, *, replay: bool = False) -> Mcp1Handler:
        return Mcp1Handler(self)

    async def run(self, session: ReportingSession) -> dict[str, Any]:
        """Run the SDK's handler; returns its result in wire form."""
        request_ctx.set(dataclasses.replace(self.ctx, session=session))
        result = await self._handle(self._request)
        plain = self.dump(result)
        self._result = plain, result
        return plain

    def as_result(self, result: Any) -> Any:
        """A wire result for the SDK: its own object, unless ours replaces it."""
        if self._result is not None and result is self._result[0]:
            return self._result[1]
        return self.load(result)

    def dump(self, result: Any) -> dict[str, Any]:
        """The handler's result in wire form."""
        plain: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return plain

    def load(self, plain: Mapping[str, Any]) -> Any:
        """A wire result of ours as the handler would return it."""
        return types.ServerResult(_RESULTS[self.method].model_validate(plain))  # type: ignore[arg-type]

    async def send_request(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        metadata = None if self.id is None else ServerMessageMetadata(related_request_id=self.id)
        request: Any = _SentRequest(method=method, params=dict(params or {}))
        try:
            result = await self.session.send_request(
                request, _AnyResult, metadata=metadata, progress_callback=_hear_progress
            )
        except asyncio.CancelledError:
            await asyncio.shield(self._tell_cancelled(request))
            raise
        except McpError as error:
            if (error.error.code, error.error.message) == _CLOSED:
                raise ConnectionLost from error
            raise RequestFailed(error.error.code, error.error.message) from error
        except ValidationError as error:
            raise RequestFailed(
                None, f"the client's result to {method} does not follow the protocol"
            ) from error
        return result.model_dump(by_alias=True, exclude_unset=True)

    async def _tell_cancelled(self, request: _SentRequest) -> None:
        """Send the cancellation, which mcp 1.x does not do itself."""
        if (sent := request.id_of_sent()) is None:
            return
        params = types.CancelledNotificationParams(requestId=sent, reason="the question was withdrawn")
        notice = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(types.ServerNotification(notice), self.id)

    async def send_complete(self, elicitation_id: str, *, on_request: bool) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # its client has left
            await self.session.send_elicit_complete(elicitation_id, self.id if on_request else None)


class Mcp1Handler:
    """The SDK's handler of one call."""

    def __init__(self, request: Mcp1Request) -> None:
        self._request = request
        self._session = ReportingSession(request)

    def run(self) -> Awaitable[dict[str, Any]]:
        return self._request.run(self._session)

    def attach(self, request: IncomingRequest, variables: contextvars.Context | None) -> None:
        raise AssertionError("mcp 1.x knows no retries")

    def detach(self) -> None:
        """Never suspended: the request stays live."""

    def refresh(self, variables: contextvars.Context | None) -> None:
        """The access token never changes during a call."""

    async def keep_alive(self, message: str) -> None:
        await self._session.keep_alive(message)


class ReportingSession(ServerSession):
    """The session of a call, which tracks the progress of its request."""

    def __init__(self, request: Mcp1Request) -> None:
        self._of = request
        self._progress = Progress()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of.session, name)

    @property
    def client_params(self) -> Any:
        return self._of.session.client_params

    def check_client_capability(self, capability: Any) -> bool:
        """Check if the client supports a capability."""
        return self._of.session.check_client_capability(capability)

    async def send_request(self, *args: Any, **options: Any) -> Any:
        """Send a request to the client."""
        return await self._of.session.send_request(*args, **options)

    async def send_notification(self, *args: Any, **options: Any) -> None:
        """Send a notice to the client."""
        await self._of.session.send_notification(*args, **options)

    async def send_progress_notification(
        self,
        progress_token: str | int,
        progress: float,
        total: float | None = None,
        message: str | None = None,
        related_request_id: str | None = None,
    ) -> None:
        """Send a progress notice. For the call's own request the value always grows."""
        request = self._of
        if progress_token == request.progress_token:
            progress, total = self._progress.report(progress, total)
            related_request_id = str(request.id)
        await request.session.send_progress_notification(
            progress_token, progress, total, message, related_request_id
        )

    async def keep_alive(self, message: str) -> None:
        """Send progress to keep the call alive."""
        request, value = self._of, self._progress.step()
        if value is not None and request.progress_token is not None:
            await request.session.send_progress_notification(
                request.progress_token, value, None, message, str(request.id)
            )


class _SentRequest(types.Request[Any, str]):
    """A request to the client that remembers the id from the SDK: its progress token is its id."""

    _dumped: dict[str, Any] | None = None

    def model_dump(self, **options: Any) -> dict[str, Any]:
        self._dumped = super().model_dump(**options)
        return self._dumped

    def id_of_sent(self) -> str | int | None:
        """The id that it was sent with; None when it was not sent."""
        meta = (self._dumped or {}).get("params", {}).get("_meta", {})
        found: str | int | None = meta.get("progressToken")
        return found


class _AnyResult(types.Result):
    """A result as it came."""

    model_config = ConfigDict(extra="allow")


async def _hear_progress(progress: float, total: float | None, message: str | None) -> None:
    """Ignore the client's progress."""


def session_request(session: ServerSession) -> Mcp1Request:
    """A session outside any request. Its questions use the connection's own stream."""
    ctx = _Outside(session)
    return Mcp1Request(ctx, "", None, _no_handler)


@dataclasses.dataclass
class _Outside:
    """The context of no request."""

    session: ServerSession
    request_id: None = None
    meta: None = None
    request: None = None


async def _no_handler(_request: Any) -> Any:
    raise AssertionError("a session outside of a request has no handler")


def _negotiated(session: ServerSession) -> str:
    """The revision that a session's client asked for, if this SDK knows it."""
    handshake = session.client_params
    asked = "" if handshake is None else str(handshake.protocolVersion)
    return asked if asked in SUPPORTED_PROTOCOL_VERSIONS else types.LATEST_PROTOCOL_VERSION


def _leads_back(http_request: Any) -> bool:
    """False for plain JSON responses, where the transport drops every question.

    The application that serves the request has the transport's options. An author's own handler hides them.
    """
    app = None if http_request is None else http_request.scope.get("endpoint")
    while app is not None:
        manager = getattr(app, "session_manager", None) or getattr(app, "__self__", app)
        if hasattr(manager, "json_response"):
            return not manager.json_response
        app = getattr(app, "app", None)  # a middleware
    return True


def _person(token: Any, http_request: Any, session_id: str) -> Person:
    """The person behind a request.

    FastMCP has the verified subject in the claims, mcp from 1.28 on in `subject`. A caller whose token has no subject
    stays anonymous: otherwise all users of one client would be one person.
    """
    claims = getattr(token, "claims", None)
    claims = claims if isinstance(claims, Mapping) else {}
    subject, issuer = getattr(token, "subject", None) or claims.get("sub"), claims.get("iss") or ""
    if subject and isinstance(subject, str) and isinstance(issuer, str):
        return Person(issuer, subject, "token")
    if http_request is not None or session_id:
        return Person("", session_id, "anonymous")
    return local_person()
