"""Every revision in front, every revision behind: the same questions, the same outcomes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.gateway.notes import make_notes
from tests.gateway.peers import MemoryLink, gateway
from tests.gateway.wire import ABLE, WireClient, WireServer
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, text_of

from handraise.desks.scripted import Line
from handraise.gateway.eras import EraLink
from handraise.gateway.messages import INVALID_REQUEST, Message, notice, request, response
from handraise.gateway.peers import CAPABILITIES_KEY, CLIENT_KEY, LOG_LEVEL_KEY, NOVEMBER, VERSION_KEY
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W1")]


@pytest.fixture(params=REVISIONS, ids=lambda revision: f"client-{revision}")
def front(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture(params=REVISIONS, ids=lambda revision: f"server-{revision}")
def behind(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_a_form_is_asked_and_answered(front: Revision, behind: Revision) -> None:
    person = Person(accept(answer="old"))
    async with gateway(only=behind) as (_, connect), connect(front, person) as client:
        assert text_of(await client.call_tool("echo", {"text": "plain"})) == "plain"
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"
    assert person.messages == ["Why delete a?"]


async def test_two_rounds(front: Revision, behind: Revision) -> None:
    person = Person(accept(answer="b"), accept(answer="short"))
    async with gateway(only=behind) as (_, connect), connect(front, person) as client:
        assert text_of(await client.call_tool("rename", {"title": "a"})) == "a is b because short"


@pytest.mark.parametrize(
    ("answer", "action"), [(DECLINE, "decline"), (CANCEL, "cancel")], ids=["declined", "cancelled"]
)
async def test_no_is_carried_as_it_was_meant(
    front: Revision, behind: Revision, answer: Any, action: str
) -> None:
    async with gateway(only=behind) as (_, connect), connect(front, Person(answer)) as client:
        assert text_of(await client.call_tool("delete", {"title": "a"})) == f"kept: {action}"


async def test_a_link_is_consented_to(front: Revision, behind: Revision) -> None:
    """A server of 2025-06-18 cannot ask for one, and a client of it is asked at our desk."""
    person = Person(*([accept()] if front.url_mode else []))
    script = [] if front.url_mode else [Line("accept")]
    async with gateway(only=behind, script=script) as (_, connect), connect(front, person) as client:
        result = await client.call_tool("connect", {"account": "a"})
    if behind.url_mode:
        assert text_of(result) == "connect: accept"
    else:
        assert result.is_error


async def test_who_cannot_be_asked_answers_at_our_desk(front: Revision, behind: Revision) -> None:
    script = [Line("accept", {"answer": "b"}), Line("accept", {"answer": "short"})]
    async with gateway(only=behind, script=script) as (seen, connect), connect(front) as client:
        assert text_of(await client.call_tool("rename", {"title": "a"})) == "a is b because short"
    assert [waiting.origin.name for waiting in seen.desk.seen] == ["my notes", "my notes"]


@pytest.mark.parametrize("only", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_zero_is_an_id_like_any_other(only: Revision) -> None:
    """The TypeScript SDK counts its requests from there."""
    link = MemoryLink(make_notes(), only)
    await link.open()
    bridged, told = EraLink(link), asyncio.Event()

    def take(message: Message) -> None:
        if message.id == 0 and message.result is not None:
            told.set()

    bridged.on_message = take
    modern = {VERSION_KEY: "2026-07-28", CLIENT_KEY: {"name": "x", "version": "1"}, CAPABILITIES_KEY: {}}
    bridged.send(request(0, "tools/list", {"_meta": modern}))
    async with asyncio.timeout(60):
        await told.wait()
    await bridged.aclose()


class SlowServer(WireServer):
    """A server that reads nothing until it has started."""

    started = False

    def send(self, message: Message) -> None:
        if self.started:
            super().send(message)
        else:
            self.got.append(message)

    def start(self) -> None:
        self.started = True
        waiting, self.got = self.got, []
        for each in waiting:
            self.send(each)


@pytest.mark.parametrize("behind", [True, False], ids=["a modern server", "a legacy server"])
async def test_a_client_that_lost_patience_with_discovery_goes_on_with_initialize(behind: bool) -> None:
    """Copilot CLI does so after six seconds, and many servers take longer to start."""
    server = SlowServer(modern=behind)
    client = WireClient(modern=True, behind=behind, link=EraLink(server))
    client.ask("hello", "server/discover")
    client.say(notice("notifications/cancelled", {"requestId": "hello"}))
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": ABLE,
        "clientInfo": {"name": "c", "version": "1"},
    }
    client.say(request("again", "initialize", params))
    server.start()
    greeted = await client.taken()
    assert greeted.id == "again"
    assert greeted.result is not None
    assert greeted.result["protocolVersion"] == "2025-11-25"
    client.tell("notifications/initialized", {})
    client.say(request("call", "tools/call", {"name": "echo", "arguments": {}}))
    call = await server.taken("tools/call")
    done = {"content": [{"type": "text", "text": "done"}]}
    server.say(response(call.id, {"resultType": "complete", **done} if behind else done))
    answered = await client.taken()
    assert answered.id == "call"
    assert answered.result == done


class OddServer(WireServer):
    """A server whose capabilities are no objects."""

    def hello(self, message: Message) -> Message | None:
        hello = super().hello(message)
        if hello is None or hello.result is None:
            return hello
        odd = {"tools": True, "logging": 7, "resources": ["x"]} if message.id == "hello" else 7
        return hello.with_(result={**hello.result, "capabilities": odd})


@pytest.mark.parametrize("modern", [False, True], ids=["legacy-client", "modern-client"])
@pytest.mark.parametrize("first", ["hello", "other"], ids=["members", "number"])
async def test_a_server_with_odd_capabilities_is_served_all_the_same(modern: bool, first: str) -> None:
    server = OddServer(modern=not modern)
    client = WireClient(modern=modern, behind=not modern, link=EraLink(server))
    envelope = {"protocolVersion": "2025-11-25", "capabilities": None, "clientInfo": {"name": "c"}}
    client.ask(first, "server/discover" if modern else "initialize", envelope)
    client.ask(2, "tools/call", {"name": "x"}, **{LOG_LEVEL_KEY: "info"})
    came = await server.taken("tools/call")
    server.say(response(came.id, {"content": []}))
    answers = [await client.taken(), await client.taken()]
    assert {each.id for each in answers} == {first, 2}
    assert all(each.result is not None for each in answers)


class MuteServer(WireServer):
    """A legacy server that does not answer what it does not know."""

    def hello(self, message: Message) -> Message | None:
        return super().hello(message) if message.method == "initialize" else None


@pytest.mark.parametrize("first", ["server/discover", "tools/call"])
async def test_a_server_that_says_nothing_to_discovery_is_taken_for_a_legacy_one(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.eras.PATIENCE", 0.01)
    server = MuteServer(modern=False)
    client = WireClient(modern=True, behind=False, link=EraLink(server))
    client.ask(1, first, {"name": "echo", "arguments": {}})
    if first == "server/discover":
        assert ((await client.taken()).result or {})["supportedVersions"] == ["2026-07-28"]
        client.ask(1, "tools/call", {"name": "echo", "arguments": {}})
    came = await server.taken("tools/call")
    assert server.begun["protocolVersion"] == "2025-11-25"
    server.say(response(came.id, {"content": []}))
    answered = await client.taken()
    assert (answered.id, answered.result) == (1, {"content": [], "resultType": "complete"})


async def test_before_a_client_said_anything_no_question_of_a_server_passes() -> None:
    client = WireClient(modern=True, behind=False)
    form = {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    asking = {"inputRequests": {"q": {"method": "elicitation/create", "params": form}}, "taskId": "t"}
    client.server.say(request(5, "elicitation/create", form))
    refused = await client.server.taken()
    assert (refused.id, refused.body["error"]["code"]) == (5, INVALID_REQUEST)
    client.server.say(notice("notifications/tasks", asking))
    client.server.say(response(5, {"action": "accept"}))
    assert client.got == []
    client.server.say(notice("notifications/message", {"data": "ready"}))
    assert client.take("notifications/message").params == {"data": "ready"}
    assert client.queue.waiting() == ()


async def test_an_odd_revision_in_a_greeting_counts_as_none() -> None:
    client = WireClient(modern=False, behind=True)
    client.say(request(1, "initialize", {"protocolVersion": [], "capabilities": {}}))
    assert ((await client.taken()).result or {})["protocolVersion"] == NOVEMBER


async def test_an_odd_list_of_resources_names_none() -> None:
    client = await WireClient.begun(modern=True, behind=False)
    client.ask(1, "subscriptions/listen", {"notifications": {"resourceSubscriptions": 7}})
    await client.taken("notifications/subscriptions/acknowledged")
    client.ask(2, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a://b"]}})
    client.server.say(notice("notifications/resources/updated", {"uri": "a://b"}))
    assert (await client.taken("notifications/resources/updated")).params["uri"] == "a://b"


@pytest.mark.parametrize("params", [None, 7, "x", [], {}])
async def test_a_question_of_a_round_without_anything_to_ask_is_cancelled(params: object) -> None:
    client = await WireClient.begun(modern=False, behind=True)
    client.ask(1, "tools/call", {"name": "work", "arguments": {}})
    came = await client.server.taken("tools/call")
    wanted = {"q": {"method": "elicitation/create", "params": params}}
    asked = {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}
    client.server.say(response(came.id, asked))
    again = await client.server.taken("tools/call")
    assert again.params["inputResponses"]["q"]["action"] == "cancel"
    assert not [each for each in client.got if each.method == "elicitation/create"]
