"""A gateway that is gone: what it had parked goes on in another one where that is safe, and nothing is run again."""

from __future__ import annotations

import asyncio
import time

import pytest
from mcp import Client
from tests.gateway.notes import DONE, make_notes
from tests.gateway.peers import gateway
from tests.gateway.test_holding import LEAVE, QUICK, answer, ticket_in, waiting
from tests.server.peers import REVISIONS, text_of

from handraise.gateway.parked import KEPT, key_of
from handraise.gateway.taking_over import Keeper
from handraise.gateway.upstreams import Upstream
from handraise.revisions import Revision
from handraise.stores import MemoryStore
from handraise.stores.processes import _began, own_name

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W6")]

GONE = "/".join((*own_name().split("/")[:2], "999999999", "1", "x"))


@pytest.fixture(params=REVISIONS, ids=lambda revision: f"client-{revision}")
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def keepers(*, first_is_gone: bool = True) -> tuple[Keeper, Keeper]:
    """The keepers of two gateways with one store."""
    store = MemoryStore()
    first, second = Keeper(store.tickets, store), Keeper(store.tickets, store)
    if first_is_gone:
        first._name = GONE
    return first, second


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


@pytest.mark.shows("W2")
async def test_the_same_call_in_another_process_waits_for_the_same_answer(revision: Revision) -> None:
    DONE.clear()
    first, second = keepers()
    server, july = make_notes(), Revision.JULY_2026
    async with (
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=first) as (_, connect_one),
        connect_one(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        async with (
            gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=second) as (
                other,
                connect_other,
            ),
            connect_other(revision) as later,
        ):
            for _ in range(2):
                assert ticket_in(await later.call_tool("delete", {"title": "plans"})) == ticket
            answer(other, await waiting(other), answer="old")
            done = await later.call_tool("handraise_resume", {"ticket": ticket})
            assert text_of(done) == "deleted plans: old"
            assert DONE == {"looked plans": 1, "deleted plans": 1}
            assert ticket_in(await later.call_tool("delete", {"title": "plans"})) != ticket
    assert DONE["looked plans"] == 2


@pytest.mark.parametrize("before", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=lambda r: f"before-{r}")
async def test_what_a_gateway_left_behind_waits_at_the_desk_of_the_next_one(
    revision: Revision, before: Revision
) -> None:
    """Whatever the client spoke that made the call, and although the new one calls nothing."""
    DONE.clear()
    first, second = keepers()
    server, july = make_notes(), Revision.JULY_2026
    async with gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=first) as (one, connect):
        async with connect(before) as client:
            ticket = ticket_in(await client.call_tool("rename", {"title": "plans"}))
        asked = next(each.result for each in one.link.received if each.asks)  # type: ignore[attr-defined]
        async with (
            gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=second) as (other, again),
            again(revision) as later,
        ):
            await later.list_tools()
            answer(other, await waiting(other), answer="ideas")
            async for questions in other.queue.changes():
                if questions and questions[0].question.message == "Why ideas?":
                    break
            answer(other, questions[0].id, answer="short")
            done = await later.call_tool("handraise_resume", {"ticket": ticket})
            assert text_of(done) == "plans is ideas because short"
            retried = [each for each in other.link.sent if "inputResponses" in each.params]  # type: ignore[attr-defined]
            assert retried[0].params["requestState"] == asked["requestState"]
    assert DONE == {"reserved ideas": 1}


async def test_the_same_call_is_told_once_that_the_one_before_is_ambiguous(revision: Revision) -> None:
    DONE.clear()
    first, second = keepers()
    november = Revision.NOVEMBER_2025
    async with (
        gateway(only=november, options=QUICK, script=LEAVE, keeper=first) as (_, connect_one),
        connect_one(revision) as client,
    ):
        ticket_in(await client.call_tool("delete", {"title": "plans"}))
        async with (
            gateway(only=november, options=QUICK, script=LEAVE, keeper=second) as (_, connect_other),
            connect_other(revision) as later,
        ):
            told = await later.call_tool("delete", {"title": "plans"})
            assert told.is_error
            assert "Whether it had done anything" in text_of(told)
            assert DONE == {"looked plans": 1}
            ticket_in(await later.call_tool("delete", {"title": "plans"}))
    assert DONE == {"looked plans": 2}


