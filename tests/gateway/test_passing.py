"""Everything that is no question: untouched within an era, and translated from one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.gateway.wire import WireClient, spelled
from tests.gateway.wire_http import over_http
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway.messages import MOST_ASKED, SUBSCRIPTION_KEY, Message, notice, request, response
from handraise.gateway.peers import JUNE, LOG_LEVEL_KEY, NOVEMBER
from handraise.questions import Declined

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W3")]

CALL = {"name": "work", "arguments": {}}
SAMPLING = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 9}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "!"}, "model": "m"}
FORM = {"message": "Why?", "requestedSchema": {"type": "object", "properties": {"why": {"type": "string"}}}}

Begin = Callable[..., Awaitable[WireClient]]
"""Gives a client that knows its server."""

either_client = pytest.mark.parametrize("modern", [False, True], ids=["legacy-client", "modern-client"])
either_server = pytest.mark.parametrize("behind", [False, True], ids=["legacy-server", "modern-server"])


@pytest.fixture(
    params=[("lines", NOVEMBER), ("http", NOVEMBER), ("http", JUNE)], ids=["lines", "http", "http-2025-06-18"]
)
async def begun(request: pytest.FixtureRequest) -> AsyncIterator[Begin]:
    """The same on every transport, before the gateway and behind it, and on both revisions before 2026-07-28."""
    transport, legacy = request.param
    async with AsyncExitStack() as stack:

        async def begin(**options: Any) -> WireClient:
            if transport == "lines":
                return await WireClient.begun(legacy=legacy, **options)
            return await stack.enter_async_context(over_http(legacy=legacy, **options))

        yield begin


@either_client
async def test_what_nobody_knows_passes_as_it_was_meant_within_an_era(begun: Begin, modern: bool) -> None:
    client = await begun(modern=modern, behind=modern)
    client.server.got.clear()
    sent = client.ask(7, "vendor/odd", {"deep": [{"é": None}]}, **{"vendor/x": 1})
    assert (await client.server.taken("vendor/odd")).body == sent.body
    for odd in (
        spelled(
            Message({"jsonrpc": "2.0", "method": "notifications/vendor/odd", "params": {"a": 1}, "extra": 2})
        ),
        spelled(Message({"jsonrpc": "2.0", "id": 7, "result": {"odd": "é"}, "extra": []})),
    ):
        client.server.say(odd)
        assert (await client.taken(odd.method)).body == odd.body
    told = client.tell("notifications/vendor/odd", {"b": 2})
    assert (await client.server.taken("notifications/vendor/odd")).body == told.body


@either_client
@either_server
async def test_an_unknown_method_reaches_a_server_of_either_era(
    begun: Begin, modern: bool, behind: bool
) -> None:
    client = await begun(modern=modern, behind=behind)
    client.ask(7, "vendor/odd", {"deep": [1]})
    came = await client.server.taken("vendor/odd")
    assert came.params["deep"] == [1]
    client.server.say(response(came.id, {"odd": 1}))
    answer = await client.taken()
    assert answer.id == 7
    assert answer.result is not None
    assert answer.result["odd"] == 1


@either_client
@either_server
async def test_changes_of_lists_are_told(begun: Begin, modern: bool, behind: bool) -> None:
    client = await begun(modern=modern, behind=behind)
    if modern:
        client.ask("l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    meta: dict[str, Any] = {}
    if behind:
        listening = await client.server.taken("subscriptions/listen")
        assert listening.params["notifications"]["toolsListChanged"] is True
        meta = {"_meta": {SUBSCRIPTION_KEY: listening.id}}
        client.server.say(notice("notifications/subscriptions/acknowledged", {"notifications": {}, **meta}))
    client.server.say(notice("notifications/tools/list_changed", meta))
    told = await client.taken("notifications/tools/list_changed")
    assert told.params == ({"_meta": {SUBSCRIPTION_KEY: "l"}} if modern else {})
    if modern:
        await client.taken("notifications/subscriptions/acknowledged")
    assert client.got == []


@either_client
@either_server
async def test_a_subscription_to_a_resource_is_told_and_ended(
    begun: Begin, modern: bool, behind: bool
) -> None:
    client = await begun(modern=modern, behind=behind)
    client.server.got.clear()
    if modern:
        client.ask("l", "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["notes://a"]}})
    else:
        client.ask(1, "resources/subscribe", {"uri": "notes://a"})
    meta: dict[str, Any] = {}
    if behind:
        listening = await client.server.taken("subscriptions/listen")
        while "resourceSubscriptions" not in listening.params["notifications"]:
            listening = await client.server.taken("subscriptions/listen")
        assert listening.params["notifications"]["resourceSubscriptions"] == ["notes://a"]
        meta = {"_meta": {SUBSCRIPTION_KEY: listening.id}}
    else:
        subscribed = await client.server.taken("resources/subscribe")
        assert subscribed.params["uri"] == "notes://a"
        client.server.say(response(subscribed.id, {}))
    client.server.say(notice("notifications/resources/updated", {"uri": "notes://a", **meta}))
    assert (await client.taken("notifications/resources/updated")).params["uri"] == "notes://a"
    client.server.got.clear()
    if modern:
        client.tell("notifications/cancelled", {"requestId": "l"})
    else:
        client.ask(2, "resources/unsubscribe", {"uri": "notes://a"})
    if behind:
        while (await client.server.taken("notifications/cancelled")).params["requestId"] != listening.id:
            pass  # the request before it is over, too
    else:
        assert (await client.server.taken("resources/unsubscribe")).params["uri"] == "notes://a"


async def test_nobody_fills_the_memory_with_subscriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept for a modern server, and its requests are answered at once."""
    monkeypatch.setattr("handraise.gateway.as_legacy._MOST_SUBSCRIBED", 2)
    client = await WireClient.begun(modern=False, behind=True)
    for id, uri in enumerate(["notes://a", "notes://" + "x" * 10_000, "notes://b", "notes://c"]):
        client.ask(id, "resources/subscribe", {"uri": uri})
    answers = [await client.taken() for _ in range(4)]
    assert ["error" in each.body for each in answers] == [False, True, False, True]
    assert "at most 2 resources" in answers[-1].error["message"]
    client.ask(9, "resources/unsubscribe", {"uri": "notes://a"})
    client.ask(10, "resources/subscribe", {"uri": "notes://c"})
    assert [(await client.taken()).result for _ in range(2)] == [{}, {}]
    *_, listening = [each for each in client.server.got if each.method == "subscriptions/listen"]
    assert listening.params["notifications"]["resourceSubscriptions"] == ["notes://b", "notes://c"]


