"""A client is believed by what it does: one that asks nobody does not answer for its person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.gateway.test_passing import CALL, either_client, either_server
from tests.gateway.test_recording import asked_by
from tests.gateway.wire import WireClient
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway.client_desk import ClientHabits, Seen, load_habits
from handraise.gateway.messages import Message, error_response, response
from handraise.gateway.peers import CLIENT_KEY, Peer
from handraise.ledger import Ledger, LedgerEvent
from handraise.questions import Accepted, Declined
from handraise.wire import dump_refusal

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W3c")]

AGES = 60.0
"""Longer than any test: every answer of a client is too fast."""
YES = {"action": "accept", "content": {"why": "so"}}
ACCEPT = {"action": "accept"}
LIST = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
NEEDS: dict[str, Any] = {
    "message": "Why, and which?",
    "requestedSchema": {
        "type": "object",
        "properties": {"why": {"type": "string"}, "which": LIST},
        "required": ["why"],
    },
}
LINK = {"mode": "url", "message": "Sign in", "url": "https://example.org/"}
MISFIT = "the client accepted, but its answer does not fit the question"


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "ledger.db")
    yield ledger
    await ledger.aclose()


async def asked(
    modern: bool,
    behind: bool,
    *,
    question: dict[str, Any] = NEEDS,
    desk: Literal["auto", "none"] = "auto",
    **options: Any,
) -> WireClient:
    """A client that can ask, whose server asks because of a call."""
    client = WireClient(modern=modern, behind=behind, **options)
    client.state.options = replace(client.state.options, desk=desk)
    await client.begin()
    client.ask(1, "tools/call", CALL, **({CLIENT_KEY: {"name": "c", "version": "1"}} if modern else {}))
    id = {} if behind or question is not LINK else {"elicitationId": "e-1"}
    asked_by(client.server, await client.server.taken("tools/call"), {**question, **id})
    return client


async def reply(client: WireClient, *, answer: dict[str, Any] | None = None) -> None:
    """The client answers what it was asked; with an error, or with nothing on 2026-07-28, unless it has an answer."""
    if client.modern:
        round_ = (await client.taken()).result or {}
        given = {} if answer is None else dict.fromkeys(round_["inputRequests"], answer)
        retry = {**CALL, "inputResponses": given, "requestState": round_["requestState"]}
        client.ask(2, "tools/call", retry, **{CLIENT_KEY: {"name": "c", "version": "1"}})
    else:
        id = (await client.taken("elicitation/create")).id
        client.say(error_response(id, -32601, "no") if answer is None else response(id, answer))


def at_desk(client: WireClient, answer: Any) -> None:
    (waiting,) = client.queue.waiting()
    decision: Decision = Decision(answer, by="agent", desk="web")
    assert client.queue.decide(waiting.id, decision) == "taken"


async def heard(client: WireClient) -> Any:
    """What the server hears in the end."""
    message = await client.server.taken("tools/call" if client.server.modern else None)
    if client.server.modern:
        (answer,) = message.params["inputResponses"].values()
        return answer
    return message.result


async def decided(ledger: Ledger) -> LedgerEvent:
    async with asyncio.timeout(60):
        while True:
            await ledger.finish()
            found = [event async for _, event in ledger.events() if event.kind == "decided"]
            if found:
                return found[-1]


@either_client
@either_server
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"action": "decline"}, "the client said decline within"),
        ({"action": "cancel"}, "the client said cancel within"),
        ({**ACCEPT, "content": {"why": 7}}, MISFIT),
        ({**ACCEPT, "content": {}}, MISFIT),
        ({**ACCEPT, "content": {"why": "so", "which": "a"}}, MISFIT),
        (ACCEPT, MISFIT),
        (None, "the client could not ask"),
    ],
    ids=["decline", "cancel", "number for text", "empty", "text for a list", "no content", "error"],
)
async def test_an_answer_that_no_person_gave_brings_the_question_to_the_desk(
    ledger: Ledger, modern: bool, behind: bool, answer: dict[str, Any] | None, why: str
) -> None:
    client = await asked(modern, behind, too_fast=AGES, ledger=ledger)
    await reply(client, answer=answer)
    await until(client.queue.waiting)
    assert not [each for each in client.server.got if each.method in (None, "tools/call")]
    at_desk(client, Accepted({"why": "so"}))
    assert await heard(client) == YES
    event = await decided(ledger)
    assert (event.decided_by, event.action) == ("agent", "accept")
    assert any(why in reason for reason in event.reasons), event.reasons


@either_client
@either_server
async def test_a_decline_that_took_its_time_is_final(modern: bool, behind: bool) -> None:
    client = await asked(modern, behind, too_fast=0.0)
    await reply(client, answer={"action": "decline"})
    assert await heard(client) == {"action": "decline"}
    assert not client.queue.past()


@either_client
@either_server
async def test_a_fast_accept_counts_and_is_recorded_as_the_clients(
    ledger: Ledger, modern: bool, behind: bool
) -> None:
    client = await asked(modern, behind, too_fast=AGES, ledger=ledger)
    await reply(client, answer=YES)
    assert await heard(client) == YES
    assert (await decided(ledger)).decided_by == "client"
    assert not client.queue.past()


@either_client
@either_server
async def test_a_link_that_the_client_accepts_unseen_comes_to_the_desk(
    ledger: Ledger, modern: bool, behind: bool
) -> None:
    client = await asked(modern, behind, question=LINK, too_fast=AGES, ledger=ledger)
    await reply(client, answer=ACCEPT)
    await until(client.queue.waiting)
    assert not [each for each in client.server.got if each.method in (None, "tools/call")]
    at_desk(client, Declined())
    assert await heard(client) == {"action": "decline"}
    assert any("the client said accept within" in reason for reason in (await decided(ledger)).reasons)


@either_client
@either_server
async def test_a_question_that_stays_unanswered_comes_to_the_desk_and_the_first_answer_wins(
    ledger: Ledger, modern: bool, behind: bool
) -> None:
    client = await asked(modern, behind, hold=0.05, too_fast=0.0, ledger=ledger)
    await until(client.queue.waiting)
    at_desk(client, Accepted({"why": "so"}))
    if modern:  # the desk's answer waits for the client's retry, whatever that says
        await reply(client, answer={"action": "decline"})
    else:
        question = await client.taken("elicitation/create")
        told = await client.taken("notifications/cancelled")
        assert told.params["requestId"] == question.id
    assert await heard(client) == YES
    assert any("left it unanswered" in reason for reason in (await decided(ledger)).reasons)


@either_server
async def test_a_client_that_answers_after_all_wins_if_it_is_first(behind: bool) -> None:
    client = await asked(False, behind, hold=0.05, too_fast=0.0)
    await until(client.queue.waiting)
    await reply(client, answer={"action": "decline"})
    assert await heard(client) == {"action": "decline"}
    assert not client.queue.waiting()
    ((_, decision),) = client.queue.past()
    assert (decision.desk, decision.answer) == ("client", Declined())


async def test_a_client_that_left_the_last_question_unanswered_is_not_waited_for() -> None:
    habits = ClientHabits()
    habits.note(Peer("2025-11-25", {}, {"name": "c", "version": "1"}), "unanswered")
    client = await asked(False, False, hold=60, too_fast=0.0, habits=habits)
    await until(client.queue.waiting)
    await reply(client, answer={"action": "decline"})  # its person may be there after all
    assert await heard(client) == {"action": "decline"}


async def test_a_quick_yes_counts_where_the_last_question_was_left_unanswered() -> None:
    habits = ClientHabits()
    habits.note(Peer("2025-11-25", {}, {"name": "c", "version": "1"}), "unanswered")
    client = await asked(False, False, hold=60, too_fast=AGES, habits=habits)
    await until(client.queue.waiting)
    await reply(client, answer=YES)
    assert await heard(client) == YES
    ((_, decision),) = client.queue.past()
    assert (decision.desk, decision.by) == ("client", "client")


@either_client
async def test_without_a_desk_every_answer_of_the_client_counts(modern: bool) -> None:
    client = await asked(modern, modern, too_fast=AGES, desk="none")
    await reply(client, answer={"action": "decline"})
    assert await heard(client) == {"action": "decline"}


@either_client
@either_server
@pytest.mark.parametrize(
    "answer",
    [ACCEPT, {**ACCEPT, "content": {}}, {**ACCEPT, "content": {"why": "so", "which": "a"}}],
    ids=["no content", "empty", "text for a list"],
)
async def test_without_a_desk_server_and_model_are_told_of_an_answer_that_does_not_fit(
    modern: bool, behind: bool, answer: dict[str, Any]
) -> None:
    client = await asked(modern, behind, desk="none")
    await reply(client, answer=answer)
    if behind:
        again = await client.server.taken("tools/call")
        (told,) = again.params["inputResponses"].values()
    else:
        told = (await client.server.taken()).result
    assert told == {"action": "cancel", "_meta": dump_refusal("answer")}
    stamp = {"resultType": "complete"} if behind else {}
    id = again.id if behind else 1
    client.server.say(response(id, {**stamp, "content": [{"type": "text", "text": "kept"}]}))
    texts = [each["text"] for each in ((await client.taken()).result or {})["content"]]
    assert texts[0] == "kept"
    assert "could not be used" in texts[1]


@either_client
async def test_a_client_that_was_seen_not_to_ask_is_offered_the_tool_that_resumes(modern: bool) -> None:
    client = await asked(modern, modern, too_fast=AGES)
    await reply(client, answer={"action": "decline"})
    await until(client.queue.waiting)
    client.ask(3, "tools/list", {}, **({CLIENT_KEY: {"name": "c", "version": "1"}} if modern else {}))
    listed = await client.server.taken("tools/list")
    client.server.say(response(listed.id, {"tools": []}))
    answer: Message = await client.taken()
    assert [tool["name"] for tool in (answer.result or {})["tools"]] == ["handraise_resume"]


@either_client
async def test_a_client_that_knows_output_schemas_is_told_as_an_error_that_its_call_waits(
    modern: bool,
) -> None:
    client = await asked(modern, modern, too_fast=AGES, hold=0.05)
    await reply(client, answer={"action": "decline"})
    told = (await client.taken()).result or {}
    assert "handraise_resume" in told["content"][0]["text"]
    assert told["isError"] is True


async def test_what_was_seen_of_a_client_and_version_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "clients.json"
    first, second = ClientHabits(file), ClientHabits(file)
    one, other = (Peer("2025-11-25", {}, {"name": "c", "version": version}) for version in ("1", "2"))
    first.note(one, "too_fast")
    second.note(other, "answered")
    first.note(one, "answered")
    assert load_habits(file) == {
        "c 1": Seen(answered=1, too_fast=1, last="answered"),
        "c 2": Seen(answered=1, last="answered"),
    }
    assert not ClientHabits(file).does_not_ask(one)
    file.write_text(json.dumps(["damaged"]))
    assert load_habits(file) == {}


async def test_the_habits_of_one_persons_client_are_not_those_of_anothers() -> None:
    habits = ClientHabits()
    anns, bobs = (Peer("2025-11-25", {}, {"name": "c", "version": "1"}, user) for user in ("ann", "bob"))
    habits.note(anns, "unanswered")
    assert habits.leaves_unanswered(anns)
    assert not habits.does_not_ask(bobs)


async def test_only_the_latest_clients_are_remembered() -> None:
    """A client can claim any name."""
    habits = ClientHabits()
    known = Peer("2025-11-25", {}, {"name": "known"})
    for number in range(1_200):
        habits.note(known if number % 400 == 0 else Peer("2025-11-25", {}, {"name": f"c{number}"}), "failed")
    assert habits.does_not_ask(known)
    assert not habits.does_not_ask(Peer("2025-11-25", {}, {"name": "c1"}))


KEY = "ghp_" + "a1B2c3D4e5F6" * 3


@either_client
@either_server
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (LINK, {**ACCEPT, "content": {"token": KEY}}),
        (NEEDS, {"action": "decline", "content": {"why": KEY}}),
        (NEEDS, {"action": "cancel", "content": {"why": KEY}}),
    ],
    ids=["link", "decline", "cancel"],
)
@pytest.mark.shows("W3b", "L1")
async def test_content_that_answers_nothing_reaches_no_server(
    modern: bool, behind: bool, question: dict[str, Any], answer: dict[str, Any]
) -> None:
    client = await asked(modern, behind, question=question)
    await reply(client, answer=answer)
    assert await heard(client) == {"action": answer["action"]}


@pytest.mark.parametrize("desk", ["auto", "none"])
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "cancel", "Action": "accept", "content": {"why": "so"}},
        {**YES, "Content": {"why": KEY}},
        {"action": "cancel", "\u0063onTent": {"why": KEY}},
    ],
    ids=["action", "content", "only content"],
)
@pytest.mark.shows("W3")
async def test_an_answer_with_two_readings_is_none(
    desk: Literal["auto", "none"], answer: dict[str, Any]
) -> None:
    client = await asked(False, False, desk=desk)
    await reply(client, answer=answer)
    if desk == "auto":
        await until(client.queue.waiting)
        at_desk(client, Declined())
    told = await heard(client)
    assert told["action"] == ("decline" if desk == "auto" else "cancel")
    assert told.keys() <= {"action", "_meta"}
