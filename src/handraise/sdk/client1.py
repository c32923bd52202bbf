"""The client half on mcp 1.x: its `ClientSession`, with the shape of the newer SDK's `Client`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any, Self

from handraise.revisions import Revision
from handraise.sdk.client import Callbacks, Declare, note_revision, wire_types
from handraise.sdk.streams import transport_to


class Client1:
    """A client of one server. It has the methods of its session."""

    def __init__(
        self,
        target: Any,
        callbacks: Callbacks,
        declare: Declare,
        *,
        offer: Revision | None = None,
        raise_exceptions: bool = False,
        **options: Any,
    ) -> None:
        self._transport = transport_to(target, raise_exceptions=raise_exceptions)
        self._callbacks = callbacks
        self._declare = declare
        self._offer = offer
        self._options = options
        self._running = AsyncExitStack()
        self._handshake: Any = None
        self.session: Any = None

    async def __aenter__(self) -> Self:
        from mcp import ClientSession

        async with AsyncExitStack() as opening:
            read, write, *_ = await opening.enter_async_context(self._transport)
            session = ClientSession(
                read,
                write,
                elicitation_callback=self._callbacks.elicit,
                list_roots_callback=self._callbacks.list_roots,
                message_handler=self._callbacks.hear,
                **self._options,
            )
            await opening.enter_async_context(session)
            declare_in_handshake(session, self._declare, self._offer)
            self._handshake = await session.initialize()
            self.session = session
            self._running = opening.pop_all()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._running.__aexit__(*failure)
        self.session = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.session is None:
            raise AttributeError(name)
        return getattr(self.session, name)

    async def read_resource(self, uri: Any) -> Any:
        """Read a resource."""
        from pydantic import AnyUrl

        return await self.session.read_resource(AnyUrl(str(uri)))

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken."""
        return str(self._handshake.protocolVersion)

    @property
    def server_info(self) -> Any:
        """The name and version that the server claims."""
        return self._handshake.serverInfo

    @property
    def server_capabilities(self) -> Any:
        """The server's capabilities."""
        return self._handshake.capabilities


def declare_in_handshake(session: Any, declare: Declare, offer: Revision | None = None) -> None:
    """Correct the capabilities in a session's handshake, and remember its revision."""
    types, send_request = wire_types(), session.send_request

    async def send(request: Any, *args: Any, **options: Any) -> Any:
        asked = getattr(request, "root", request)
        if not isinstance(asked, types.InitializeRequest):
            return await send_request(request, *args, **options)
        params = asked.params
        version = str(offer or params.protocolVersion)
        capabilities = params.capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
        declare(capabilities, Revision(version))
        params.capabilities = types.ClientCapabilities.model_validate(capabilities)
        params.protocolVersion = version
        result = await send_request(request, *args, **options)
        note_revision(session, str(result.protocolVersion))
        return result

    session.send_request = send