async def test_a_call_is_never_given_to_another_server_of_the_same_name(revision: Revision) -> None:
    DONE.clear()
    first, second = keepers()
    july = Revision.JULY_2026
    async with (
        gateway(only=july, options=QUICK, script=LEAVE, keeper=first) as (_, connect_one),
        connect_one(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        elsewhere = Upstream("my notes", ("python", "other.py"))
        async with (
            gateway(only=july, options=QUICK, script=LEAVE, keeper=second, upstream=elsewhere) as (
                other,
                connect_other,
            ),
            connect_other(revision) as later,
        ):
            assert ticket_in(await later.call_tool("handraise_resume", {"ticket": ticket})) == ticket
            assert not other.queue.waiting()
            assert ticket_in(await later.call_tool("delete", {"title": "plans"})) != ticket
            sent = [each.params.get("requestState") for each in other.link.sent]  # type: ignore[attr-defined]
    assert not any(sent)


async def test_the_same_call_waits_for_one_that_a_living_process_holds(revision: Revision) -> None:
    DONE.clear()
    first, second = keepers(first_is_gone=False)
    async with (
        gateway(options=QUICK, script=LEAVE, keeper=first) as (one, connect_one),
        connect_one(revision) as client,
        gateway(options=QUICK, script=LEAVE, keeper=second) as (other, connect_other),
        connect_other(revision) as later,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        assert ticket_in(await later.call_tool("delete", {"title": "plans"})) == ticket
        assert not other.queue.waiting()
        answer(one, await waiting(one), answer="old")
        await client.call_tool("handraise_resume", {"ticket": ticket})
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_an_answer_from_a_process_that_lost_the_call_goes_nowhere(revision: Revision) -> None:
    """It was taken for gone while it lived: two people may answer, and the server hears one of them."""
    DONE.clear()
    first, second = keepers()
    server, july = make_notes(), Revision.JULY_2026
    async with (
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=first) as (one, connect_one),
        connect_one(revision) as client,
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=second) as (
            other,
            connect_other,
        ),
        connect_other(revision) as later,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        await later.call_tool("handraise_resume", {"ticket": ticket})
        answer(one, await waiting(one), answer="first")
        answer(other, await waiting(other), answer="second")
        for each in (later, client):
            assert await ending(each, ticket) == "deleted plans: second"
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_one_answer_of_a_round_with_several_goes_nowhere_before_the_others(revision: Revision) -> None:
    """Its process is gone after the first: nothing was sent, and so everything is asked again."""
    DONE.clear()
    first, second = keepers()
    server, july = make_notes(), Revision.JULY_2026
    async with (
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=first) as (one, connect_one),
        connect_one(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("label", {"title": "plans"}))
        answer(one, await waiting(one, 2), answer="large")
        await waiting(one, 1)
        async with (
            gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=second) as (other, again),
            again(revision) as later,
        ):
            assert ticket_in(await later.call_tool("handraise_resume", {"ticket": ticket})) == ticket
            await waiting(other, 2)
            for each, text in zip(other.queue.waiting(), ("red", "small"), strict=True):
                answer(other, each.id, answer=text)
            assert await ending(later, ticket) == "plans: red small"
    assert DONE == {"labelled plans": 1}


async def test_a_call_comes_to_the_desk_of_another_gateway_when_its_own_is_gone(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.reviving.LOOK_AGAIN", 0.02)
    first, second = keepers(first_is_gone=False)
    server, july = make_notes(), Revision.JULY_2026
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    first._name = "/".join((*GONE.split("/")[:2], str(process.pid), _began(process.pid), "x"))
    async with (
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=first) as (_, connect_one),
        connect_one(revision) as client,
        gateway(server=server, only=july, options=QUICK, script=LEAVE, keeper=second) as (
            other,
            connect_other,
        ),
        connect_other(revision) as later,
    ):
        ticket = ticket_in(await client.call_tool("delete", {"title": "plans"}))
        assert ticket_in(await later.call_tool("handraise_resume", {"ticket": ticket})) == ticket
        assert not other.queue.waiting()
        process.kill()
        await process.wait()
        answer(other, await waiting(other), answer="old")
        assert await ending(later, ticket) == "deleted plans: old"


class Behind:
    """The clock of a store on a machine that is a day behind this one."""

    def __init__(self) -> None:
        self._began = 0.0

    async def open(self) -> None:
        self._began = time.time() - 86_400

    def now(self) -> float:
        assert self._began, "nobody knows what time it is yet"
        return self._began


async def test_how_long_a_call_is_kept_goes_by_the_clock_of_the_store(revision: Revision) -> None:
    """Another gateway, whose own clock is wrong, would forget it too early otherwise, or never."""
    store, clock = MemoryStore(), Behind()
    async with (
        gateway(options=QUICK, script=LEAVE, keeper=Keeper(store.tickets, clock)) as (seen, connect),
        connect(revision) as client,
    ):
        key = key_of(ticket_in(await client.call_tool("delete", {"title": "plans"})))
        parked = await store.tickets.find(key)
        assert parked is not None
        assert parked.deadline == clock.now() + QUICK.wait
        answer(seen, await waiting(seen), answer="old")
        async with asyncio.timeout(5):
            while (ended := await store.tickets.find(key)) is None or ended.outcome is None:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert ended.deadline == clock.now() + KEPT


async def ending(client: Client, ticket: str) -> str:
    """How a parked call ends, for a client that asks until it knows."""
    async with asyncio.timeout(5):
        while (told := text_of(await client.call_tool("handraise_resume", {"ticket": ticket}))).startswith(
            "This call waits"
        ):
            pass
    return told
