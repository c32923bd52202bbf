"""What passes the gateway is in the user's ledger, with the server that really asked and the gateway's own name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.peers import gateway
from tests.server.peers import REVISIONS, Person, accept, text_of

from handraise.desks.scripted import Line
from handraise.gateway.options import Options
from handraise.gateway.reception import open_asking
from handraise.ledger import Event, Ledger
from handraise.ledger.home import ledger_path
from handraise.revisions import Revision

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"

pytestmark = [pytest.mark.anyio]


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def events_in(path: Path) -> list[Event]:
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


async def _opens_a_ledger() -> bool:
    asking = await open_asking(Options(browser=False), shielded=False)
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
    assert ledger_path(os.environ).is_relative_to(tmp_path)
    config = tmp_path / "handraise.toml"
    config.write_text("[ledger]\nunsafe_no_ledger = true\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(config))
    with pytest.warns(UserWarning, match="unsafe_no_ledger"):
        assert not await _opens_a_ledger()