@either_client
@either_server
async def test_the_level_of_the_log_and_its_messages_pass(begun: Begin, modern: bool, behind: bool) -> None:
    client = await begun(modern=modern, behind=behind)
    if not modern:
        client.ask("level", "logging/setLevel", {"level": "info"})
        if not behind:
            client.server.say(response((await client.server.taken("logging/setLevel")).id, {}))
        await client.taken()
    client.ask(1, "tools/call", CALL, **({LOG_LEVEL_KEY: "info"} if modern else {}))
    if modern and not behind:
        assert (await client.server.taken("logging/setLevel")).params == {"level": "info"}
    came = await client.server.taken("tools/call")
    assert (came.params.get("_meta") or {}).get(LOG_LEVEL_KEY) == ("info" if behind else None)
    client.server.say(notice("notifications/message", {"level": "info", "data": "hello"}))
    assert (await client.taken("notifications/message")).params == {"level": "info", "data": "hello"}


async def test_a_modern_client_hears_no_log_that_it_did_not_ask_for(begun: Begin) -> None:
    client = await begun(modern=True, behind=False)
    client.ask(1, "tools/call", CALL, **{LOG_LEVEL_KEY: "info"})
    client.server.say(response((await client.server.taken("tools/call")).id, {"content": []}))
    await client.taken()
    client.ask(2, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(notice("notifications/message", {"level": "info", "data": "hello"}))
    client.server.say(response(came.id, {"content": []}))
    await client.taken()
    assert client.got == []


@either_client
@either_server
async def test_completions_pass(begun: Begin, modern: bool, behind: bool) -> None:
    client = await begun(modern=modern, behind=behind)
    params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "b"}}
    client.ask(1, "completion/complete", params)
    came = await client.server.taken("completion/complete")
    assert {key: came.params[key] for key in params} == params
    completed = {"completion": {"values": ["bc"]}}
    client.server.say(response(came.id, {**completed, **({"resultType": "complete"} if behind else {})}))
    assert (await client.taken()).result == {**completed, **({"resultType": "complete"} if modern else {})}


