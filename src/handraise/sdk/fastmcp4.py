"""The adapter for FastMCP 4, on top of mcp 2.x.

A mounted server gets its calls from FastMCP, not from its lowlevel server. `MountedMiddleware` serves them if the
mounting server has no Handraise.
"""

from __future__ import annotations

import base64
import contextvars
import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts.base import InputRequiredPromptResult, Message, PromptResult
from fastmcp.resources.base import InputRequiredResourceResult, ResourceContent, ResourceResult
from fastmcp.server.dependencies import bind_request_context, fastmcp_request_ctx
from fastmcp.server.middleware import CallNext as FastCallNext
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.server.providers import Provider
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    SERVER_INFO_META_KEY,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ReadResourceResult,
    TextResourceContents,
)

from handraise.errors import HandraiseError, sentence
from handraise.sdk import private
from handraise.sdk.adapter import IncomingRequest, Service, without_made_up_part
from handraise.sdk.mcp2 import Context, LiveSession, Mcp2Adapter, Mcp2Handler, Mcp2Request


class _ProtocolError(MCPError, ToolError):
    """A JSON-RPC error that FastMCP does not log with its traceback."""


class FastMcp4Adapter(Mcp2Adapter):
    """One FastMCP server."""

    def __init__(self, server: FastMCP[Any]) -> None:
        super().__init__(server)  # type: ignore[arg-type]
        self._fast = server
        self.lasting_name = without_made_up_part(self.name, type(server).__name__)

    def install(self, service: Service) -> None:
        super().install(service)
        self._fast.add_middleware(MountedMiddleware4(service))
        self._fast.add_provider(_Lifetime(self, service))

    def as_tool_error(self, error: HandraiseError) -> HandraiseError:
        return self._quiet(self._mix(error, ToolError, {"code": 0, "message": sentence(error)}))

    def as_protocol_error(self, error: HandraiseError, fault: Mapping[str, Any]) -> HandraiseError:
        return self._quiet(self._mix(error, _ProtocolError, fault))

    def _quiet(self, error: HandraiseError) -> HandraiseError:
        """FastMCP logs an error at the level that it carries. A decline is not a failure of the tool."""
        error.__dict__["log_level"] = logging.DEBUG
        return error

    def request(self, ctx: Context, call_next: CallNext) -> Mcp2Request:
        return _Request(ctx, call_next)

    async def registered(self, tool: str) -> object:
        return await self._fast.get_tool(tool)

    async def handler_of(self, method: str, target: str) -> object:
        found: Any
        if method == "tools/call":
            found = await self._fast.get_tool(target)
            while found is not None and getattr(found, "forwarding_fn", None) is getattr(found, "fn", found):
                found = found.parent_tool
        elif method == "prompts/get":
            found = await self._fast.get_prompt(target)
        else:
            found = await self._fast.get_resource(target) or await self._fast.get_resource_template(target)
        return getattr(found, "fn", None)

    async def tools(self) -> list[Any]:
        return await _own_tools(self._fast)

    async def start_mounted(self) -> None:
        """The server that mounts this one starts."""
        await self._put_guards_in_place()


async def _own_tools(server: FastMCP[Any]) -> list[Any]:
    """The tools that were registered in this process, also with servers that are mounted."""
    found = list(await server.local_provider.list_tools())
    for provider in server.providers:
        if (mounted := private.mounted_server(provider)) is not None:
            found += await _own_tools(mounted)
    return found


class _Request(Mcp2Request):
    def handler(self, *, replay: bool = False) -> Mcp2Handler:
        return _Handler(self, self._call_next, replay=replay)


class _Handler(Mcp2Handler):
    def attach(self, request: IncomingRequest, variables: contextvars.Context | None) -> None:
        super().attach(request, variables)
        assert isinstance(request, Mcp2Request)
        if variables is None:
            return
        if (http_request := private.http_request_variable()) is not None:
            variables.run(http_request.set, http_request.get())
        wrapper = variables.get(fastmcp_request_ctx)
        if wrapper is not None:
            live = request.ctx
            wrapper.request_id = None if live.request_id is None else str(live.request_id)
            wrapper.request = live.request
            wrapper.close_sse_stream = live.close_sse_stream


class _Lifetime(Provider):
    """Provides nothing. FastMCP enters its lifespan with the server's, also in a mounted server."""

    def __init__(self, adapter: FastMcp4Adapter, service: Service) -> None:
        super().__init__()
        self._adapter, self._service = adapter, service

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        await self._adapter.start_mounted()
        async with self._service.running():
            yield


