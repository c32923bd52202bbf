"""The adapter for FastMCP 2 and 3, on top of mcp 1.x.

A mounted server gets its calls from FastMCP, not from its lowlevel server. `MountedMiddleware` serves them if the
mounting server has no Handraise.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware
from fastmcp.tools.tool import ToolResult
from mcp.server.lowlevel.server import request_ctx
from mcp.shared.exceptions import McpError, UrlElicitationRequiredError
from mcp.types import URL_ELICITATION_REQUIRED, CallToolResult

from handraise.sdk import private
from handraise.sdk.adapter import Service, without_made_up_part
from handraise.sdk.mcp1 import Mcp1Adapter, Mcp1Request, ReportingSession


class FastMcp2Adapter(Mcp1Adapter):
    """One FastMCP server."""

    def __init__(self, server: FastMCP[Any]) -> None:
        super().__init__(server, ToolError)
        self._fast: Any = server  # FastMCP 2 and 3 have different methods
        self._mounted = False
        self.lasting_name = without_made_up_part(self.name, type(server).__name__)

    def install(self, service: Service) -> None:
        super().install(service)
        self._fast.add_middleware(MountedMiddleware2(self, service))

    async def start_mounted(self) -> None:
        """Start for a call from the mounting server: the lowlevel server of a mounted one never starts."""
        if not self._mounted:
            await self._put_guards_in_place()
            self._mounted = True

    async def registered(self, tool: str) -> object:
        return await self._fast.get_tool(tool)

    async def tools(self) -> list[Any]:
        if hasattr(self._fast, "local_provider"):
            found = list(await self._fast.local_provider.list_tools())
            servers = [private.mounted_server(provider) for provider in self._fast.providers]
        else:  # FastMCP 2 has no providers. Its tools come by name, those of mounted servers as copies
            found = list((await self._fast.get_tools()).values())
            servers = private.mounted_servers(self._fast)
        for server in servers:
            if server is not None:
                found += await type(self)(server).tools()
        return found


class MountedMiddleware2(Middleware):
    """Serves calls to a server with Handraise from a mounting server without it."""

    def __init__(self, adapter: FastMcp2Adapter, service: Service) -> None:
        self._adapter, self._service = adapter, service

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        """Serve a request that may ask."""
        ctx = request_ctx.get(None)
        if ctx is None or isinstance(ctx.session, ReportingSession):  # no client, or served already
            return await call_next(context)
        request = _MountedRequest(ctx, context, call_next)
        self._service.meet(request)
        await self._adapter.start_mounted()
        async with self._service.running():
            try:
                return request.as_result(await self._service.serve(request))
            except McpError as error:
                if error.error.code == URL_ELICITATION_REQUIRED:
                    raise _LinksRequired.from_error(error.error) from error
                raise ToolError(error.error.message) from error

    on_get_prompt = on_read_resource = on_call_tool


class _LinksRequired(UrlElicitationRequiredError, ToolError):
    """Error -32042, which the SDK knows by its class, as one that FastMCP passes on."""


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of FastMCP's in the form of the SDK's requests."""

    params: Any


class _MountedRequest(Mcp1Request):
    """A request to a mounted server, with the names that it has there."""

    def __init__(self, ctx: Any, context: Any, call_next: Any) -> None:
        async def handle(_request: Any) -> Any:
            return await call_next(context)

        super().__init__(ctx, context.method, _Message(context.message), handle)

    def dump(self, result: Any) -> dict[str, Any]:
        return {}  # unused: a handler's error is an exception

    def load(self, plain: Mapping[str, Any]) -> Any:
        read = CallToolResult.model_validate(plain)
        make: Any = ToolResult
        if "is_error" not in inspect.signature(make).parameters:  # FastMCP 2
            raise ToolError(plain["content"][0]["text"])
        return make(content=read.content, meta=read.meta, is_error=True)
