"""A gateway that is gone: what it had parked goes on in another one where that is safe, and nothing is run again."""

from __future__ import annotations

import socket

import pytest
from tests.gateway.notes import DONE, make_notes
from tests.gateway.peers import gateway
from tests.gateway.test_holding import LEAVE, QUICK, answer, ticket_in, waiting
from tests.server.peers import REVISIONS, text_of

from handraise.gateway.taking_over import Keeper, is_there, own_name
from handraise.revisions import Revision
from handraise.stores import MemoryStore

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W6")]

GONE = f"{socket.gethostname()}/999999999/1/x"


@pytest.fixture(params=REVISIONS, ids=lambda revision: f"client-{revision}")
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def keepers(*, first_is_gone: bool = True) -> tuple[Keeper, Keeper]:
    """The keepers of two gateways with one store."""
    tickets = MemoryStore().tickets
    first, second = Keeper(tickets), Keeper(tickets)
    if first_is_gone:
        first._name = GONE
    return first, second


def test_a_process_knows_whether_another_one_is_there() -> None:
    assert is_there(own_name())
    assert not is_there(GONE)
    assert is_there("another-machine/1/1/x")


@pytest.mark.shows("W2")
async def test_a_parked_question_of_a_modern_server_is_asked_again_by_another_process(
    revision: Revision,
) -> None:
    DONE.clear()
    first, second = keepers()
    server, july = make_notes(), Revision.JULY_2026
    async with (
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=first) as (one, connect_one),
        connect_one(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        state = next(each.result["requestState"] for each in one.link.received if each.asks)  # type: ignore[attr-defined]
        async with (
            gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=second) as (
                other,
                connect_other,
            ),
            connect_other(revision) as later,
        ):
            still = await later.call_tool("handraise_resume", {"ticket": ticket})
            assert ticket_in(still) == ticket
            answer(other, await waiting(other), answer="old")
            done = await later.call_tool("handraise_resume", {"ticket": ticket})
            assert text_of(done) == "deleted plans: old"
            sent = [each.params.get("requestState") for each in other.link.sent]  # type: ignore[attr-defined]
            assert state in sent
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_a_live_call_of_an_older_server_ends_as_ambiguous(revision: Revision) -> None:
    DONE.clear()
    first, second = keepers()
    november = Revision.NOVEMBER_2025
    async with (
        gateway(only=november, options=QUICK, script=LEAVE, keeper=first) as (_, connect_one),
        connect_one(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        async with (
            gateway(only=november, options=QUICK, keeper=second) as (other, connect_other),
            connect_other(revision) as later,
        ):
            for _ in range(2):
                told = await later.call_tool("handraise_resume", {"ticket": ticket})
                assert told.is_error
                assert "Whether it had done anything" in text_of(told)
            assert not other.queue.waiting()
    assert DONE == {"looked plans": 1}


async def test_a_call_that_another_process_holds_is_waited_for(revision: Revision) -> None:
    first, second = keepers(first_is_gone=False)
    async with (
        gateway(options=QUICK, script=LEAVE, keeper=first) as (one, connect_one),
        connect_one(revision) as client,
        gateway(options=QUICK, keeper=second) as (_, connect_other),
        connect_other(revision) as later,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        assert ticket_in(await later.call_tool("handraise_resume", {"ticket": ticket})) == ticket
        answer(one, await waiting(one), answer="old")
        await client.call_tool("handraise_resume", {"ticket": ticket})
        done = await later.call_tool("handraise_resume", {"ticket": ticket})
        assert text_of(done) == "deleted plans: old"