@either_client
@pytest.mark.parametrize(
    ("method", "params", "given"),
    [("sampling/createMessage", SAMPLING, SAMPLED), ("roots/list", {}, {"roots": [{"uri": "file:///a"}]})],
    ids=["sampling", "roots"],
)
async def test_a_legacy_server_gets_sampling_and_roots_of_either_client(
    begun: Begin, modern: bool, method: str, params: dict[str, Any], given: dict[str, Any]
) -> None:
    client = await begun(modern=modern, behind=False)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(request(99, method, params))
    if modern:
        asked = (await client.taken()).result or {}
        ((key, wanted),) = asked["inputRequests"].items()
        assert wanted == ({"method": method, "params": params} if params else {"method": method})
        client.ask(
            2, "tools/call", {**CALL, "requestState": asked["requestState"], "inputResponses": {key: given}}
        )
    else:
        assert (await client.taken(method)).params == params
        client.say(response(99, given))
    answered = await client.server.taken()
    assert (answered.id, answered.result) == (99, given)
    client.server.say(response(came.id, {"content": []}))
    assert (await client.taken()).id == (2 if modern else 1)


@either_client
async def test_a_modern_server_gets_sampling_roots_and_a_question_in_one_round(
    begun: Begin, modern: bool
) -> None:
    client = await begun(modern=modern, behind=True)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    wanted: dict[str, Any] = {
        "s": {"method": "sampling/createMessage", "params": SAMPLING},
        "r": {"method": "roots/list"},
        "q": {"method": "elicitation/create", "params": FORM},
    }
    given: dict[str, Any] = {"s": SAMPLED, "r": {"roots": []}, "q": {"action": "decline"}}
    client.server.say(
        response(came.id, {"resultType": "input_required", "inputRequests": wanted, "requestState": "S é"})
    )
    if modern:
        asked = (await client.taken()).result or {}
        assert asked["inputRequests"] == wanted
        client.ask(2, "tools/call", {**CALL, "requestState": "S é", "inputResponses": given})
    else:
        for key, each in wanted.items():
            client.say(response((await client.taken(str(each["method"]))).id, given[key]))
    await until(lambda: client.server.got and client.server.got[-1].method == "tools/call")
    retried = await client.server.taken("tools/call")
    assert retried.params["requestState"] == "S é"
    assert retried.params["inputResponses"] == given
    client.server.say(response(retried.id, {"resultType": "complete", "content": []}))
    assert (await client.taken()).id == (2 if modern else 1)


@pytest.mark.shows("W1")
@either_client
@either_server
async def test_a_cancelled_call_is_cancelled_at_its_server(begun: Begin, modern: bool, behind: bool) -> None:
    client = await begun(modern=modern, behind=behind)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.tell("notifications/cancelled", {"requestId": 1, "reason": "enough"})
    told = (await client.server.taken("notifications/cancelled")).params
    assert told["requestId"] == came.id
    if not modern and not behind:  # on 2026-07-28 over HTTP closing the stream is all there is
        assert told["reason"] == "enough"


async def test_a_notice_over_http_cancels_no_call_of_another_client_of_the_same_person() -> None:
    """On 2026-07-28 clients cancel by leaving. Two clients of a person may use the same ids."""
    async with over_http(modern=True, behind=True) as client:
        client.ask(1, "tools/call", CALL)
        came = await client.server.taken("tools/call")
        await client._exchange("POST", notice("notifications/cancelled", {"requestId": 1}))
        client.server.say(response(came.id, {"resultType": "complete", "content": []}))
        assert (await client.taken()).result == {"resultType": "complete", "content": []}


async def test_a_call_that_is_cancelled_between_two_rounds_without_a_question_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("handraise.gateway.as_legacy._PAUSES", (0.0,))
    client = await WireClient.begun(modern=False, behind=True)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(response(came.id, {"resultType": "input_required", "requestState": "s"}))
    client.tell("notifications/cancelled", {"requestId": 1})
    client.ask(2, "tools/list")
    await client.server.taken("tools/list")
    await asyncio.sleep(0.01)  # longer than the pause: nothing tells that no request comes
    assert not [each for each in client.server.got if each.method == "tools/call"]


async def test_a_legacy_server_asks_no_more_at_once_than_fits_in_one_round() -> None:
    """While the client answers a round, the next questions of a call wait for their own."""
    client = await WireClient.begun(modern=True, behind=False)
    client.ask(1, "tools/call", CALL)
    await client.server.taken("tools/call")
    for number in range(MOST_ASKED + 3):
        client.server.say(request(number, "roots/list", {}))
    asked = (await client.taken()).result or {}
    assert len(asked["inputRequests"]) == 1
    refused = [each for each in client.server.got if each.method is None]
    assert [each.id for each in refused] == [MOST_ASKED + 1, MOST_ASKED + 2]


