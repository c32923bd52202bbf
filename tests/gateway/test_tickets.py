"""A gateway that is gone: what it had parked goes on in another one where that is safe, and nothing is run again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.gateway.notes import DONE, make_notes
from tests.gateway.peers import NOTES, Gateway, gateway
from tests.gateway.test_holding import LEAVE, QUICK, answer, ended, ticket_in, waiting
from tests.server.peers import REVISIONS, text_of

from handraise.calls.store import NOT_SENT, Ticket
from handraise.desks import Decision
from handraise.desks.endings import describe_ending
from handraise.gateway.asking import ANSWER_LOST
from handraise.gateway.sentences import FORGOTTEN
from handraise.gateway.tickets import KEPT, TicketRepository, binding_in, key_of
from handraise.gateway.upstreams import Upstream
from handraise.questions import Declined
from handraise.revisions import Revision
from handraise.stores import MemoryStore, SqliteStore

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W6")]

GONE = "a gateway that is gone"
JULY, NOVEMBER = Revision.JULY_2026, Revision.NOVEMBER_2025

ELSEWHERE = Upstream("my notes", url="https://notes.example.com/mcp")
"""A server that goes on when the gateway ends. Our own processes end with it."""
Begin = Callable[..., Awaitable[tuple[Gateway, Client]]]
"""Opens the next gateway, and gives it and its client."""


@pytest.fixture(params=REVISIONS, ids=lambda revision: f"client-{revision}")
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def repositories() -> tuple[TicketRepository, TicketRepository]:
    """The repositories of two gateways with one store, of which the first is taken for gone."""
    store = MemoryStore()
    first, second = TicketRepository(store.tickets, store), TicketRepository(store.tickets, store)
    first._name = GONE
    return first, second


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
async def begin(
    revision: Revision, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Begin]:
    """Two gateways with one store in front of one server, opened one after the other; the first is taken for gone.

    Unless `holder` names it: "" is this process, which really runs it. With `anew` the server was started anew, too.
    """
    DONE.clear()
    monkeypatch.setattr("handraise.gateway.tickets._LOOK", 0.02)
    server, holders = make_notes(), iter((GONE, ""))
    async with AsyncExitStack() as stack:

        async def opened(
            only: Revision | None = JULY,
            *,
            client: Revision = revision,
            holder: str | None = None,
            anew: bool = False,
            **options: Any,
        ) -> tuple[Gateway, Client]:
            behind = make_notes() if anew else server
            options.setdefault("upstream", ELSEWHERE)
            tickets, usual = TicketRepository(store.tickets, store), next(holders)
            tickets._name = usual if holder is None else holder
            seen, connect = await stack.enter_async_context(
                gateway(server=behind, only=only, options=QUICK, script=LEAVE, tickets=tickets, **options)
            )
            return seen, await stack.enter_async_context(connect(client))

        yield opened


async def parked(client: Client, tool: str = "delete") -> str:
    """Have a call parked; its ticket."""
    return ticket_in(await client.call_tool(tool, {"title": "plans"}))


async def resumed(client: Client, ticket: str) -> Any:
    return await client.call_tool("handraise_resume", {"ticket": ticket})


def states(seen: Gateway) -> list[Any]:
    """Every state that a server was given back."""
    return [each.params["requestState"] for each in seen.link.sent if "requestState" in each.params]  # type: ignore[attr-defined]


def asked(seen: Gateway) -> Any:
    """The first round that a server ended with a question."""
    return next(each.result for each in seen.link.received if each.asks)  # type: ignore[attr-defined]


@pytest.mark.shows("W2")
async def test_a_parked_question_of_a_modern_server_is_asked_again_by_another_process(begin: Begin) -> None:
    one, client = await begin()
    ticket = await parked(client)
    other, later = await begin()
    assert ticket_in(await resumed(later, ticket)) == ticket
    answer(other, await waiting(other), answer="old")
    assert text_of(await ended(later, ticket)) == "deleted plans: old"
    assert asked(one)["requestState"] in states(other)
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_who_answers_a_server_that_forgot_the_call_is_told_so_in_words(begin: Begin) -> None:
    """A server without a store, started anew with its gateway, does not know the state that it is given back."""
    _, client = await begin()
    ticket = await parked(client)
    other, later = await begin(anew=True)
    await resumed(later, ticket)
    id = await waiting(other)
    assert other.queue.decide(id, Decision(Declined(), desk="web")) == "taken"
    told = await ended(later, ticket)
    assert told.is_error
    assert text_of(told) == FORGOTTEN.format(server="my notes")
    past = other.queue.outcome(id)
    assert past is not None
    assert describe_ending(*past).sentence == f"It ended in the browser. {ANSWER_LOST}"
    assert DONE == {"looked plans": 1}


async def test_a_live_call_of_an_older_server_ends_as_ambiguous(begin: Begin) -> None:
    _, client = await begin(NOVEMBER)
    ticket = await parked(client)
    other, later = await begin(NOVEMBER)
    for _ in range(2):
        told = await ended(later, ticket)
        assert told.is_error
        assert "Whether it had done anything" in text_of(told)
    assert not other.queue.waiting()
    assert DONE == {"looked plans": 1}


async def test_a_call_that_another_process_holds_is_waited_for(begin: Begin) -> None:
    one, client = await begin(None, holder="")
    _, later = await begin(None)
    ticket = await parked(client)
    assert ticket_in(await resumed(later, ticket)) == ticket
    answer(one, await waiting(one), answer="old")
    await ended(client, ticket)
    assert text_of(await ended(later, ticket)) == "deleted plans: old"


@pytest.mark.shows("W2")
async def test_the_same_call_in_another_process_waits_for_the_same_answer(begin: Begin) -> None:
    _, client = await begin()
    ticket = await parked(client)
    other, later = await begin()
    for _ in range(2):
        assert await parked(later) == ticket
    answer(other, await waiting(other), answer="old")
    assert text_of(await ended(later, ticket)) == "deleted plans: old"
    assert DONE == {"looked plans": 1, "deleted plans": 1}
    assert await parked(later) != ticket
    assert DONE["looked plans"] == 2


@pytest.mark.parametrize("before", [NOVEMBER, JULY], ids=lambda revision: f"before-{revision}")
async def test_what_a_gateway_left_behind_waits_at_the_desk_of_the_next_one(
    begin: Begin, before: Revision
) -> None:
    """Whatever the client spoke that made the call, and although the new one calls nothing."""
    one, client = await begin(client=before)
    ticket = await parked(client, "rename")
    other, later = await begin()
    await later.list_tools()
    answer(other, await waiting(other), answer="ideas")
    async for questions in other.queue.changes():
        if questions and questions[0].question.message == "Why ideas?":
            break
    answer(other, questions[0].id, answer="short")
    assert text_of(await ended(later, ticket)) == "plans is ideas because short"
    assert states(other)[0] == asked(one)["requestState"]
    assert DONE == {"reserved ideas": 1}


@pytest.mark.shows("W3d")
@pytest.mark.parametrize(
    ("only", "upstream"), [(NOVEMBER, ELSEWHERE), (JULY, NOTES)], ids=["older server", "our own process"]
)
async def test_a_new_call_never_joins_a_call_of_a_server_that_is_gone(
    begin: Begin, only: Revision, upstream: Upstream
) -> None:
    """The model hears that the old question is void, and the new call asks anew."""
    _, client = await begin(only, upstream=upstream)
    ticket = await parked(client)
    other, later = await begin(only, upstream=upstream)
    fresh = await parked(later)
    assert fresh != ticket
    assert DONE == {"looked plans": 2}
    assert text_of(await resumed(later, ticket)).startswith("The server 'my notes' ended")
    answer(other, await waiting(other), answer="old")
    assert text_of(await ended(later, fresh)).startswith("deleted plans: old")
    assert DONE == {"looked plans": 2, "deleted plans": 1}


@pytest.mark.shows("W3d")
async def test_a_new_call_is_told_that_the_old_question_is_void(begin: Begin) -> None:
    _, client = await begin(NOVEMBER)
    await parked(client)
    other, later = await begin(NOVEMBER)
    other.state.options = replace(other.state.options, hold=20)
    calling = asyncio.ensure_future(later.call_tool("delete", {"title": "plans"}))
    answer(other, await waiting(other), answer="old")
    told = text_of(await calling)
    assert told.startswith("deleted plans: old")
    assert "An earlier question about the same call is void" in told


async def test_a_call_is_never_given_to_another_server_of_the_same_name(begin: Begin) -> None:
    _, client = await begin()
    ticket = await parked(client)
    other, later = await begin(upstream=Upstream("my notes", url="https://other.example.com/mcp"))
    assert ticket_in(await resumed(later, ticket)) == ticket
    assert not other.queue.waiting()
    assert await parked(later) != ticket
    assert not any(states(other))


async def test_the_same_call_waits_for_one_that_a_living_process_holds(begin: Begin) -> None:
    one, client = await begin(None, holder="")
    other, later = await begin(None)
    ticket = await parked(client)
    assert await parked(later) == ticket
    assert not other.queue.waiting()
    answer(one, await waiting(one), answer="old")
    await ended(client, ticket)
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_an_answer_from_a_process_that_lost_the_call_goes_nowhere(begin: Begin) -> None:
    """It was taken for gone while it lived: two people may answer, and the server hears one of them."""
    one, client = await begin()
    other, later = await begin()
    ticket = await parked(client)
    await resumed(later, ticket)
    answer(one, await waiting(one), answer="first")
    answer(other, await waiting(other), answer="second")
    for each in (later, client):
        assert text_of(await ended(each, ticket)) == "deleted plans: second"
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_one_answer_of_a_round_with_several_goes_nowhere_before_the_others(begin: Begin) -> None:
    """Its process is gone after the first: nothing was sent, and so everything is asked again."""
    one, client = await begin()
    ticket = await parked(client, "label")
    answer(one, await waiting(one, 2), answer="large")
    await waiting(one, 1)
    other, later = await begin()
    assert ticket_in(await resumed(later, ticket)) == ticket
    await waiting(other, 2)
    for each, text in zip(other.queue.waiting(), ("red", "small"), strict=True):
        answer(other, each.id, answer=text)
    assert text_of(await ended(later, ticket)) == "plans: red small"
    assert DONE == {"labelled plans": 1}


async def test_a_call_comes_to_the_desk_of_another_gateway_when_its_own_is_gone(
    begin: Begin, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.relay.LOOK_AGAIN", 0.02)
    holder = await store.tickets.enter()
    _, client = await begin(holder=holder)
    other, later = await begin()
    ticket = await parked(client)
    assert ticket_in(await resumed(later, ticket)) == ticket
    assert not other.queue.waiting()
    store.tickets.holders.remove(holder)
    answer(other, await waiting(other), answer="old")
    assert text_of(await ended(later, ticket)) == "deleted plans: old"


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
        gateway(options=QUICK, script=LEAVE, tickets=TicketRepository(store.tickets, clock)) as (
            seen,
            connect,
        ),
        connect(revision) as client,
    ):
        key = key_of(ticket_in(await client.call_tool("delete", {"title": "plans"})))
        parked = await store.tickets.find(key)
        assert parked is not None
        assert parked.deadline == clock.now() + QUICK.wait
        answer(seen, await waiting(seen), answer="old")
        async with asyncio.timeout(60):
            while (kept := await store.tickets.find(key)) is None or kept.outcome is None:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert kept.deadline == clock.now() + KEPT


async def test_a_call_whose_time_is_over_is_given_to_nobody() -> None:
    """Also while the store has it: rows are deleted only now and then."""
    store = MemoryStore()
    tickets = TicketRepository(store.tickets, store)
    call = {"method": "tools/call", "params": {"name": "delete"}, "target": "notes", "ticket": "a ticket"}
    for ticket, left in (("over", -1.0), ("good", 60.0)):
        await store.tickets.open(
            Ticket(key_of(ticket), "ada", "notes", GONE, store.now() + left, call, NOT_SENT)
        )
    assert await tickets.find("over", "ada") is None
    good = await tickets.find("good", "ada")
    assert good is not None
    assert await tickets.find("good", "eve") is None
    assert await tickets.orphaned("ada") == [good]
    assert await tickets.same(binding_in(good)) == good


@pytest.mark.shows("W2")
async def test_a_call_is_taken_over_once_also_by_two_who_try_in_one_process(tmp_path: Path) -> None:
    """A gateway looks for parked calls when it starts, and its client may make the same call meanwhile."""
    store = SqliteStore(tmp_path / "tickets.db")
    tickets = TicketRepository(store.tickets, store)
    call = {"method": "tools/call", "params": {"name": "delete"}, "target": "notes", "ticket": "a ticket"}
    left = Ticket(key_of("a ticket"), "ada", "notes", GONE, store.now() + 60.0, call, NOT_SENT)
    await store.tickets.open(left)
    await store.open()
    assert list(await asyncio.gather(tickets.take(left), tickets.take(left))) == [True, False]
    await store.aclose()
