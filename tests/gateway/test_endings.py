"""How questions end that nobody answers: each in the ledger under its own name, and nothing run again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.test_passing import CALL, FORM, either_client, either_server
from tests.gateway.wire import WireClient
from tests.waiting import until

from handraise.gateway.messages import request, response
from handraise.ledger import Ledger

pytestmark = [pytest.mark.anyio, pytest.mark.shows("G1")]


NESTED = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
TOO_LONG = {**FORM, "message": "x" * 100_000}
"""A question that nobody sees: the server is told so, and may ask again."""


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "ledger.db")
    yield ledger
    await ledger.aclose()


async def ending(ledger: Ledger) -> str:
    """How the question ended, as soon as the ledger knows."""
    async with asyncio.timeout(60):
        while True:
            await ledger.finish()
            kinds = [event.kind async for _, event in ledger.events()]
            if kinds and kinds[-1] not in ("asked", "shown"):
                return kinds[-1]


async def asks(client: WireClient, form: dict[str, Any]) -> None:
    """The server asks in the way of its era."""
    came = await client.server.taken("tools/call")
    if client.server.modern:
        wanted = {"q": {"method": "elicitation/create", "params": form}}
        client.server.say(
            response(came.id, {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"})
        )
    else:
        client.server.say(request(99, "elicitation/create", form))


@pytest.mark.shows("W6")
@pytest.mark.parametrize("able", [{}, {"elicitation": {}}], ids=["our-desk", "clients-dialog"])
@either_client
@either_server
async def test_a_server_that_ends_while_asking_leaves_an_ambiguous_question(
    ledger: Ledger, modern: bool, behind: bool, able: dict[str, Any]
) -> None:
    client = await WireClient.begun(modern=modern, behind=behind, able=able, ledger=ledger)
    client.ask(1, "tools/call", CALL)
    await asks(client, FORM)
    await until(lambda: client.queue.waiting() or client.got)
    client.server.on_closed(client.server.source, True)
    assert await ending(ledger) == "ambiguous"
    assert not client.queue.waiting()
    assert not [each for each in client.server.got if each.method == "tools/call"]


@either_client
@either_server
async def test_a_form_that_breaks_the_rules_is_refused_and_not_shown(
    ledger: Ledger, modern: bool, behind: bool
) -> None:
    client = await WireClient.begun(modern=modern, behind=behind, able={}, ledger=ledger)
    client.ask(1, "tools/call", CALL)
    await asks(client, {"message": "Deep?", "requestedSchema": NESTED})
    assert await ending(ledger) == "refused"
    assert not client.queue.waiting()
    (about,) = [event.about async for _, event in ledger.events()]
    assert about.gateway is not None
    assert about.gateway.startswith("handraise@")


@either_client
async def test_a_server_that_asks_for_ever_what_the_policy_refuses_ends_its_call(modern: bool) -> None:
    client = await WireClient.begun(modern=modern, behind=True)
    client.ask(1, "tools/call", CALL)
    for _ in range(21):
        await asks(client, TOO_LONG)
    assert "too many questions" in (await client.taken()).body["error"]["message"]
    assert not client.queue.waiting()


@either_client
async def test_a_client_that_is_gone_leaves_a_question_that_was_withdrawn(
    ledger: Ledger, modern: bool
) -> None:
    client = await WireClient.begun(modern=modern, behind=False, able={}, ledger=ledger)
    client.ask(1, "tools/call", CALL)
    await asks(client, FORM)
    await until(client.queue.waiting)
    await client.leave()
    assert not client.queue.waiting()
    assert await ending(ledger) == "withdrawn"
