"""What passes the gateway is in the user's ledger, with the server that really asked and the gateway's own name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.hosts import OpenGate
from tests.gateway.peers import NOTES, gateway
from tests.gateway.test_passing import CALL, FORM, either_client, either_server
from tests.gateway.wire import WireClient, WireServer
from tests.server.peers import REVISIONS, Person, accept, text_of
from tests.waiting import until

from handraise.access import AccessCheck
from handraise.desks import Decision, Queue
from handraise.desks.codes import DeskCodeCheck
from handraise.desks.scripted import Line
from handraise.errors import WireError
from handraise.gateway.asking import Asker, QuestionHandler
from handraise.gateway.local_desk import open_asking
from handraise.gateway.messages import Message, error_response, request, response
from handraise.gateway.options import Options
from handraise.gateway.upstreams import Source
from handraise.ledger import Ledger, LedgerEvent
from handraise.ledger.own_ledger import ledger_place
from handraise.questions import Accepted
from handraise.revisions import Revision
from handraise.this_user import local_person

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"

pytestmark = [pytest.mark.anyio]


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "ledger.db")
    yield ledger
    await ledger.aclose()


async def events_in(path: Path) -> list[LedgerEvent]:
    ledger = Ledger.at(path)
    found = [event async for _, event in ledger.events()]
    await ledger.aclose()
    return found


@pytest.mark.shows("G1", "G2")
@pytest.mark.parametrize("able", [True, False], ids=["client that asks", "client that cannot ask"])
async def test_a_question_that_passes_is_recorded_with_its_true_origin(
    revision: Revision, able: bool, tmp_path: Path
) -> None:
    ledger = Ledger.at(tmp_path / "ledger.db")
    person: Any = Person(accept(answer="attic")) if able else None
    async with (
        gateway(ledger=ledger, script=[Line("accept", {"answer": "attic"})]) as (_, connect),
        connect(revision, person) as client,
    ):
        result = await client.call_tool("archive", {"title": "plan"}, meta={"traceparent": PARENT})
        assert text_of(result) == "archived plan"
    await ledger.aclose()
    events = await events_in(tmp_path / "ledger.db")
    assert {"asked", "decided"} <= {event.kind for event in events}
    assert len({event.question for event in events}) == 1
    for event in events:
        assert event.about.server.id == "my notes"
        assert event.about.gateway is not None
        assert event.about.gateway.startswith("handraise@")
        assert event.about.client is not None
        assert event.about.client.name == "mcp"  # as the SDK calls itself for its user
        assert (event.about.trace, event.about.policy) == (TRACE, "p1")


def asked_by(server: WireServer, came: Message, params: dict[str, Any] = FORM) -> None:
    """The server asks in the way of its era."""
    if server.modern:
        wanted = {"q": {"method": "elicitation/create", "params": params}}
        asks = {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}
        server.say(response(came.id, asks))
    else:
        server.say(request(99, "elicitation/create", params))


async def answered(client: WireClient, able: bool) -> Message:
    """The person says yes, at our desk or in the client's dialog; the message with which the server hears of it."""
    if not able:
        await until(client.queue.waiting)
        client.queue.decide(
            client.queue.waiting()[0].id, Decision(Accepted({"why": "so"}), by="agent", desk="test")
        )
    elif client.modern:
        round_ = (await client.taken()).result or {}
        given = {key: {"action": "accept", "content": {"why": "so"}} for key in round_["inputRequests"]}
        retry = {**CALL, "inputResponses": given, "requestState": round_["requestState"]}
        client.ask(2, "tools/call", retry)
    else:
        asked = await client.taken("elicitation/create")
        client.say(response(asked.id, {"action": "accept", "content": {"why": "so"}}))
    return await client.server.taken("tools/call" if client.server.modern else None)


async def ending(ledger: Ledger) -> LedgerEvent:
    """What the ledger says last, once the question is over."""
    async with asyncio.timeout(60):
        while True:
            await ledger.finish()
            events = [event async for _, event in ledger.events()]
            if events and events[-1].kind not in ("asked", "shown", "decided"):
                return events[-1]


DONE: dict[str, Any] = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
by_desk = pytest.mark.parametrize("able", [False, True], ids=["our-desk", "clients-dialog"])


@pytest.mark.shows("G2", "G7")
@pytest.mark.parametrize("how", ["result", "error", "fault", "cancelled", "lost", "left"])
@by_desk
@either_client
@either_server
async def test_a_yes_is_joined_to_how_the_call_ended(
    ledger: Ledger, modern: bool, behind: bool, able: bool, how: str
) -> None:
    modes: dict[str, Any] = {"elicitation": {}} if able else {}
    client = await WireClient.begun(modern=modern, behind=behind, able=modes, ledger=ledger)
    client.ask(1, "tools/call", CALL)
    came = await client.server.taken("tools/call")
    asked_by(client.server, came)
    heard = await answered(client, able)
    at = heard.id if behind else came.id
    match how:
        case "result" | "error":
            client.server.say(response(at, {**DONE, "isError": how == "error"}))
        case "fault":
            client.server.say(error_response(at, -32000, "no"))
        case "cancelled":
            client.tell("notifications/cancelled", {"requestId": 2 if able and modern else 1})
        case "lost":
            client.server.on_closed(client.server.source, True)
        case "left":
            await client.leave()
    last = await ending(ledger)
    if how in ("lost", "left"):
        assert (last.kind, len(last.reasons)) == ("ambiguous", 1)
        return
    assert last.used is not None
    assert (last.used.request.target, last.used.ended) == ("work", "error" if how == "fault" else how)
    assert last.used.request == last.about.request


@pytest.mark.shows("G7")
async def test_a_server_that_asks_against_the_rules_again_and_again_is_counted(ledger: Ledger) -> None:
    asking = QuestionHandler(Queue(), OpenGate(), timeout=300, ledger=ledger)
    asker = Asker(Source(NOTES), local_person())
    for _ in range(1000):
        await asking.refuse(WireError("bytes", "It is too long."), "2025-11-25", asker, [])
    await asking.aclose()
    events = [event async for _, event in ledger.events()]
    assert len(events) == 21
    assert sum(event.count or 1 for event in events) == 1000


async def _opens_a_ledger() -> bool:
    asking = await open_asking(Options(browser=False), AccessCheck(), DeskCodeCheck())
    try:
        return asking._ledger is not None
    finally:
        await asking.aclose()


@pytest.mark.shows("G1")
async def test_the_ledger_is_on_unless_the_user_switched_it_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert await _opens_a_ledger()
    assert Path(ledger_place(os.environ)).is_relative_to(tmp_path)
    config = tmp_path / "handraise.toml"
    config.write_text("[ledger]\nunsafe_no_ledger = true\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(config))
    with pytest.warns(UserWarning, match="unsafe_no_ledger"):
        assert not await _opens_a_ledger()
