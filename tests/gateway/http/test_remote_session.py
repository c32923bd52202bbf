"""A server at a URL that forgets its sessions, as one that restarts does: a new session begins by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.notes import make_notes
from tests.gateway.peers import connect
from tests.gateway.test_endings import ending
from tests.gateway.test_http import gateway_to, served
from tests.gateway.test_passing import CALL, FORM, either_client
from tests.gateway.wire import WireClient
from tests.gateway.wire_http import HttpWireClient, HttpWireServer, over_http
from tests.server.peers import Person, accept, free_port, text_of
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway.http.exchange import reply
from handraise.gateway.messages import INVALID_REQUEST, Message, error_response, notice, request, response
from handraise.gateway.peers import JUNE, NOVEMBER
from handraise.gateway.servers import ServerSet
from handraise.gateway.upstreams import Upstream
from handraise.ledger import Ledger
from handraise.questions import Accepted
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W6")]


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "ledger.db")
    yield ledger
    await ledger.aclose()


class Restarted:
    """A real server, which can be stopped and started anew at the same port."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._port = free_port()
        self.upstream = Upstream(f"notes-{self._port}", url=f"http://127.0.0.1:{self._port}/mcp")

    async def start(self) -> None:
        app = make_notes().streamable_http_app()
        await self._stack.enter_async_context(served(app, "on", self._port))

    async def restart(self) -> None:
        await self._stack.aclose()
        await self.start()


@asynccontextmanager
async def notes() -> AsyncIterator[Restarted]:
    async with AsyncExitStack() as stack:
        server = Restarted(stack)
        await server.start()
        yield server


@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_client_over_http_goes_on_after_its_server_restarted(revision: Revision) -> None:
    async with (
        notes() as server,
        gateway_to(server.upstream, []) as url,
        connect(url, revision, Person(accept(answer="old"))) as client,
    ):
        assert text_of(await client.call_tool("echo", {"text": "before"})) == "before"
        await server.restart()
        told = await asyncio.gather(*(client.call_tool("echo", {"text": str(n)}) for n in range(5)))
        assert [text_of(each) for each in told] == ["0", "1", "2", "3", "4"]
        assert text_of(await client.call_tool("delete", {"title": "plans"})) == "deleted plans: old"


async def test_a_client_over_stdio_goes_on_after_its_server_restarted() -> None:
    async with notes() as server, at_desk(server) as client:
        await server.restart()
        client.ask(1, "tools/call", {"name": "echo", "arguments": {"text": "after"}})
        assert told(await client.taken()) == "after"


async def test_a_question_of_a_server_that_restarts_is_void_and_the_same_call_asks_again() -> None:
    async with notes() as server, at_desk(server) as client:
        client.ask(1, "tools/call", DELETE)
        await until(client.queue.waiting)
        await server.restart()
        assert "ended while the user was being asked" in told(await client.taken())
        await until(lambda: not client.queue.waiting())
        client.ask(2, "tools/call", DELETE)
        await until(client.queue.waiting)
        (waiting,) = client.queue.waiting()
        client.queue.decide(waiting.id, Decision(Accepted({"answer": "new"}), by="agent", desk="test"))
        assert told(await client.taken()) == "deleted plans: new"


async def test_one_of_several_servers_restarts_and_its_tools_go_on() -> None:
    async with notes() as server, notes() as other, at_desk(server, other) as client:
        client.ask("tools", "tools/list")
        listed = [tool["name"] for tool in ((await client.taken()).result or {})["tools"]]
        await server.restart()
        for name in [name for name in listed if name.endswith("echo")]:
            client.ask(name, "tools/call", {"name": name, "arguments": {"text": name}})
            assert told(await client.taken()) == name
        name = next(name for name in listed if name.endswith("delete"))
        client.ask("asks", "tools/call", {**DELETE, "name": name})
        await until(client.queue.waiting)
        await server.restart()
        await other.restart()
        assert "ended while the user was being asked" in told(await client.taken())


DELETE = {"name": "delete", "arguments": {"title": "plans"}}


@asynccontextmanager
async def at_desk(*servers: Restarted) -> AsyncIterator[WireClient]:
    """A client at standard streams that cannot be asked."""
    link = await ServerSet(*(each.upstream for each in servers)).connect()
    client = await WireClient.begun(modern=False, behind=False, able={}, link=link)
    yield client
    await client.leave()


def told(message: Message) -> str:
    """The text that the model gets."""
    return str((message.result or {})["content"][0]["text"])


