"""SDK transports with a function that sees every message, to report or correct it.

A transport is a context that gives two streams. Every generation of the SDK has them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final, TextIO, TypeAlias

from handraise.revisions import Revision
from handraise.sdk import private
from handraise.sdk.client import Declare
from handraise.sdk.releases import generation
from handraise.trace import Direction

Streams: TypeAlias = tuple[Any, Any]
Transport: TypeAlias = AbstractAsyncContextManager[Any]
Tell: TypeAlias = Callable[[Direction, Any], None]
See: TypeAlias = Callable[[Any], Any]
"""Gets a `SessionMessage` and returns it or a replacement."""

_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"


def transport_to(target: Any, *, log: TextIO | None = None, **options: Any) -> Transport:
    """The transport to a URL, to a command's parameters, or to a server in this process; a transport as it is.

    `log` gets the standard error of a started server; `options` are for a server in this process.
    """
    generation()
    stdio, http = import_module("mcp.client.stdio"), import_module("mcp.client.streamable_http")
    if isinstance(target, str):
        connect = getattr(http, "streamable_http_client", None) or http.streamablehttp_client
        transport: Transport = connect(target)
        return transport
    if isinstance(target, stdio.StdioServerParameters):
        started: Transport = stdio.stdio_client(target, errlog=log or sys.stderr)
        return started
    if isinstance(target, AbstractAsyncContextManager):
        return target
    low = import_module("mcp.server.lowlevel").Server
    return _in_process(target if isinstance(target, low) else private.lowlevel_server(target), **options)


def command_line(program: str, *arguments: str, env: Mapping[str, str] | None = None) -> Any:
    """The SDK's parameters of a server that is started by a command."""
    generation()
    parameters = import_module("mcp.client.stdio").StdioServerParameters
    return parameters(command=program, args=list(arguments), env=None if env is None else dict(env))


@asynccontextmanager
async def _in_process(server: Any, *, raise_exceptions: bool = False) -> AsyncIterator[Streams]:
    import anyio

    memory = import_module("mcp.shared.memory")
    async with (
        memory.create_client_server_memory_streams() as (client, own),
        anyio.create_task_group() as tasks,
    ):
        options = server.create_initialization_options()
        tasks.start_soon(partial(server.run, *own, options, raise_exceptions=raise_exceptions))
        try:
            yield client
        finally:
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def tapped(transport: Transport, tell: Tell) -> AsyncIterator[Streams]:
    """The same transport; `tell` gets each message as JSON with its direction."""

    def seen(direction: Direction, item: Any) -> Any:
        tell(direction, item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))
        return item

    async with transport as (read, write, *_):
        yield MessageStream(read, partial(seen, "to client")), Writing(write, partial(seen, "to server"))


@asynccontextmanager
async def declaring(
    transport: Transport, declare: Declare, offer: Revision | None = None
) -> AsyncIterator[Streams]:
    """The same transport; the client's declared capabilities are corrected on the way out.

    The SDK always declares both modes of elicitation if there is a callback.
    """
    async with transport as (read, write, *_):
        yield read, Writing(write, partial(put_right, declare, offer))


def put_right(declare: Declare, offer: Revision | None, item: Any) -> Any:
    """A message with corrected capabilities that offers this revision."""
    message = getattr(item.message, "root", item.message)
    params = getattr(message, "params", None)
    if not isinstance(params, dict):
        return item
    if getattr(message, "method", None) == "initialize":
        version = str(offer or params["protocolVersion"])
        changed = {
            **params,
            "protocolVersion": version,
            "capabilities": _declared(declare, params["capabilities"], version),
        }
    elif isinstance(meta := params.get("_meta"), dict) and _CAPABILITIES in meta:
        declared = _declared(declare, meta[_CAPABILITIES], meta[_VERSION])
        changed = {**params, "_meta": {**meta, _CAPABILITIES: declared}}
    else:
        return item
    message = message.model_copy(update={"params": changed})
    if generation() == 1:
        message = type(item.message)(message)
    return dataclasses.replace(item, message=message)


def _declared(declare: Declare, capabilities: dict[str, Any], version: str) -> dict[str, Any]:
    copied = dict(capabilities)
    declare(copied, Revision(version))
    return copied


class _Stream:
    """A stream like the one inside it."""

    def __init__(self, inner: Any, see: See) -> None:
        self._inner = inner
        self._see = see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> _Stream:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> bool | None:
        left: bool | None = await self._inner.__aexit__(*failure)
        return left

    def _seen(self, item: Any) -> Any:
        return item if isinstance(item, Exception) else self._see(item)


class MessageStream(_Stream):
    """A stream to receive from."""

    async def receive(self) -> Any:
        """The next message."""
        return self._seen(await self._inner.receive())

    def __aiter__(self) -> MessageStream:
        return self

    async def __anext__(self) -> Any:
        return self._seen(await self._inner.__anext__())


class Writing(_Stream):
    """A stream to send to."""

    async def send(self, item: Any) -> None:
        """Send a message."""
        await self._inner.send(self._seen(item))
