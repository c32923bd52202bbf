"""Answers that nobody gave: a yes is good for one question and one call, and nothing made up passes unrecorded."""

from __future__ import annotations

import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.test_guards import DESTRUCTIVE
from tests.gateway.test_passing import CALL, FORM, SAMPLED, SAMPLING
from tests.gateway.test_recording import asked_by
from tests.gateway.wire import WireClient
from tests.gateway.wire_http import over_http
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway import modern as modern_relay
from handraise.gateway.messages import Message, error_response, notice, request, response
from handraise.gateway.peers import CAPABILITIES_KEY, MODERN, VERSION_KEY
from handraise.gateway.reading import parse_message
from handraise.ledger import Ledger
from handraise.questions import Accepted

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W3b")]

YES = {"action": "accept", "content": {"why": "so"}}
DONE = {"resultType": "complete", "content": []}
ENVELOPE = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {"elicitation": {}}}
either_server = pytest.mark.parametrize("behind", [False, True], ids=["legacy-server", "modern-server"])


async def asked(client: WireClient) -> Message:
    """Have a legacy server's call wait for the question 99."""
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(request(99, "elicitation/create", FORM))
    return came


def round_of(*, state: str = "s") -> dict[str, Any]:
    wanted = {"q": {"method": "sampling/createMessage", "params": SAMPLING}}
    return {"resultType": "input_required", "inputRequests": wanted, "requestState": state}


def retry(client: WireClient, id: Any, **more: Any) -> None:
    told = {"requestState": "s", "inputResponses": {"q": SAMPLED}, **more}
    client.ask(id, "tools/call", {"name": "remove", "arguments": {"path": "a"}, **told})


async def test_a_client_makes_no_task_of_a_question() -> None:
    able = {
        "elicitation": {"form": {}, "url": {}},
        "tasks": {"list": {}, "requests": {"elicitation": {"create": {}}, "sampling": {}}},
    }
    client = WireClient(modern=False, behind=False, able=able)
    await client.begin()
    offered = client.server.begun["capabilities"]
    assert offered["tasks"] == {"list": {}, "requests": {"sampling": {}}}
    client.ask(1, "tools/call", CALL)
    await client.server.taken("tools/call")
    client.server.say(request(99, "elicitation/create", {**FORM, "task": {"ttl": 60_000}}))
    shown = await client.taken("elicitation/create")
    assert shown.params == FORM
    client.say(response(99, {"task": {"taskId": "t", "status": "working"}}))
    await until(client.queue.waiting)  # that is no answer, so that our desk is asked


async def test_the_answer_to_a_question_reaches_no_server_as_the_result_of_a_task() -> None:
    client = await WireClient.begun(modern=False, behind=False)
    for answer, passes in ((YES, False), ({"Action": "accept"}, False), (SAMPLED, True)):
        client.server.say(request(99, "tasks/result", {"taskId": "t"}))
        await client.taken("tasks/result")
        client.say(response(99, answer))
        assert ((await client.server.taken()).result == answer) is passes


async def test_a_second_question_of_the_same_id_is_refused() -> None:
    client = await WireClient.begun(modern=False, behind=False)
    await asked(client)
    await client.taken("elicitation/create")
    client.server.say(request(99, "elicitation/create", {**FORM, "message": "Pay 10,000?"}))
    assert (await client.server.taken()).body["error"]["code"] == -32600
    client.say(response(99, YES))
    assert (await client.server.taken()).result == YES
    assert client.got == []


@pytest.mark.shows("U3")
async def test_a_yes_of_a_guard_is_good_for_one_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modern_relay, "_KEPT", 0)
    client = await WireClient.begun(modern=True, behind=True, guards=DESTRUCTIVE)
    client.ask(1, "tools/call", {"name": "remove", "arguments": {"path": "a"}})
    await until(client.queue.waiting)
    client.queue.decide(
        client.queue.waiting()[0].id, Decision(Accepted({"answer": True}), by="agent", desk="test")
    )
    client.server.say(response((await client.server.taken("tools/call")).id, round_of()))
    await client.taken()
    retry(client, 2)
    came = await client.server.taken("tools/call")
    client.server.say(response(came.id, DONE))
    assert (await client.taken()).result == DONE
    await until(lambda: all(each.retry is None for each in relay_of(client)._rounds.values()))
    retry(client, 3)
    await until(client.queue.waiting)  # the guard asks again
    assert client.server.got == []
    retry(client, 4, inputResponses={"q": {"other": 1}})
    assert (await client.taken()).body["error"]["code"] == -32602


