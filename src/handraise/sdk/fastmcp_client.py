"""FastMCP's client, from 2.14 to 4.x: callbacks that it does not wrap, and the shape of the SDK's own client."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

from handraise.revisions import Revision
from handraise.sdk.client import Callbacks, Declare, require_legacy
from handraise.sdk.releases import generation, require_release

require_release("fastmcp")

from fastmcp import Client  # noqa: E402 - an unsupported release is refused with a sentence first
from fastmcp.client.elicitation import ElicitationHandler, ElicitResult  # noqa: E402
from fastmcp.client.transports import ClientTransport  # noqa: E402

__all__ = [
    "CallbackTransport",
    "Client",
    "ElicitResult",
    "ElicitationHandler",
    "FastClient",
    "inner_transport",
]


class CallbackTransport(ClientTransport):
    """A transport around another one. Its sessions have our callbacks and declare exactly our capabilities.

    FastMCP's own wrapper makes Python types of a hostile schema before anyone has checked it.
    """

    def __init__(
        self,
        inner: ClientTransport,
        callbacks: Callbacks,
        declare: Declare,
        *,
        offer: Revision | None = None,
        meet: Callable[[Any], None] | None = None,
    ) -> None:
        """`meet` is called with each session before it is initialised."""
        self._inner: Any = inner
        self._callbacks = callbacks
        self._declare = declare
        self._offer = offer
        self._meet = meet
        self.legacy_only = getattr(inner, "legacy_only", False)

    @asynccontextmanager
    async def connect_session(self, **session_kwargs: Any) -> AsyncIterator[Any]:
        """Connect; the session is not initialised yet."""
        session_kwargs |= {
            "elicitation_callback": self._callbacks.elicit,
            "list_roots_callback": self._callbacks.list_roots,
        }
        async with self._declaring(session_kwargs) as session:
            if self._meet is not None:
                self._meet(session)
            yield session

    @asynccontextmanager
    async def _declaring(self, session_kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        if generation() == 2:  # FastMCP 4 lets a transport have a session class of one's own
            from fastmcp.client.transports.base import TransportOptions

            from handraise.sdk.client2 import declaring_session

            asked = session_kwargs.pop("transport_options", None) or TransportOptions()
            kind = declaring_session(self._declare, self._offer)
            options = dataclasses.replace(asked, session_class=kind)
            async with self._inner.connect_session(transport_options=options, **session_kwargs) as session:
                yield session
            return
        from handraise.sdk.client1 import declare_in_handshake

        async with self._inner.connect_session(**session_kwargs) as session:
            declare_in_handshake(session, self._declare, self._offer)
            yield session

    async def close(self) -> None:
        """Close the transport inside."""
        await self._inner.close()

    def get_session_id(self) -> str | None:
        """The session id of the transport inside."""
        found: str | None = self._inner.get_session_id()
        return found

    def __repr__(self) -> str:
        return f"<CallbackTransport({self._inner!r})>"


def inner_transport(target: Any, **options: Any) -> ClientTransport:
    """The transport that FastMCP's client would use, with `auth` and `verify`."""
    found: ClientTransport = Client(target, **options).transport
    return found


class FastClient:
    """FastMCP's client of a server in this process, with the interface of the SDK's own client."""

    def __init__(
        self,
        server: Any,
        callbacks: Callbacks,
        declare: Declare,
        *,
        mode: str = "auto",
        offer: Revision | None = None,
        raise_exceptions: bool = False,
        **options: Any,
    ) -> None:
        if generation() == 2:
            options["mode"] = mode
        else:
            require_legacy(mode)
        if callbacks.hear is not None:
            options["message_handler"] = callbacks.hear
        transport = CallbackTransport(inner_transport(server), callbacks, declare, offer=offer)
        self._client: Any = Client(transport, **options)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._client.__aexit__(*failure)

    def __getattr__(self, name: str) -> Any:
        if name == "_client":
            raise AttributeError(name)
        return getattr(self._client, name)

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken."""
        if generation() == 2:
            return str(self._client.session.protocol_version)
        return str(self._client.initialize_result.protocolVersion)

    @property
    def server_info(self) -> Any:
        """The name and version that the server claims."""
        return (
            self._client.session.server_info
            if generation() == 2
            else self._client.initialize_result.serverInfo
        )

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
        """Call a tool."""
        return await self._client.call_tool_mcp(name, arguments or {}, **options)

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
        """Get a prompt."""
        return await self._client.get_prompt_mcp(name, arguments, **options)

    async def read_resource(self, uri: str, **options: Any) -> Any:
        """Read a resource."""
        return await self._client.read_resource_mcp(uri, **options)

    async def list_tools(self) -> Any:
        """List the tools."""
        return await self._client.list_tools_mcp()
