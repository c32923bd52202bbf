"""A whole gateway in one process: the official SDK's client, our relay, the official SDK's server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import mcp_types as types
from mcp.client._memory import InMemoryTransport
from mcp.server.mcpserver import MCPServer
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from tests.client.hosts import OpenGate, watch
from tests.gateway.notes import make_notes
from tests.server.peers import offer

from handraise.client import Consent
from handraise.desks import Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.eras import EraLink
from handraise.gateway.links import DirectLink, Link
from handraise.gateway.messages import Message, error_response
from handraise.gateway.options import Options
from handraise.gateway.reading import parse_message
from handraise.gateway.serve import Front
from handraise.gateway.state import GatewayState
from handraise.gateway.tickets import TicketRepository
from handraise.gateway.upstreams import Source, Upstream
from handraise.ledger import Ledger
from handraise.revisions import Revision

NOTES = Upstream("my notes", ("python", "notes.py"))


class MemoryLink(DirectLink):
    """A link to a server of the SDK in this process, which speaks one revision only, if told so."""

    def __init__(self, server: MCPServer, only: Revision | None = None, upstream: Upstream = NOTES) -> None:
        super().__init__(Source(upstream))
        self.sent: list[Message] = []
        self.received: list[Message] = []
        self._server = server
        self._only = only
        self._write: Any = None
        self._serving: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()
        self._outbox: asyncio.Queue[Message] = asyncio.Queue()

    @property
    def is_open(self) -> bool:
        return self._serving is not None and not self._serving.done()

    async def open(self) -> None:
        ready = asyncio.Event()
        self._serving = asyncio.create_task(self._serve(ready))
        await ready.wait()

    async def _serve(self, ready: asyncio.Event) -> None:
        async with InMemoryTransport(self._server) as (received, write), anyio.create_task_group() as tasks:
            self._write = write
            tasks.start_soon(self._send_all)
            tasks.start_soon(self._receive_all, received)
            ready.set()
            await self._leave.wait()
            tasks.cancel_scope.cancel()
        self.on_closed(self.source, True)

    async def _send_all(self) -> None:
        while True:
            message = await self._outbox.get()
            parsed = types.jsonrpc_message_adapter.validate_json(message.raw, by_name=False)
            await self._write.send(SessionMessage(parsed))

    async def _receive_all(self, received: Any) -> None:
        async for item in received:
            raw = item.message.model_dump_json(by_alias=True, exclude_none=True).encode()
            message = parse_message(raw)
            message.source = self.source
            self.received.append(message)
            self.on_message(message)

    def send(self, message: Message) -> None:
        self.sent.append(message)
        if (refused := self._refused(message)) is not None:
            refused.source = self.source
            asyncio.get_running_loop().call_soon(self.on_message, refused)
            return
        if self._only is not None and self._only.legacy and message.method == "initialize":
            message = message.with_(params={**message.params, "protocolVersion": str(self._only)})
        self._outbox.put_nowait(message)

    def _refused(self, message: Message) -> Message | None:
        """What a server that knows one era only says to the other."""
        modern = "io.modelcontextprotocol/protocolVersion" in (message.params.get("_meta") or {})
        if self._only is None or not message.is_request:
            return None
        if self._only.legacy and modern:
            return error_response(message.id, -32601, "Method not found")
        if self._only.modern and message.method == "initialize":
            return error_response(
                message.id, -32022, "Unsupported", {"supported": ["2026-07-28"], "requested": ""}
            )
        return None

    def die(self) -> None:
        """Be gone from one moment to the next."""
        assert self._serving is not None
        self._serving.cancel()
        self.on_closed(self.source, True)

    async def aclose(self) -> None:
        self._leave.set()
        if self._serving is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving


class Gateway:
    """Everything that a test may want to look at."""

    def __init__(
        self, link: Link, state: GatewayState, queue: Queue, desk: ScriptedDesk, gate: OpenGate
    ) -> None:
        self.link = link
        self.state = state
        self.queue = queue
        self.desk = desk
        self.gate = gate
        self.to_client: list[Message] = []
        self.from_client: list[Message] = []
        self.events: list[Any] = []

    @property
    def seen_by_model(self) -> str:
        """All that the client's side could read."""
        return "\n".join(message.raw.decode() for message in self.to_client)


