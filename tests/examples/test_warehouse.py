"""The warehouse: it asks once, with names and numbers, and a decline is on record and joined to no result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.peers import gateway
from tests.server.peers import DECLINE, REVISIONS, Person, accept, connect, text_of

from handraise.desks.scripted import Line
from handraise.ledger import Ledger
from handraise.revisions import Revision
from handraise.server.endings import CATEGORY
from warehouse.server import make_warehouse

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U4")]
SMALL: dict[str, Any] = {"people": 50, "orders": 3000, "rows": 1000}


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_a_decline_is_on_record_and_joined_to_no_result(revision: Revision, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    person = Person(DECLINE)
    async with connect(make_warehouse(**SMALL, ledger=file), revision, person) as client:
        assert "people" in text_of(await client.call_tool("describe", {}))
        assert text_of(await client.call_tool("query", {"sql": "SELECT 1 AS one"})) == "one\n1\n"
        result = await client.call_tool("query", {"sql": "SELECT contact FROM buyers"})
    assert (result.meta or {})[CATEGORY] == "user_declined"
    assert "people.email (contact)" in person.messages[0]
    assert "rows; you are asked above 1,000." in person.messages[0]
    ledger = Ledger.at(file)
    events = [event async for _, event in ledger.events()]
    await ledger.aclose()
    decided = [event for event in events if event.kind == "decided"]
    assert [(each.action, each.decided_by) for each in decided] == [("decline", "human")]
    assert [event.used.ended for event in events if event.used is not None] == ["error"]


async def test_a_yes_runs_the_statement(revision: Revision) -> None:
    async with connect(make_warehouse(**SMALL), revision, Person(accept(confirm=True))) as client:
        told = text_of(await client.call_tool("query", {"sql": "SELECT email FROM people WHERE id = 7"}))
    assert told == "email\nperson7@example.org\n"


@pytest.mark.parametrize(
    "answer", [Line("decline"), Line("accept", {"confirm": True})], ids=lambda a: a.action
)
async def test_through_the_gateway_a_client_that_cannot_be_asked_is_served(
    revision: Revision, answer: Line
) -> None:
    async with (
        gateway(server=make_warehouse(**SMALL), script=[answer], guards=()) as (seen, connect_to),
        connect_to(revision) as client,
    ):
        told = text_of(await client.call_tool("query", {"sql": "SELECT email FROM people WHERE id = 7"}))
    assert len(seen.events) == 1
    assert ("person7@example.org" in told) == (answer.action == "accept")