async def test_a_round_that_the_client_did_not_hear_of_is_not_asked_once_its_server_took_it_back() -> None:
    client = await WireClient.begun(modern=True, behind=False)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    client.server.say(request(98, "roots/list", {}))
    asked = (await client.taken()).result or {}
    client.server.say(request(99, "elicitation/create", FORM))
    client.server.say(notice("notifications/cancelled", {"requestId": 99}))
    (key,) = asked["inputRequests"]
    client.ask(
        2,
        "tools/call",
        {**CALL, "requestState": asked["requestState"], "inputResponses": {key: {"roots": []}}},
    )
    client.server.say(response(came.id, {"content": [{"type": "text", "text": "done"}]}))
    assert (await client.taken()).result == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "done"}],
    }


@pytest.mark.shows("W1")
async def test_a_legacy_server_takes_its_question_back(begun: Begin) -> None:
    client = await begun(modern=False, behind=False, able={})
    client.ask(1, "tools/call", CALL)
    await client.server.taken("tools/call")
    client.server.say(request(99, "elicitation/create", FORM))
    await until(client.queue.waiting)
    client.server.say(notice("notifications/cancelled", {"requestId": 99}))
    await until(lambda: not client.queue.waiting())


async def test_a_question_that_its_server_takes_back_at_once_leaves_nothing_behind() -> None:
    client = await WireClient.begun(modern=False, behind=False)
    client.ask(1, "tools/call", CALL)
    await client.server.taken("tools/call")
    client.server.say(request(99, "elicitation/create", FORM))
    client.server.say(notice("notifications/cancelled", {"requestId": 99}))
    for _ in range(3):
        await asyncio.sleep(0)
    client.server.say(request(99, "elicitation/create", FORM))
    assert (await client.taken("elicitation/create")).id == 99


@pytest.mark.shows("W1")
@either_client
@either_server
async def test_progress_comes_under_the_clients_own_token(begun: Begin, modern: bool, behind: bool) -> None:
    client = await begun(modern=modern, behind=behind)
    client.ask(1, "tools/call", CALL, progressToken="mine")
    token = (await client.server.taken("tools/call")).params["_meta"]["progressToken"]
    client.server.say(notice("notifications/progress", {"progressToken": token, "progress": 1}))
    assert (await client.taken("notifications/progress")).params == {"progressToken": "mine", "progress": 1}


@pytest.mark.shows("W1")
async def test_progress_after_a_round_comes_under_the_token_of_the_retry(begun: Begin) -> None:
    client = await begun(modern=True, behind=False)
    client.ask(1, "tools/call", CALL, progressToken="first")
    await client.server.taken("tools/call")
    client.server.say(request(99, "roots/list", {}))
    asked = (await client.taken()).result or {}
    (key,) = asked["inputRequests"]
    turn = {"requestState": asked["requestState"], "inputResponses": {key: {"roots": []}}}
    client.ask(2, "tools/call", {**CALL, **turn}, progressToken="second")
    await client.server.taken()
    client.server.say(notice("notifications/progress", {"progressToken": "first", "progress": 1}))
    assert (await client.taken("notifications/progress")).params == {"progressToken": "second", "progress": 1}


@pytest.mark.shows("D1")
@either_client
async def test_a_question_that_may_belong_to_two_calls_is_shown_with_both(modern: bool) -> None:
    """On a pipe a server of the revisions before 2026-07-28 does not say because of which call it asks."""
    client = await WireClient.begun(modern=modern, behind=False, able={})
    client.ask(1, "tools/call", {"name": "delete", "arguments": {"title": "a"}})
    client.ask(2, "tools/call", {"name": "look", "arguments": {}})
    for _ in range(2):
        await client.server.taken("tools/call")
    client.server.say(request(99, "elicitation/create", FORM))
    await until(client.queue.waiting)
    (waiting,) = client.queue.waiting()
    assert waiting.cause is not None
    assert not waiting.cause.certain
    assert [name for name, _ in waiting.cause.calls] == ["delete", "look"]
    client.queue.decide(waiting.id, Decision(Declined()))
    await until(lambda: any(each.method is None for each in client.server.got))
    assert (await client.server.taken()).result == {"action": "decline"}
