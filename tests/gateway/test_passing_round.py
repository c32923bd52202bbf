"""A round that wants something from the client itself beside a question that only our desk can ask."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gateway.test_passing import CALL, FORM, SAMPLED, SAMPLING, either_client
from tests.gateway.test_tickets import repositories
from tests.gateway.wire import WireClient
from tests.waiting import until

from handraise.desks import Decision
from handraise.gateway.messages import Message, error_response, response
from handraise.questions import Accepted

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W2", "W6")]

WANTED = {
    "s": {"method": "sampling/createMessage", "params": SAMPLING},
    "q": {"method": "elicitation/create", "params": FORM},
}
ROUND = {"resultType": "input_required", "inputRequests": WANTED, "requestState": "S é"}
GIVEN = {"s": SAMPLED, "q": {"action": "accept", "content": {"why": "so"}}}
ABLE: dict[str, Any] = {"sampling": {}}
DONE = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


async def begun(modern: bool, **options: Any) -> WireClient:
    """A client that can do all but be asked."""
    return await WireClient.begun(modern=modern, behind=True, able=ABLE, **options)


async def asked(client: WireClient) -> None:
    """Have its server end a call with the round."""
    client.ask(1, "tools/call", CALL)
    client.server.say(response((await client.server.taken("tools/call")).id, ROUND))


async def do_own_part(client: WireClient) -> None:
    """The client does what only it can."""
    if client.modern:
        told = (await client.taken()).result or {}
        assert told["inputRequests"] == {"s": WANTED["s"]}
        assert not client.queue.waiting()
        client.ask(2, "tools/call", {**CALL, "requestState": "S é", "inputResponses": {"s": SAMPLED}})
    else:
        client.say(response((await client.taken("sampling/createMessage")).id, SAMPLED))


async def decide(client: WireClient) -> None:
    """The person answers at our desk."""
    await until(client.queue.waiting)
    decision = Decision(Accepted({"why": "so"}), by="agent", desk="test")
    assert client.queue.decide(client.queue.waiting()[0].id, decision) == "taken"


async def retried(client: WireClient) -> Message:
    """What the server gets in the end: the state as it came, and both answers."""
    again = await client.server.taken("tools/call")
    assert (again.params["requestState"], again.params["inputResponses"]) == ("S é", GIVEN)
    return again


def text_of(message: Message) -> str:
    return str((message.result or {})["content"][0]["text"])


@either_client
async def test_both_answers_go_to_the_server_together(modern: bool) -> None:
    client = await begun(modern)
    await asked(client)
    await do_own_part(client)
    await decide(client)
    client.server.say(response((await retried(client)).id, DONE))
    assert text_of(await client.taken()) == "done"


@either_client
async def test_the_call_is_parked_and_goes_on_in_another_process(modern: bool) -> None:
    first, second = repositories()
    gone = await begun(modern, hold=0.05, tickets=first)
    await asked(gone)
    await do_own_part(gone)
    ticket = text_of(await gone.taken()).split("ticket '")[1].split("'")[0]
    later = await begun(modern, tickets=second)
    later.ask(1, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    if not modern:  # what it did was in the process that is gone, and cost the server nothing
        await do_own_part(later)
    await decide(later)
    later.server.say(response((await retried(later)).id, DONE))
    assert text_of(await later.taken()) == "done"


async def test_an_answer_that_waits_for_the_clients_part_was_not_sent() -> None:
    """So that its process may be gone, and everything is asked again: nothing is ambiguous about it."""
    first, second = repositories()
    gone = await begun(False, hold=0.05, tickets=first)
    await asked(gone)
    ticket = text_of(await gone.taken()).split("ticket '")[1].split("'")[0]
    await decide(gone)
    await until(lambda: not gone.queue.waiting())
    assert gone.server.got[-1].method != "tools/call"
    later = await begun(False, tickets=second)
    later.ask(1, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    await do_own_part(later)
    await decide(later)
    later.server.say(response((await retried(later)).id, DONE))
    assert text_of(await later.taken()) == "done"


async def test_a_call_that_was_taken_over_hears_nothing_from_the_process_that_lost_it() -> None:
    first, second = repositories()
    lost = await begun(False, hold=0.05, tickets=first)
    await asked(lost)
    ticket = text_of(await lost.taken()).split("ticket '")[1].split("'")[0]
    later = await begun(False, tickets=second)
    later.ask(1, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    await until(later.queue.waiting)
    await decide(lost)
    await until(lambda: not lost.queue.waiting())
    await do_own_part(lost)
    await do_own_part(later)
    await decide(later)
    later.server.say(response((await retried(later)).id, DONE))
    assert text_of(await later.taken()) == "done"
    assert not [each for each in lost.server.got if each.method == "tools/call"]


async def test_nobody_is_asked_any_more_once_the_client_failed_to_do_its_part() -> None:
    client = await begun(False)
    await asked(client)
    await until(client.queue.waiting)
    client.say(error_response((await client.taken("sampling/createMessage")).id, -1, "no model"))
    assert "no model" in str((await client.taken()).body["error"])
    await until(lambda: not client.queue.waiting())


async def test_a_parked_call_ends_when_its_next_round_wants_the_client() -> None:
    """Nobody waits for it there; and its person is not asked what could not be used."""
    client = await begun(True, hold=0.05)
    client.ask(1, "tools/call", CALL)
    only = {**ROUND, "inputRequests": {"q": WANTED["q"]}, "requestState": "first"}
    client.server.say(response((await client.server.taken("tools/call")).id, only))
    ticket = text_of(await client.taken()).split("ticket '")[1].split("'")[0]
    await decide(client)
    client.server.say(response((await client.server.taken("tools/call")).id, ROUND))
    client.ask(2, "tools/call", {"name": "handraise_resume", "arguments": {"ticket": ticket}})
    assert "no longer waits" in str((await client.taken()).body["error"])
    assert not client.queue.waiting()