class _ClientSide:
    """The SDK client's transport, whose other end is our front."""

    def __init__(self, make_front: Callable[[Any], Front], gateway: Gateway) -> None:
        self._make_front = make_front
        self._gateway = gateway

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Any]:
        async with (
            create_client_server_memory_streams() as (client, ours),
            anyio.create_task_group() as tasks,
        ):
            received: Any = ours[0]
            write = ours[1]
            out: asyncio.Queue[Message] = asyncio.Queue()

            class Port:
                def send(_, message: Message) -> None:
                    self._gateway.to_client.append(message)
                    out.put_nowait(message)

            front = self._make_front(Port())

            async def send_all() -> None:
                while True:
                    message = await out.get()
                    parsed = types.jsonrpc_message_adapter.validate_json(message.raw, by_name=False)
                    await write.send(SessionMessage(parsed))

            async def receive_all() -> None:
                async for item in received:
                    raw = item.message.model_dump_json(by_alias=True, exclude_none=True).encode()
                    message = parse_message(raw)
                    self._gateway.from_client.append(message)
                    front.from_client(message)

            tasks.start_soon(send_all)
            tasks.start_soon(receive_all)
            yield client
            tasks.cancel_scope.cancel()

    async def __aenter__(self) -> Any:
        self._cm = self._open()
        return await self._cm.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._cm.__aexit__(*error)


def opening(asking: QuestionHandler) -> Callable[[], Awaitable[QuestionHandler]]:
    """Have questions decided by this."""

    async def opened() -> QuestionHandler:
        return asking

    return opened


connect = offer
"""A client of the official SDK; through the gateway it may come to speak another revision than it offers."""


class _Watched(QuestionHandler):
    """What decides about questions, and remembers how."""

    def __init__(self, events: list[Any], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._events = events

    def _consent(self, *args: Any) -> Consent:
        return watch(super()._consent(*args), self._events)


@asynccontextmanager
async def gateway(
    *,
    server: MCPServer | None = None,
    only: Revision | None = None,
    script: list[Line] | None = None,
    options: Options | None = None,
    gate: Any = None,
    tickets: TicketRepository | None = None,
    ledger: Ledger | None = None,
    upstream: Upstream = NOTES,
    too_fast: float = 0.0,
    limits: Limits = DEFAULT_LIMITS,
    **more: Any,
) -> AsyncIterator[tuple[Gateway, Callable[..., Any]]]:
    """A gateway in front of a server; the second value connects clients: `connect(revision, person, modes)`.

    Its people answer at once. `too_fast` is for tests of clients that are not believed.
    """
    queue, chosen = Queue(), gate or OpenGate()
    events: list[Any] = []
    asking = _Watched(
        events,
        queue,
        chosen,
        timeout=30.0,
        ledger=ledger,
        policy_version="p1",
        tickets=tickets,
        limits=limits,
    )
    state = GatewayState(replace(options or Options(hold=30.0), too_fast=too_fast), opening(asking), **more)
    link = MemoryLink(server or make_notes(), only, upstream)
    await link.open()
    desk = ScriptedDesk(queue, script or [])
    seen = Gateway(link, state, queue, desk, chosen)
    seen.events = events
    serving = asyncio.create_task(desk.run())
    era_link = EraLink(link)

    def client(revision: Revision, person: Any = None, modes: str = "form url", **options: Any) -> Any:
        side = _ClientSide(lambda port: Front(era_link, state, port), seen)
        return connect(side, revision, person, modes, **options)

    try:
        yield seen, client
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await link.aclose()