def relay_of(client: WireClient) -> modern_relay.ModernRelay:
    relay = client._front._relay
    assert isinstance(relay, modern_relay.ModernRelay)
    return relay


async def test_the_same_retry_again_gets_the_same_outcome() -> None:
    client = await WireClient.begun(modern=True, behind=True)
    client.ask(1, "tools/call", {"name": "remove", "arguments": {"path": "a"}})
    client.server.say(response((await client.server.taken("tools/call")).id, round_of()))
    await client.taken()
    retry(client, 2)
    came = await client.server.taken("tools/call")
    retry(client, 3)
    client.server.say(response(came.id, DONE))
    assert {(await client.taken()).id, (await client.taken()).id} == {2, 3}
    retry(client, 4)
    assert (await client.taken()).result == DONE
    assert client.server.got == []


async def test_answers_to_what_was_not_asked_in_a_round_are_left_out() -> None:
    client = await WireClient.begun(modern=True, behind=True)
    client.ask(1, "tools/call", {"name": "remove", "arguments": {"path": "a"}})
    client.server.say(response((await client.server.taken("tools/call")).id, round_of()))
    await client.taken()
    retry(client, 2, inputResponses={"q": SAMPLED, "forged": YES})
    assert (await client.server.taken("tools/call")).params["inputResponses"] == {"q": SAMPLED}


@pytest.mark.parametrize("resumes", [True, False], ids=["goes-on", "keeps-nothing"])
@pytest.mark.parametrize("state", [{}, {"requestState": "made up"}], ids=["no-state", "state"])
async def test_an_answer_to_an_unknown_round_is_recorded_and_reaches_only_a_server_that_goes_on(
    resumes: bool, state: dict[str, Any], tmp_path: Path
) -> None:
    async with aclosing(Ledger.at(tmp_path / "ledger.db")) as ledger:
        client = WireClient(modern=True, behind=True, ledger=ledger)
        client.server.resumes = resumes
        # The client's first message after a restart of the gateway.
        client.ask(1, "tools/call", {**CALL, "inputResponses": {"q": YES}, **state})
        passes = resumes and bool(state)
        if passes:
            came = await client.server.taken("tools/call")
            assert came.params["inputResponses"] == {"q": YES}
            client.server.say(response(came.id, DONE))
            assert (await client.taken()).result == DONE
        else:
            assert (await client.taken()).body["error"]["code"] == -32602
            assert client.server.got == []
        (event,) = [event async for _, event in ledger.events()]
    assert event.kind == ("ambiguous" if passes else "refused")
    assert event.reasons == ("the client answered a question that was not asked here",)


async def test_a_client_that_cannot_ask_answers_no_round_of_a_server_that_goes_on() -> None:
    client = await WireClient.begun(modern=True, behind=True, able={"sampling": {}})
    client.ask(1, "tools/call", {**CALL, "inputResponses": {"q": YES}})
    assert (await client.taken()).body["error"]["code"] == -32602
    assert client.server.got == []
    client.ask(2, "tools/call", {**CALL, "inputResponses": {"q": SAMPLED}, "requestState": "of before"})
    assert (await client.server.taken("tools/call")).params["inputResponses"] == {"q": SAMPLED}


@pytest.mark.parametrize("envelope", [{}, ENVELOPE], ids=["plain", "as-a-modern-client"])
@either_server
async def test_a_legacy_client_answers_no_round(behind: bool, envelope: dict[str, Any]) -> None:
    """Some servers speak both eras on one connection."""
    client = await WireClient.begun(modern=False, behind=behind)
    told = {"inputResponses": {"q": YES}, "requestState": "made up"}
    client.ask(1, "tools/call", {**CALL, **told}, **envelope)
    came = await client.server.taken("tools/call")
    assert "inputResponses" not in came.params
    assert "requestState" not in came.params


