"""Every revision in front and behind, over every pair of transports: the same questions, the same outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from tests.client.hosts import OpenGate
from tests.gateway.notes import make_notes
from tests.gateway.peers import NOTES, Gateway, MemoryLink, _ClientSide, connect, opening
from tests.gateway.piped import PipedClient, piped
from tests.gateway.test_http import served
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, text_of

from handraise.desks import Queue
from handraise.desks.scripted import Line, ScriptedDesk
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.eras import EraLink
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.links import Link
from handraise.gateway.messages import Message
from handraise.gateway.options import Options
from handraise.gateway.reading import parse_message
from handraise.gateway.serve import Front
from handraise.gateway.servers import ServerSet
from handraise.gateway.state import GatewayState
from handraise.gateway.upstreams import Upstream
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.shows("W1")]


class OneEra:
    """A server over HTTP that knows one revision only."""

    def __init__(self, app: Any, only: Revision) -> None:
        self._app = app
        self._link = MemoryLink(make_notes(), only)
        self._only = only

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        message = parse_message(body)
        if (refused := self._link._refused(message)) is not None:
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 400, "headers": headers})
            await send({"type": "http.response.body", "body": refused.raw})
            return
        if self._only.legacy and message.method == "initialize":
            message = Message(
                {**message.body, "params": {**message.params, "protocolVersion": str(self._only)}}
            )
        given = iter([{"type": "http.request", "body": message.raw, "more_body": False}])
        headers = [each for each in scope["headers"] if each[0] != b"content-length"]
        scope["headers"] = [*headers, (b"content-length", str(len(message.raw)).encode())]

        async def replay() -> Any:
            return next(given, None) or await receive()

        await self._app(scope, replay, send)


@asynccontextmanager
async def behind(transport: str, only: Revision) -> AsyncIterator[Callable[[], Awaitable[Link]]]:
    """A server; what is yielded opens a link to it."""
    links: list[Link] = []
    async with AsyncExitStack() as stack:
        url = ""
        if transport == "http":
            url = await stack.enter_async_context(
                served(OneEra(make_notes().streamable_http_app(), only), "on")
            )

        async def opened() -> Link:
            links.append(await (ServerSet(Upstream("my notes", url=url)).connect() if url else _opened(only)))
            return links[-1]

        yield opened
        for link in links:
            await link.aclose()


async def _opened(only: Revision) -> Link:
    link = MemoryLink(make_notes(), only, NOTES)
    await link.open()
    return EraLink(link)


@asynccontextmanager
async def gateway(
    front: str, opened: Callable[[], Awaitable[Link]], queue: Queue
) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
    """A gateway; what is yielded gives a target for a new client."""
    state = GatewayState(
        Options(hold=30, too_fast=0), opening(QuestionHandler(queue, OpenGate(), timeout=300))
    )
    if front == "http":
        app = HttpGateway(state, lambda person: opened())
        async with served(app, "off") as url:

            async def target() -> Any:
                return url

            yield target
            await app.aclose()
        return

    async def lines() -> Any:
        link = await opened()
        if front == "pipes":
            return PipedClient(lambda port: Front(link, state, port))
        seen = Gateway(link, state, queue, ScriptedDesk(queue, []), OpenGate())
        return _ClientSide(lambda port: Front(link, state, port), seen)

    yield lines


@pytest.mark.parametrize("transports", ["lines to lines", "lines to http", "http to lines", "http to http"])
@pytest.mark.parametrize("server", REVISIONS, ids=lambda revision: f"server-{revision}")
@pytest.mark.parametrize("client", REVISIONS, ids=lambda revision: f"client-{revision}")
async def test_the_same_questions_have_the_same_outcomes(
    client: Revision, server: Revision, transports: str
) -> None:
    front, _, back = transports.partition(" to ")
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(behind(back, server))
        await ask_everything(client, server, front, opened)


@pytest.mark.parametrize("server", REVISIONS, ids=lambda revision: f"server-{revision}")
async def test_real_pipes_and_a_real_process_make_no_difference(server: Revision) -> None:
    """The lines above are in memory. Here they go through the system, with one process for all clients."""
    async with piped(server) as process:

        async def again() -> Link:
            return EraLink(process)

        for client in REVISIONS:
            for front in ("pipes", "http"):
                await ask_everything(client, server, front, again)


@pytest.mark.parametrize("server", REVISIONS, ids=lambda revision: f"server-{revision}")
async def test_real_pipes_to_a_server_over_http_make_no_difference(server: Revision) -> None:
    async with behind("http", server) as opened:
        for client in REVISIONS:
            await ask_everything(client, server, "pipes", opened)


async def ask_everything(
    client: Revision, server: Revision, front: str, opened: Callable[[], Awaitable[Link]]
) -> None:
    """A form, two rounds, a decline, a cancel, a link; then the same of a client that cannot be asked."""
    link_at_client = client.url_mode and server.url_mode
    answers = [accept(answer="old"), accept(answer="b"), accept(answer="short"), DECLINE, CANCEL]
    person = Person(*answers, *([accept()] if link_at_client else []))
    queue = Queue()
    script = [
        Line("accept", message="Connect", repeat=True),
        Line("decline", message="Why delete no", repeat=True),
        Line("cancel", message="Why delete later", repeat=True),
        Line("accept", {"answer": "desk"}, repeat=True),
    ]
    desk = asyncio.create_task(ScriptedDesk(queue, script).run())
    async with gateway(front, opened, queue) as target:
        async with connect(await target(), client, person) as asking:
            assert await told(asking, "echo", text="plain") == "plain"
            assert await told(asking, "delete", title="a") == "deleted a: old"
            assert await told(asking, "rename", title="a") == "a is b because short"
            assert await told(asking, "delete", title="a") == "kept: decline"
            assert await told(asking, "delete", title="a") == "kept: cancel"
            if server.url_mode:
                assert await told(asking, "connect", account="a") == "connect: accept"
        async with connect(await target(), client) as unable:
            assert await told(unable, "delete", title="a") == "deleted a: desk"
            assert await told(unable, "rename", title="a") == "a is desk because desk"
            assert await told(unable, "delete", title="no") == "kept: decline"
            assert await told(unable, "delete", title="later") == "kept: cancel"
            if server.url_mode:
                assert await told(unable, "connect", account="a") == "connect: accept"
    desk.cancel()
    await asyncio.gather(desk, return_exceptions=True)
    assert person.answers == []


async def told(client: Any, tool: str, **arguments: str) -> str:
    return text_of(await client.call_tool(tool, arguments))
