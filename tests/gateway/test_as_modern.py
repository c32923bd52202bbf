"""What has to be done in a browser first, told by a -32042 to a client of 2026-07-28, which does not know that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.gateway.test_passing import FORM
from tests.gateway.wire import WireClient
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway.messages import error_response, notice, request
from handraise.questions import Declined

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W1")]

LINK = {
    "mode": "url",
    "elicitationId": "e1",
    "url": "https://notes.example.com/connect",
    "message": "Connect",
}
CALL = {"name": "connect", "arguments": {}}


async def asked() -> tuple[WireClient, str]:
    """A client that was given the link as a round, and the state of the round."""
    client = await WireClient.begun(modern=True, behind=False)
    client.ask(1, "tools/call", CALL)
    call = await client.server.taken("tools/call")
    client.server.say(error_response(call.id, -32042, "First", {"elicitations": [LINK]}))
    round = (await client.taken()).result
    assert round is not None
    assert round["inputRequests"]["q1"]["params"]["url"] == LINK["url"]
    return client, round["requestState"]


async def test_the_call_is_made_anew_when_what_is_behind_the_link_is_done() -> None:
    client, state = await asked()
    client.ask(
        2, "tools/call", {**CALL, "requestState": state, "inputResponses": {"q1": {"action": "accept"}}}
    )
    client.server.say(notice("notifications/elicitation/complete", {"elicitationId": "e1"}))
    again = await client.server.taken("tools/call")
    assert again.params["name"] == "connect"
    await client.leave()


async def test_a_call_that_is_cancelled_while_the_person_is_in_the_browser_is_not_made_anew() -> None:
    client, state = await asked()
    client.ask(
        2, "tools/call", {**CALL, "requestState": state, "inputResponses": {"q1": {"action": "accept"}}}
    )
    await until(lambda: len(client.calls) == 1 and client.calls[0].state == "sent")
    client.tell("notifications/cancelled", {"requestId": 2})
    client.server.say(notice("notifications/elicitation/complete", {"elicitationId": "e1"}))
    await asyncio.sleep(0.01)  # nothing tells that no request comes
    assert not [each for each in client.server.got if each.method == "tools/call"]
    await client.leave()


@pytest.mark.parametrize("answer", [{"action": "decline"}, {}, "accept", None, 7])
async def test_without_an_accept_nothing_is_made_anew_and_nobody_waits(answer: Any) -> None:
    client, state = await asked()
    client.ask(2, "tools/call", {**CALL, "requestState": state, "inputResponses": {"q1": answer}})
    if answer != {"action": "decline"}:  # that is nobody's answer
        await until(client.queue.waiting)
        client.queue.decide(client.queue.waiting()[0].id, Decision(Declined()))
    told = await client.taken()
    assert told.id == 2
    assert "Nothing was done" in told.body["error"]["message"]
    assert not [each for each in client.server.got if each.method == "tools/call"]
    await client.leave()


async def test_a_call_whose_questions_the_client_never_answers_is_cancelled_after_many_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("handraise.gateway.as_modern._MOST", 2)
    client = await WireClient.begun(modern=True, behind=False)
    came = []
    for id in (1, 2, 3):
        client.ask(id, "tools/call", {**CALL, "arguments": {"number": id}})
        came.append(await client.server.taken("tools/call"))
        asking = request(f"q{id}", "elicitation/create", FORM)
        asking.about = came[-1].id
        client.server.say(asking)
        await client.taken()
    cancelled = await client.server.taken("notifications/cancelled")
    assert cancelled.params["requestId"] == came[0].id
    assert not [each for each in client.server.got if each.method == "notifications/cancelled"]
    await client.leave()


async def test_links_that_are_needed_while_a_question_waits_come_after_its_answer() -> None:
    client = await WireClient.begun(modern=True, behind=False)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(request(9, "elicitation/create", FORM))
    first = (await client.taken()).result or {}
    client.server.say(error_response(came.id, -32042, "First", {"elicitations": [LINK]}))
    given = {"q1": {"action": "accept", "content": {"why": "so"}}}
    client.ask(2, "tools/call", {**CALL, "requestState": first["requestState"], "inputResponses": given})
    second = (await client.taken()).result or {}
    assert [each["params"]["url"] for each in second["inputRequests"].values()] == [LINK["url"]]


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
async def test_of_several_calls_the_one_that_asks_is_named_where_the_server_says_which(known: bool) -> None:
    """Over HTTP a question comes on the stream of its call; a pipe does not say which call it belongs to."""
    client = await WireClient.begun(modern=True, behind=False, able={})
    came = []
    for id, name in ((1, "first"), (2, "second")):
        client.ask(id, "tools/call", {"name": name, "arguments": {}})
        came.append(await client.server.taken("tools/call"))
    asking = request(99, "elicitation/create", FORM)
    asking.about = came[0].id if known else None
    client.server.say(asking)
    await until(client.queue.waiting)
    cause = client.queue.waiting()[0].cause
    assert cause is not None
    assert (cause.certain, [name for name, _ in cause.calls]) == (
        known,
        ["first"] if known else ["first", "second"],
    )
    await client.leave()


async def test_a_question_of_the_only_call_is_surely_its_own() -> None:
    client = await WireClient.begun(modern=True, behind=False, able={})
    client.ask(1, "tools/call", CALL)
    await client.server.taken("tools/call")
    client.server.say(request(99, "elicitation/create", FORM))
    await until(client.queue.waiting)
    cause = client.queue.waiting()[0].cause
    assert cause is not None
    assert cause.certain
    await client.leave()


async def test_what_a_server_asks_outside_a_call_is_refused_with_its_reason() -> None:
    client = await WireClient.begun(modern=True, behind=False)
    for id, method, code in ((5, "elicitation/create", -32600), (6, "vendor/odd", -32601)):
        client.server.say(request(id, method, FORM))
        refused = await client.server.taken()
        assert (refused.id, refused.body["error"]["code"]) == (id, code)
    client.server.say(request(7, "ping", {}))
    assert (await client.server.taken()).body == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert client.got == []
    await client.leave()