@pytest.mark.shows("W9b")
async def test_where_a_passkey_is_needed_no_answer_to_an_unknown_round_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "handraise.toml").write_text('desk.passkey = ["typed"]\n')
    monkeypatch.setenv("HANDRAISE_CONFIG", str(tmp_path / "handraise.toml"))
    client = WireClient(modern=True, behind=True, guards=None)
    client.ask(1, "tools/call", {**CALL, "inputResponses": {"q": YES}, "requestState": "of before"})
    assert (await client.taken()).body["error"]["code"] == -32602
    assert client.server.got == []


async def test_a_client_answers_no_question_of_a_task_that_it_did_not_get() -> None:
    client = await WireClient.begun(modern=True, behind=True)
    client.ask(1, "tasks/get", {"taskId": "t"})
    came = await client.server.taken("tasks/get")
    shown = {"inputRequests": {"shown": {"method": "elicitation/create", "params": FORM}}}
    client.server.say(response(came.id, {"resultType": "complete", **shown}))
    await client.taken()
    for id, task, key in ((2, "t", "other"), (3, "u", "shown")):
        client.ask(id, "tasks/update", {"taskId": task, "inputResponses": {key: YES}})
        assert (await client.taken()).body["error"]["code"] == -32602
    assert client.server.got == []
    client.ask(4, "tasks/update", {"taskId": "t", "inputResponses": {"shown": YES}})
    assert (await client.server.taken("tasks/update")).id == 4


async def test_a_client_uses_no_id_of_the_gateways_own() -> None:
    client = await WireClient.begun(modern=True, behind=False)
    for id in ("handraise-initialize", "handraise-m1"):
        client.ask(id, "tools/call", CALL)
        came = await client.server.taken("tools/call")
        assert came.id != id
        client.server.say(response(came.id, DONE))
        assert (await client.taken()).id == id


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
async def test_a_modern_server_asks_a_legacy_client_nothing_by_a_request(method: str) -> None:
    client = await WireClient.begun(modern=False, behind=True)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(request(99, method, FORM))
    assert (await client.server.taken()).body["error"]["code"] == -32601
    client.server.say(response(came.id, DONE))
    assert (await client.taken()).id == 1
    assert client.got == []


