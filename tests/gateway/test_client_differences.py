"""What real clients do differently from each other: late cancels, older revisions, links without an id, progress."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.test_passing import CALL, FORM, either_client, either_server
from tests.gateway.test_recording import asked_by, events_in
from tests.gateway.wire import WireClient
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway.messages import Message, notice, response
from handraise.gateway.peers import JUNE
from handraise.ledger import Ledger
from handraise.questions import Accepted

pytestmark = [pytest.mark.anyio]

LIST = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
SEVERAL = {
    "message": "Which?",
    "requestedSchema": {"type": "object", "properties": {"which": LIST}, "required": ["which"]},
}
LINK = {"mode": "url", "message": "Sign in", "url": "https://example.org/"}
UNABLE: dict[str, Any] = {}


def text_of(message: Message) -> str:
    assert message.result is not None, message.body
    return str(message.result["content"][0]["text"])


async def at_desk(client: WireClient, **content: Any) -> None:
    await until(client.queue.waiting)
    (waiting,) = client.queue.waiting()
    decision: Decision = Decision(Accepted(content), by="agent", desk="test")
    assert client.queue.decide(waiting.id, decision) == "taken"


async def heard(client: WireClient) -> tuple[Message, Any]:
    """What the server hears in the end: the request to answer now, and what the person said."""
    message = await client.server.taken("tools/call" if client.server.modern else None)
    if client.server.modern:
        (answer,) = message.params["inputResponses"].values()
        return message, answer
    return message, message.result


def finish(client: WireClient, id: Any) -> None:
    stamp = {"resultType": "complete"} if client.server.modern else {}
    client.server.say(response(id, {**stamp, "content": [{"type": "text", "text": "done"}]}))


@pytest.mark.shows("O7")
@either_client
@either_server
async def test_a_cancel_for_a_call_that_was_answered_changes_nothing(modern: bool, behind: bool) -> None:
    client = await WireClient.begun(modern=modern, behind=behind, able=UNABLE, hold=0.05)
    client.ask(1, "tools/call", CALL)
    called = await client.server.taken("tools/call")
    asked_by(client.server, called)
    ticket = text_of(await client.taken()).partition("the ticket '")[2].partition("'")[0]
    client.tell("notifications/cancelled", {"requestId": 1, "reason": "clean-up"})
    client.ask(2, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    assert "This call waits for the user." in text_of(await client.taken())
    await at_desk(client, why="so")
    request, answer = await heard(client)
    assert answer == {"action": "accept", "content": {"why": "so"}}
    finish(client, request.id if behind else called.id)
    client.ask(3, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    assert text_of(await client.taken()) == "done"


@pytest.mark.shows("W2")
@either_client
@either_server
async def test_the_desk_knows_whether_the_client_waits_for_the_answer(modern: bool, behind: bool) -> None:
    client = await WireClient.begun(modern=modern, behind=behind, able=UNABLE, hold=0.05)
    client.ask(1, "tools/call", CALL)
    called = await client.server.taken("tools/call")
    asked_by(client.server, called)
    ticket = text_of(await client.taken()).partition("the ticket '")[2].partition("'")[0]
    await at_desk(client, why="so")
    request, _ = await heard(client)
    assert client.queue.past()[0][1].unattended
    asked_by(client.server, request if behind else called)
    await until(client.queue.waiting)
    client.state.options = replace(client.state.options, hold=60)
    client.ask(2, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    await until(lambda: not client.queue.unattended)
    await at_desk(client, why="so")
    assert not client.queue.past()[0][1].unattended


@pytest.mark.shows("N2", "W3")
@either_server
async def test_a_choice_of_several_comes_to_the_desk_for_a_client_of_2025_06_18(
    behind: bool, tmp_path: Path
) -> None:
    ledger = Ledger.at(tmp_path / "ledger.db")
    able: dict[str, Any] = {"elicitation": {}}
    client = WireClient(modern=False, behind=behind, able=able, ledger=ledger, hold=0.05)
    client.legacy = JUNE
    await client.begin()
    client.ask(1, "tools/call", CALL)
    called = await client.server.taken("tools/call")
    asked_by(client.server, called, SEVERAL)
    assert "This call waits for the user." in text_of(await client.taken())
    assert not any(each.method == "elicitation/create" for each in client.got)
    await at_desk(client, which=["b"])
    request, answer = await heard(client)
    assert answer == {"action": "accept", "content": {"which": ["b"]}}
    finish(client, request.id if behind else called.id)
    client.ask(2, "tools/call", {"name": "work", "arguments": {"other": 1}})
    again = await client.server.taken("tools/call")
    asked_by(client.server, again, SEVERAL)
    await until(client.queue.waiting)
    (waiting,) = client.queue.waiting()
    assert waiting.cause is not None, "it is known because of which call it is asked"
    await ledger.aclose()
    kinds = [event.kind for event in await events_in(tmp_path / "ledger.db")]
    assert "shown" not in kinds, "nobody was shown it: no desk was open"


@pytest.mark.shows("W3")
@either_client
@either_server
async def test_the_desk_knows_how_long_the_server_waits(modern: bool, behind: bool) -> None:
    client = await WireClient.begun(modern=modern, behind=behind, able=UNABLE)
    client.ask(1, "tools/call", CALL)
    hinted = {**FORM, "_meta": {"handraise/question": {"expiresIn": 5}}}
    asked_by(client.server, await client.server.taken("tools/call"), hinted)
    await until(client.queue.waiting)
    (waiting,) = client.queue.waiting()
    assert waiting.deadline is not None
    assert waiting.deadline <= time.time() + 5


@pytest.mark.shows("L1")
@either_server
async def test_a_modern_client_gets_every_link_with_an_id(behind: bool) -> None:
    client = await WireClient.begun(modern=True, behind=behind)
    client.ask(1, "tools/call", CALL)
    link = LINK if behind else {**LINK, "elicitationId": "e-1"}
    asked_by(client.server, await client.server.taken("tools/call"), link)
    result = (await client.taken()).result or {}
    (asked,) = result["inputRequests"].values()
    assert asked["params"] == {**LINK, "elicitationId": asked["params"]["elicitationId"]}
    assert asked["params"]["elicitationId"]


@either_client
@either_server
async def test_progress_of_the_server_and_of_a_held_call_is_one_rising_count(
    modern: bool, behind: bool
) -> None:
    client = await WireClient.begun(modern=modern, behind=behind, able=UNABLE)
    client.ask(1, "tools/call", CALL, progressToken="t")
    called = await client.server.taken("tools/call")

    def report(call: Message, progress: float) -> None:
        token = call.params["_meta"]["progressToken"]
        told = {"progressToken": token, "progress": progress, "total": 10, "message": "Working"}
        client.server.say(notice("notifications/progress", told))

    report(called, 3)
    asked_by(client.server, called)
    await until(client.queue.waiting)
    live = not modern and not behind  # else the server's request is over while it asks
    if live:
        report(called, 4)
    await at_desk(client, why="so")
    request, _ = await heard(client)
    report(request if behind else called, 5)
    told = [await client.taken("notifications/progress") for _ in range(4 if live else 3)]
    shown = [(each.params["progress"], each.params.get("total"), each.params["message"]) for each in told]
    inbox = "Answer in your Handraise inbox: run `handraise inbox`"
    then = [(5, 11, inbox), (6, 11, "Working")] if live else [(5, 10, "Working")]
    assert shown == [(3, 10, "Working"), (4, None, inbox), *then]


async def test_signs_of_life_are_whole_numbers_beside_fractions_of_the_server() -> None:
    client = await WireClient.begun(modern=False, behind=False, able=UNABLE)
    client.ask(1, "tools/call", CALL, progressToken="t")
    called = await client.server.taken("tools/call")
    for progress in (0.1, 0.2):
        params = {"progressToken": "t", "progress": progress, "total": 1}
        client.server.say(notice("notifications/progress", params))
    asked_by(client.server, called)
    await until(client.queue.waiting)
    client.server.say(notice("notifications/progress", {"progressToken": "t", "progress": 0.7, "total": 1}))
    told = [(await client.taken("notifications/progress")).params for _ in range(4)]
    shown = [(each["progress"], each.get("total")) for each in told]
    assert shown == [(0.1, 1), (0.2, 1), (1, None), (2.7, 3)]


@pytest.mark.shows("W2")
async def test_the_hold_does_not_begin_anew_with_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.holding.SHORTEST", 0.05)
    client = await WireClient.begun(modern=False, behind=False, able=UNABLE, hold=60)
    client.ask(1, "tools/call", CALL)
    called = await client.server.taken("tools/call")
    asked_by(client.server, called)
    await at_desk(client, why="so")
    await client.server.taken()
    (call,) = client.calls
    call.began -= 60  # the first question took that long
    asked_by(client.server, called)
    assert "This call waits for the user." in text_of(await client.taken())


async def link_accepted(
    modern: bool, behind: bool, *, hold: float = 60.0, grace: float = 60.0
) -> tuple[WireClient, Message]:
    """A call whose link the person opened at our desk, and whose server waits for them."""
    client = await WireClient.begun(modern=modern, behind=behind, able=UNABLE, hold=hold, grace=grace)
    client.ask(1, "tools/call", CALL, progressToken="t")
    called = await client.server.taken("tools/call")
    asked_by(client.server, called, LINK if behind else {**LINK, "elicitationId": "e-1"})
    await until(client.queue.waiting)
    (waiting,) = client.queue.waiting()
    decision: Decision = Decision(Accepted(None), by="agent", desk="test")
    assert client.queue.decide(waiting.id, decision) == "taken"
    request, answer = await heard(client)
    assert answer == {"action": "accept"}
    return client, request if behind else called


@pytest.mark.shows("W2")
@either_client
@either_server
async def test_a_call_is_held_while_its_person_is_in_the_browser(
    modern: bool, behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.holding.BEAT", 0.01)
    client, request = await link_accepted(modern, behind)
    client.got.clear()
    told = [(await client.taken("notifications/progress")).params for _ in range(3)]
    values = [each["progress"] for each in told]
    assert values == sorted(set(values))
    assert {each["message"] for each in told} == {"Finish the page in your browser."}
    finish(client, request.id)
    assert text_of(await client.taken()) == "done"


@pytest.mark.shows("W2")
@either_client
@either_server
async def test_a_call_is_parked_while_its_person_is_in_the_browser(modern: bool, behind: bool) -> None:
    client, request = await link_accepted(modern, behind, hold=0.3)
    parked = text_of(await client.taken())
    assert "in their browser" in parked
    ticket = parked.partition("the ticket '")[2].partition("'")[0]
    finish(client, request.id)
    client.ask(2, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    assert text_of(await client.taken()) == "done"


@pytest.mark.shows("O7")
@either_client
@either_server
async def test_a_call_cancelled_while_its_person_is_in_the_browser_goes_on(
    modern: bool, behind: bool
) -> None:
    client, request = await link_accepted(modern, behind)
    client.tell("notifications/cancelled", {"requestId": 1, "reason": "timeout"})
    client.ask(2, "tools/call", CALL)
    finish(client, request.id)
    assert text_of(await client.taken()) == "done"
    assert not any(each.method in ("notifications/cancelled", "tools/call") for each in client.server.got)


async def test_a_call_that_asks_again_waits_for_the_new_question() -> None:
    client, called = await link_accepted(False, False, grace=0.0)
    asked_by(client.server, called)
    await at_desk(client, why="so")
    await client.server.taken()
    client.tell("notifications/cancelled", {"requestId": 1})
    await client.server.taken("notifications/cancelled")