class Forgetful(HttpWireServer):
    """A server of which the test says when it forgets its session, while its streams stay open."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.greetings: list[dict[str, Any]] = []
        self.left: list[bytes] = []
        self._session = b""
        self.greets = True
        self._unknown = False

    def forget(self) -> None:
        self._session = b""

    def hello(self, message: Message) -> Message | None:
        self._unknown = message.method == "vendor/odd"
        if self._unknown:
            return error_response(message.id, -32601, "Method not found")
        hello = super().hello(message)
        if message.method == "initialize" and hello is not None:
            self.greetings.append(message.params)
            self._session = b"s%d" % len(self.greetings)
            return hello if self.greets else error_response(message.id, -32000, "I am full.")
        return hello

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        known = dict(scope["headers"]).get(b"mcp-session-id")
        if scope["method"] == "DELETE":
            self.left.append(known or b"")
        if known not in (None, self._session):
            await reply(send, 404, b"", None)
            return

        async def named(event: Any) -> None:
            if known is None and event["type"] == "http.response.start":
                event["headers"].append((b"mcp-session-id", self._session))
            await send({**event, "status": 404} if self._unknown and "status" in event else event)

        await super().__call__(scope, receive, named)

    def answer_all(self) -> None:
        """Answer the requests that came, and no others."""
        for each in [each for each in self.got if each.is_request]:
            self.got.remove(each)
            self.say(response(each.id, {"tools": []}))


@asynccontextmanager
async def forgetful(**options: Any) -> AsyncIterator[tuple[HttpWireClient, Forgetful]]:
    async with over_http(**{"modern": False, "behind": False, "kind": Forgetful, **options}) as client:
        assert isinstance(client.server, Forgetful)
        await client.server.taken("notifications/initialized")
        yield client, client.server


async def test_many_requests_that_fail_at_once_begin_one_session() -> None:
    async with forgetful() as (client, server):
        server.forget()
        for id in range(20):
            client.ask(id, "tools/list")
        await until(lambda: len([each for each in server.got if each.is_request]) == 20)
        server.answer_all()
        await until(lambda: len([each for each in client.got if each.result is not None]) == 20)
        first, again = server.greetings
        assert first == again
        assert "notifications/initialized" in [each.method for each in server.got]


async def test_a_new_session_begins_without_what_may_be_secret_in_the_first_greeting() -> None:
    async with forgetful() as (client, server):
        hello = client.ask("again", "initialize", {**server.greetings[0], "_meta": {"token": "s3cret"}})
        await until(lambda: client.got)
        assert [each.id for each in client.got] == [hello.id]
        client.tell("notifications/initialized", {})
        await server.taken("notifications/initialized")
        server.forget()
        client.ask(1, "tools/list")
        await until(lambda: any(each.is_request for each in server.got))
        assert server.greetings[1]["_meta"] == {"token": "s3cret"}
        assert server.greetings[2] == server.greetings[0]


async def test_the_own_stream_of_the_server_is_followed_in_the_new_session() -> None:
    async with forgetful() as (client, server):
        server.forget()
        client.ask(1, "tools/list")
        await until(lambda: any(each.is_request for each in server.got))
        server.answer_all()
        await client.taken()
        server.say(notice("notifications/tools/list_changed", {}))
        await client.taken("notifications/tools/list_changed")


@pytest.mark.parametrize("why", ["another revision", "no session"])
async def test_a_client_gets_an_error_when_no_session_of_its_own_kind_begins(why: str) -> None:
    async with forgetful() as (client, server):
        server.forget()
        server.legacy, server.greets = (JUNE, True) if why == "another revision" else (NOVEMBER, False)
        client.ask(1, "tools/list")
        assert "HTTP status 404" in (await client.taken()).body["error"]["message"]
        assert not [each for each in server.got if each.method == "tools/list"]
        assert server.left == [b"s2"]
        server.legacy, server.greets = NOVEMBER, True
        client.ask(2, "tools/list")
        await until(lambda: any(each.is_request for each in server.got))
        server.answer_all()
        assert (await client.taken()).id == 2, "a later request tries again"


@pytest.mark.parametrize("able", [{}, {"elicitation": {}}], ids=["our-desk", "clients-dialog"])
@either_client
async def test_what_was_asked_in_a_forgotten_session_is_void(
    ledger: Ledger, modern: bool, able: dict[str, Any]
) -> None:
    async with forgetful(modern=modern, able=able, ledger=ledger) as (client, server):
        client.ask(1, "tools/call", CALL)
        await server.taken("tools/call")
        server.say(request(99, "elicitation/create", FORM))
        await until(lambda: client.queue.waiting() or client.got)
        server.forget()
        client.ask(2, "tools/list")
        await until(lambda: any(each.method == "tools/list" for each in server.got))
        await until(lambda: not client.queue.waiting())
        if not (modern and able):  # a modern client has the question, and its retry is told so
            assert await ending(ledger) == "ambiguous"


async def test_a_late_answer_to_a_forgotten_question_is_not_taken_for_one_to_a_new_question() -> None:
    """The server counts its questions from 1 again."""
    async with forgetful(able={"elicitation": {}}) as (client, server):
        ids = []
        for id in (1, 2):
            client.ask(id, "tools/call", CALL)
            await server.taken("tools/call")
            server.say(request(1, "elicitation/create", FORM))
            ids.append((await client.taken("elicitation/create")).id)
            if id == 1:
                server.forget()
        old, new = ids
        assert old != new
        answer = {"action": "accept", "content": {"why": "old"}}
        client.say(response(old, answer))
        server.say(request(1, "elicitation/create", FORM))  # refused: one of this id is not answered yet
        assert (await server.taken()).error["code"] == INVALID_REQUEST
        client.say(response(new, {**answer, "content": {"why": "new"}}))
        came = await server.taken()
        assert (came.id, came.result) == (1, {**answer, "content": {"why": "new"}})
        assert not [each for each in server.got if each.method is None]


async def test_an_answer_that_the_server_refuses_shows_that_it_forgot_the_session() -> None:
    async with forgetful(able={"elicitation": {}}) as (client, server):
        client.ask(1, "tools/call", CALL)
        await server.taken("tools/call")
        server.say(request(99, "elicitation/create", FORM))
        asked = await client.taken("elicitation/create")
        server.forget()
        client.say(response(asked.id, {"action": "accept", "content": {"why": "x"}}))
        assert "did not answer" in (await client.taken()).body["error"]["message"]
        assert len(server.greetings) == 1, "a new session begins with the next request"


async def test_a_server_that_does_not_know_a_method_keeps_its_session() -> None:
    """Some say so with the status of a session that is not known."""
    async with forgetful() as (client, server):
        client.ask(5, "vendor/odd")
        assert (await client.taken()).body["error"]["code"] == -32601
        assert len(server.greetings) == 1