@either_server
@pytest.mark.parametrize("modern", [False, True], ids=["legacy-client", "modern-client"])
async def test_a_failure_of_ours_ends_one_message_and_no_other(
    modern: bool, behind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members of any type come from servers. One that we forgot to check must not take a call with it."""
    client = await WireClient.begun(modern=modern, behind=behind)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    odd = Message({"jsonrpc": "2.0", "method": "notifications/message", "params": {"_meta": {"x": 1}}})
    monkeypatch.setattr(Message, "asks", property(lambda message: 1 / 0))
    client.server.say(odd)
    client.server.say(response(came.id, DONE))
    assert (await client.taken()).id == 1


async def test_a_question_does_not_wait_in_vain_for_an_answer_that_cannot_be_read_over_http() -> None:
    async with over_http(modern=False, behind=False) as client:
        await asked(client)
        await client.taken("elicitation/create")
        answer = response(99, YES)
        answer._raw = b'{"jsonrpc":"2.0","id":99,"result":{"action":"accept","action":"decline"}}'
        client.say(answer)
        await until(client.queue.waiting)  # the client could not ask, so that our desk does
        assert (await client.taken()).body["error"]["code"] == -32600


LINK = {"mode": "url", "message": "Open this", "url": "https://notes.example.com/", "elicitationId": "e-1"}
BOTH_MODES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (FORM, {"url": "javascript:alert(1)", "elicitationId": "e-2"}),
    ({**FORM, "mode": "form"}, {"url": "javascript:alert(1)"}),
    (LINK, {"requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}}}),
]


@pytest.mark.parametrize("modern", [False, True], ids=["legacy-client", "modern-client"])
@either_server
@pytest.mark.parametrize(("question", "more"), BOTH_MODES, ids=["form", "named-form", "link"])
async def test_a_client_gets_nothing_of_a_question_that_was_not_judged(
    modern: bool, behind: bool, question: dict[str, Any], more: dict[str, Any]
) -> None:
    client = await WireClient.begun(modern=modern, behind=behind)
    client.ask(1, "tools/call", CALL)
    asked_by(client.server, await client.server.taken("tools/call"), {**question, **more})
    if modern:
        (shown,) = ((await client.taken()).result or {})["inputRequests"].values()
        assert shown["params"] == question
    else:
        assert (await client.taken("elicitation/create")).params == question


@pytest.mark.parametrize(("question", "more"), BOTH_MODES, ids=["form", "named-form", "link"])
async def test_a_task_with_a_question_that_was_not_judged_is_not_passed_on(
    question: dict[str, Any], more: dict[str, Any]
) -> None:
    client = await WireClient.begun(modern=True, behind=True)
    wanted = {"q": {"method": "elicitation/create", "params": {**question, **more}}}
    client.ask(1, "tasks/get", {"taskId": "t"})
    came = await client.server.taken("tasks/get")
    client.server.say(response(came.id, {"resultType": "complete", "inputRequests": wanted}))
    assert "inputRequests" not in str((await client.taken()).body)


DANGEROUS = {**LINK, "url": "https://notes.example.com/dangerous"}
ASKED = {"inputRequests": {"q": {"method": "elicitation/create", "params": DANGEROUS}}}
REQUIRED = {"code": -32042, "message": "First", "data": {"elicitations": [DANGEROUS]}}


@pytest.mark.parametrize(
    "told",
    [
        {"status": "failed", "error": REQUIRED},
        {"status": "completed", "result": ASKED},
        {"task": {"taskId": "t", **ASKED}},
        {"Task": {"taskId": "t", **ASKED}},
        {"tasks": [{"taskId": "t", **ASKED}]},
        {"tasks": [{"taskId": "t", "status": "failed", "error": REQUIRED}]},
        {"result": {"result": {"task": {"error": REQUIRED}}}},
    ],
    ids=["failed", "completed", "task", "Task", "tasks", "failed-tasks", "deep"],
)
@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
async def test_a_question_in_a_part_of_a_task_is_judged(modern: bool, told: dict[str, Any]) -> None:
    """This client opens no links, so that no link may reach it. The notice after it shows that nothing did."""
    client = await WireClient.begun(modern=modern, behind=modern, able={"elicitation": {"form": {}}})
    client.ask(1, "tasks/get", {"taskId": "t"})
    came = await client.server.taken("tasks/get")
    client.server.say(notice("notifications/tasks", {"taskId": "t", **told}))
    client.server.say(response(came.id, {"resultType": "complete", "taskId": "t", **told}))
    assert (await client.taken()).id == 1
    assert "dangerous" not in str([each.body for each in client.got])


@pytest.mark.parametrize("method", ["vendor/ask", "sampling/createMessage"])
async def test_a_request_carries_no_questions(method: str) -> None:
    client = await WireClient.begun(modern=False, behind=False)
    client.ask(1, "tools/call", CALL)
    await client.server.taken("tools/call")
    client.server.say(request(99, method, {**SAMPLING, **ASKED}))
    assert (await client.server.taken()).body["error"]["code"] == -32601
    assert client.got == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"when": {"deep": ["ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"]}}, "looks like a secret"),
        ("ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", "looks like a secret"),
        ({"when": "act " * 4_000_000}, "longer than 256 KiB"),
    ],
    ids=["deep", "text", "long"],
)
async def test_an_answer_to_a_task_is_looked_through_and_holds_up_nobody(content: Any, why: str) -> None:
    client = await WireClient.begun(modern=True, behind=True)
    began = time.process_time()
    answers = {"q": {"action": "accept", "content": content}}
    client.ask(1, "tasks/update", {"taskId": "t", "inputResponses": answers})
    refused = (await client.taken()).body["error"]
    assert refused["code"] == -32602
    assert why in refused["message"]
    assert time.process_time() - began < 5
    assert client.server.got == []


async def test_nothing_waits_while_an_answer_is_looked_through() -> None:
    client = await WireClient.begun(modern=True, behind=True)
    answers = {"q": {"action": "accept", "content": {"when": "a1" * 60_000}}}
    began = time.thread_time()
    client.ask(1, "tasks/update", {"taskId": "t", "inputResponses": answers})
    assert (await client.taken()).id == 1
    assert time.thread_time() - began < 0.1, "another thread does it"


async def test_many_long_answers_hold_up_nobody() -> None:
    client = await WireClient.begun(modern=True, behind=True)
    began = time.process_time()
    answers = {str(n): {"action": "accept", "content": {"when": "a1" * 120_000}} for n in range(60)}
    client.ask(1, "tasks/update", {"taskId": "t", "inputResponses": answers})
    assert "longer than 256 KiB" in (await client.taken()).body["error"]["message"]
    client.ask(2, "tools/call", CALL)
    wanted = {key: {"method": "elicitation/create", "params": FORM} for key in answers}
    asked = await client.server.taken("tools/call")
    client.server.say(response(asked.id, {**round_of(), "inputRequests": wanted}))
    round_ = (await client.taken()).result or {}
    client.ask(3, "tools/call", {**CALL, "requestState": round_["requestState"], "inputResponses": answers})
    await until(client.queue.waiting)  # as one of them would, alone
    assert time.process_time() - began < 10
    await client.leave()


async def test_an_answer_that_is_too_long_goes_to_our_desk() -> None:
    client = await WireClient.begun(modern=False, behind=False)
    await asked(client)
    await client.taken("elicitation/create")
    client.say(response(99, {"action": "accept", "content": {"why": "act " * 4_000_000}}))
    await until(client.queue.waiting)


@either_server
async def test_texts_beside_a_question_that_nobody_judges_reach_no_client(behind: bool) -> None:
    client = await WireClient.begun(modern=behind, behind=behind)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    question = {**FORM, "title": "Your password", "_meta": {"vendor/kept": 1}}
    if behind:
        wanted = {"q": {"method": "elicitation/create", "params": question, "title": "Your password"}}
        asked = response(came.id, {**round_of(), "inputRequests": wanted})
    else:
        asked = request(99, "elicitation/create", question)
    client.server.say(parse_message(asked.raw))
    shown = str((await client.taken(None if behind else "elicitation/create")).body)
    assert "password" not in shown
    assert "vendor/kept" in shown


async def test_a_link_that_is_a_form_as_well_is_not_passed_on() -> None:
    client = await WireClient.begun(modern=False, behind=False)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    question, more = BOTH_MODES[-1]
    client.server.say(error_response(came.id, -32042, "First", {"elicitations": [{**question, **more}]}))
    assert "password" not in str((await client.taken()).body)


KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.shows("S4")
@pytest.mark.parametrize("beside", [{"note": KEY}, {"_meta": {"deep": [{"er": KEY}]}}], ids=["note", "meta"])
async def test_no_secret_leaves_beside_the_content_of_an_answer(beside: dict[str, Any]) -> None:
    client = await WireClient.begun(modern=False, behind=False)
    await asked(client)
    await client.taken("elicitation/create")
    client.say(response(99, {**YES, **beside}))
    assert (await client.server.taken()).result == YES
    client.ask(2, "tasks/update", {"taskId": "t", "inputResponses": {"q": {**YES, **beside}}})
    assert "looks like a secret" in (await client.taken()).body["error"]["message"]


async def test_what_a_client_says_about_its_answer_reaches_the_server() -> None:
    client = await WireClient.begun(modern=False, behind=False)
    await asked(client)
    await client.taken("elicitation/create")
    client.say(response(99, {**YES, "_meta": {"com.example/took": 7}}))
    assert (await client.server.taken()).result == {**YES, "_meta": {"com.example/took": 7}}