class MountedMiddleware4(Middleware):
    """Serves calls to a server with Handraise from a mounting server without it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: FastCallNext[Any, Any]) -> Any:
        """Serve a request that may ask."""
        wrapper = fastmcp_request_ctx.get()
        if wrapper is None or isinstance(wrapper.session, LiveSession):  # no client, or served already
            return await call_next(context)
        ctx = private.sdk_context(wrapper)
        if ctx is None or ctx.method != context.method:  # a component that another one calls
            return await call_next(context)
        request = _MountedRequest(ctx, context, call_next)
        if request.revision.legacy:
            self._service.meet(request)
        try:
            return request.as_result(await self._service.serve(request))
        except MCPError as error:
            if error.error.code == MISSING_REQUIRED_CLIENT_CAPABILITY:  # the only code that FastMCP passes on
                raise
            raise _ProtocolError(error.error.code, error.error.message, error.error.data) from error

    on_get_prompt = on_read_resource = on_call_tool


class _MountedRequest(_Request):
    """A request to a mounted server, with the names that it has there."""

    def __init__(
        self, ctx: Context, context: MiddlewareContext[Any], call_next: FastCallNext[Any, Any]
    ) -> None:
        message = context.message.model_dump(by_alias=True, mode="json", exclude_none=True)
        own = {name: value for name, value in message.items() if name in _NAMED}
        self._given: tuple[HandlerResult, Any] | None = None

        async def inside(live: Context) -> HandlerResult:
            with bind_request_context(live):
                result = await call_next(context)
            self._given = _dump(result, str(own.get("uri", ""))), result
            return self._given[0]

        super().__init__(dataclasses.replace(ctx, params={**(ctx.params or {}), **own}), inside)

    def as_result(self, answer: Any) -> Any:
        """A wire result for FastMCP: its own object, unless ours replaces it or a retry brought it."""
        if self._given is not None and answer is self._given[0]:
            return self._given[1]
        meta = {key: value for key, value in answer.get("_meta", {}).items() if key != SERVER_INFO_META_KEY}
        answer = {**answer, "_meta": meta or None}  # the server that mounts ours says its own name
        if answer.get("resultType") == "input_required":
            return _ASKING[self.method](InputRequiredResult.model_validate(answer))
        return _RESULTS[self.method](answer)


_NAMED: Final = frozenset({"name", "uri", "arguments"})


def _dump(result: Any, uri: str) -> HandlerResult:
    """A FastMCP result in wire form."""
    wire: Any = result
    if isinstance(result, InputRequiredToolResult | InputRequiredPromptResult | InputRequiredResourceResult):
        wire = result.input_required
    elif isinstance(result, ToolResult):
        wire = result.to_mcp_result()
        if isinstance(wire, tuple):
            wire = CallToolResult(content=wire[0], structured_content=wire[1])
        elif isinstance(wire, list):
            wire = CallToolResult(content=wire)
    elif isinstance(result, PromptResult):
        wire = result.to_mcp_prompt_result()
    elif isinstance(result, ResourceResult):
        wire = result.to_mcp_result(uri)
    plain: dict[str, Any] = wire.model_dump(by_alias=True, mode="json", exclude_none=True)
    return plain


def _tool_result(answer: Mapping[str, Any]) -> ToolResult:
    return ToolResult.from_mcp_result(CallToolResult.model_validate(answer))


def _prompt_result(answer: Mapping[str, Any]) -> PromptResult:
    read = GetPromptResult.model_validate(answer)
    messages = [Message(each.content, each.role) for each in read.messages]
    return PromptResult(messages, read.description, read.meta)


def _resource_result(answer: Mapping[str, Any]) -> ResourceResult:
    read = ReadResourceResult.model_validate(answer)
    contents = [
        ResourceContent(
            each.text if isinstance(each, TextResourceContents) else base64.b64decode(each.blob),
            each.mime_type,
            each.meta,
        )
        for each in read.contents
    ]
    return ResourceResult(contents, read.meta)


_RESULTS: Final[dict[str, Callable[[Mapping[str, Any]], Any]]] = {
    "tools/call": _tool_result,
    "prompts/get": _prompt_result,
    "resources/read": _resource_result,
}
_ASKING: Final[dict[str, Callable[[InputRequiredResult], Any]]] = {
    "tools/call": InputRequiredToolResult,
    "prompts/get": InputRequiredPromptResult,
    "resources/read": InputRequiredResourceResult,
}
