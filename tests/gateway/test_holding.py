"""A client that cannot ask its person: its calls are held, parked and resumed, and the model learns no answer."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.gateway.notes import DONE
from tests.gateway.peers import Gateway, gateway
from tests.server.peers import REVISIONS, Person, text_of

from handraise import Handraise, ask
from handraise.calls.store import Ticket
from handraise.desks import Decision
from handraise.desks.scripted import Line
from handraise.errors import StoreError
from handraise.gateway import holding
from handraise.gateway.options import Options
from handraise.gateway.tickets import TicketRepository
from handraise.questions import Accepted, Declined
from handraise.revisions import Revision
from handraise.stores import MemoryStore
from handraise.stores.memory import MemoryTickets
from handraise.this_user import local_person

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W2")]

QUICK = Options(hold=0.05)
LEAVE = [Line("leave", repeat=True)]


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


def ticket_in(result: Any) -> str:
    """The ticket that a parked result names."""
    found = re.search(r"ticket '([\w-]+)'", text_of(result))
    assert found is not None, text_of(result)
    return found[1]


async def ended(client: Any, ticket: str) -> Any:
    """The result of a parked call, for a client that asks until it knows: each time it waits for a moment only."""
    async with asyncio.timeout(60):
        while text_of(done := await client.call_tool("handraise_resume", {"ticket": ticket})).startswith(
            "This call waits"
        ):
            pass
    return done


async def waiting(seen: Gateway, number: int = 1) -> str:
    """Wait until so many questions wait; the id of the newest."""
    async for questions in seen.queue.changes():
        if len(questions) == number:
            return questions[-1].id
    raise AssertionError


def answer(seen: Gateway, id: str, **content: Any) -> None:
    assert seen.queue.decide(id, Decision(Accepted(content), by="agent", desk="test")) == "taken"


async def test_a_call_is_parked_answered_and_resumed(revision: Revision) -> None:
    async with gateway(options=QUICK, script=LEAVE) as (seen, connect), connect(revision) as client:
        parked = await client.call_tool("delete", {"title": "plans"})
        assert not parked.is_error
        ticket = ticket_in(parked)
        still = await client.call_tool("handraise_resume", {"ticket": ticket})
        assert ticket_in(still) == ticket
        answer(seen, await waiting(seen), answer="old")
        done = await ended(client, ticket)
        assert text_of(done) == "deleted plans: old"
        late = await ended(client, ticket)
        assert text_of(late) == "deleted plans: old"


async def test_the_same_call_again_waits_for_the_same_answer(revision: Revision) -> None:
    DONE.clear()
    async with gateway(options=QUICK, script=LEAVE) as (seen, connect), connect(revision) as client:
        first = await client.call_tool("delete", {"title": "plans"})
        for _ in range(5):
            assert ticket_in(await client.call_tool("delete", {"title": "plans"})) == ticket_in(first)
        assert len(seen.queue.waiting()) == 1
        answer(seen, seen.queue.waiting()[0].id, answer="old")
        done = await ended(client, ticket_in(first))
        assert text_of(done) == "deleted plans: old"
    assert DONE == {"looked plans": 1, "deleted plans": 1}


async def test_the_same_call_after_the_first_one_ended_is_a_new_question(revision: Revision) -> None:
    async with gateway(options=QUICK, script=LEAVE) as (seen, connect), connect(revision) as client:
        first = await client.call_tool("delete", {"title": "plans"})
        seen.queue.decide(await waiting(seen), Decision(Declined()))
        done = await ended(client, ticket_in(first))
        assert text_of(done) == "kept: decline"
        again = await client.call_tool("delete", {"title": "plans"})
        assert ticket_in(again) != ticket_in(first)
        await waiting(seen)


async def test_other_arguments_are_another_call(revision: Revision) -> None:
    async with gateway(options=QUICK, script=LEAVE) as (_, connect), connect(revision) as client:
        one = await client.call_tool("delete", {"title": "plans"})
        other = await client.call_tool("delete", {"title": "ideas"})
        assert ticket_in(one) != ticket_in(other)


async def test_tickets_cannot_be_counted_or_worked_out(revision: Revision) -> None:
    """The same call in two gateways: what is the same about it is not what its ticket is made of."""
    tickets = []
    for _ in range(2):
        async with gateway(options=QUICK, script=LEAVE) as (_, connect), connect(revision) as client:
            for title in ("plans", "drafts"):
                tickets.append(ticket_in(await client.call_tool("delete", {"title": title})))
    assert len(set(tickets)) == 4
    assert min(map(len, tickets)) >= 22, "128 bits, in letters of six"


async def test_a_ticket_is_told_when_its_call_is_kept_and_not_before(revision: Revision) -> None:
    kept = asyncio.Event()

    class Slow(MemoryTickets):
        async def open(self, ticket: Ticket) -> None:
            await kept.wait()
            await super().open(ticket)

    tickets = TicketRepository(Slow(), MemoryStore())
    async with (
        gateway(options=QUICK, script=LEAVE, tickets=tickets) as (seen, connect),
        connect(revision) as client,
    ):
        parking = asyncio.create_task(client.call_tool("delete", {"title": "plans"}))
        await waiting(seen)
        await asyncio.sleep(4 * QUICK.hold)
        assert not parking.done()
        kept.set()
        assert ticket_in(await parking)


async def test_a_ticket_that_never_was_opens_nothing(revision: Revision) -> None:
    async with gateway(options=QUICK) as (_, connect), connect(revision) as client:
        nothing = await client.call_tool("handraise_resume", {"ticket": "guess"})
        assert nothing.is_error
        assert "no call with this ticket" in text_of(nothing)


async def test_two_questions_may_both_be_answered_while_nobody_waits(revision: Revision) -> None:
    async with gateway(options=QUICK, script=LEAVE) as (seen, connect), connect(revision) as client:
        parked = await client.call_tool("rename", {"title": "a"})
        first = await waiting(seen)
        answer(seen, first, answer="b")
        async for questions in seen.queue.changes():
            if questions and questions[0].id != first:
                break
        answer(seen, questions[0].id, answer="short")
        done = await ended(client, ticket_in(parked))
        assert text_of(done) == "a is b because short"


async def test_a_held_call_shows_signs_of_life_on_the_callers_own_token(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.holding.BEAT", 0.01)
    told: list[tuple[float, str | None]] = []
    enough = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        if len(told) == 3:
            enough.set()

    async with gateway(script=LEAVE) as (seen, connect), connect(revision) as client:
        calling = asyncio.create_task(client.call_tool("delete", {"title": "a"}, progress_callback=note))
        await enough.wait()
        answer(seen, await waiting(seen), answer="old")
        assert text_of(await calling) == "deleted a: old"
    assert [progress for progress, _ in told] == sorted(progress for progress, _ in told)
    assert len({progress for progress, _ in told}) == len(told)
    assert {message for _, message in told} == {"Answer in your Handraise inbox: run `handraise inbox`"}


async def test_cancelling_the_call_withdraws_its_question_without_a_grace_time(revision: Revision) -> None:
    at_once = Options(hold=30, grace=0)
    async with gateway(script=LEAVE, options=at_once) as (seen, connect), connect(revision) as client:
        calling = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
        await waiting(seen)
        calling.cancel()
        async for questions in seen.queue.changes():
            if not questions:
                break
    ((_, decision),) = seen.queue.past()
    assert decision.reason == "the asker went away"


GRACE = Options(hold=30, grace=30)


async def cancelled(client: Any, seen: Gateway) -> None:
    """Have a client give up on a call while its question waits."""
    calling = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
    await waiting(seen)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)


@pytest.mark.shows("O7")
async def test_a_call_that_its_client_cancels_can_be_answered_and_the_same_call_joins_it(
    revision: Revision,
) -> None:
    DONE.clear()
    async with gateway(script=LEAVE, options=GRACE) as (seen, connect), connect(revision) as client:
        await cancelled(client, seen)
        again = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
        await client.call_tool("echo", {"text": "x"})
        assert len(seen.queue.waiting()) == 1
        answer(seen, await waiting(seen), answer="old")
        assert text_of(await again) == "deleted a: old"
    assert DONE == {"looked a": 1, "deleted a": 1}


@pytest.mark.shows("O7")
async def test_a_call_that_its_client_gave_up_without_a_word_is_joined_by_the_same_call(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    DONE.clear()
    tickets = TicketRepository(MemoryTickets(), MemoryStore())
    async with (
        gateway(script=LEAVE, options=GRACE, tickets=tickets) as (seen, connect),
        connect(revision) as client,
    ):
        first = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
        await waiting(seen)
        monkeypatch.setattr(holding, "AGAIN", 0.0)  # it is held for long
        again = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
        await client.call_tool("echo", {"text": "x"})
        assert len(seen.queue.waiting()) == 1
        answer(seen, await waiting(seen), answer="old")
        assert text_of(await again) == "deleted a: old"
        assert text_of(await first) == "deleted a: old"  # it may wait after all
    assert DONE == {"looked a": 1, "deleted a": 1}


@pytest.mark.shows("X4")
async def test_two_calls_that_a_model_makes_at_once_stay_two(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "AGAIN", 60.0)  # not even a slow machine takes so long
    DONE.clear()
    async with gateway(script=LEAVE, options=GRACE) as (seen, connect), connect(revision) as client:
        both = [asyncio.create_task(client.call_tool("delete", {"title": "a"})) for _ in range(2)]
        await waiting(seen, 2)
        for question in seen.queue.waiting():
            answer(seen, question.id, answer="old")
        assert {text_of(await each) for each in both} == {"deleted a: old"}
    assert DONE == {"looked a": 2, "deleted a": 2}


@pytest.mark.shows("O7")
async def test_the_outcome_of_a_cancelled_call_goes_to_the_same_call_once(revision: Revision) -> None:
    DONE.clear()
    async with gateway(script=LEAVE, options=GRACE) as (seen, connect), connect(revision) as client:
        await cancelled(client, seen)
        answer(seen, await waiting(seen), answer="old")
        async with asyncio.timeout(60):
            while not DONE["deleted a"]:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        await client.call_tool("echo", {"text": "x"})
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"
        assert DONE == {"looked a": 1, "deleted a": 1}
        again = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
        await waiting(seen)
        assert DONE["looked a"] == 2
        again.cancel()


@pytest.mark.shows("O7")
async def test_a_cancelled_call_is_withdrawn_when_the_grace_time_is_over(revision: Revision) -> None:
    short = Options(hold=30, grace=0.05)
    async with gateway(script=LEAVE, options=short) as (seen, connect), connect(revision) as client:
        await cancelled(client, seen)
        async for questions in seen.queue.changes():
            if not questions:
                break
        ((_, decision),) = seen.queue.past()
        assert decision.reason == "the asker went away"


async def test_a_call_that_is_cancelled_after_its_answer_has_no_grace_time(revision: Revision) -> None:
    server, at_work, stopped = (
        Handraise(linger=0.2).install(MCPServer("slow")),
        asyncio.Event(),
        asyncio.Event(),
    )

    @server.tool()
    async def pay() -> str:
        to = (await ask.text("To whom?")).or_stop()
        at_work.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return f"paid {to}"

    async with (
        gateway(server=server, options=GRACE, script=LEAVE) as (seen, connect),
        connect(revision) as client,
        asyncio.timeout(20),
    ):
        calling = asyncio.create_task(client.call_tool("pay", {}))
        answer(seen, await waiting(seen), answer="ann")
        await at_work.wait()
        calling.cancel()
        await stopped.wait()


@pytest.mark.shows("W2", "W3")
@pytest.mark.parametrize("only", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_a_parked_question_leaves_the_desk_when_its_server_waits_no_longer(
    revision: Revision, only: Revision
) -> None:
    server = Handraise(timeout=0.3).install(MCPServer("short"))

    @server.tool()
    async def pay() -> str:
        return f"paid {(await ask.text('To whom?')).or_stop()}"

    async with (
        gateway(server=server, only=only, options=QUICK, script=LEAVE) as (seen, connect),
        connect(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("pay", {}))
        async for questions in seen.queue.changes():
            if not questions:
                break
        assert "did not answer in time" in text_of(await ended(client, ticket))


async def test_a_call_whose_question_was_answered_is_said_to_wait_for_its_server(revision: Revision) -> None:
    server, paid = Handraise().install(MCPServer("slow")), asyncio.Event()

    @server.tool()
    async def pay() -> str:
        to = (await ask.text("To whom?")).or_stop()
        await paid.wait()
        return f"paid {to}"

    async with (
        gateway(server=server, options=QUICK, script=LEAVE) as (seen, connect),
        connect(revision) as client,
    ):
        ticket = ticket_in(await client.call_tool("pay", {}))
        answer(seen, await waiting(seen), answer="ann")
        told = await client.call_tool("handraise_resume", {"ticket": ticket})
        assert "No question waits for the user now" in text_of(told)
        assert ticket_in(told) == ticket
        paid.set()
        assert text_of(await ended(client, ticket)) == "paid ann"


@pytest.mark.shows("W2")
async def test_the_second_question_of_a_parked_call_is_kept_for_the_next_gateway(tmp_path: Path) -> None:
    server = Handraise(store=tmp_path / "store.db").install(MCPServer("two"))

    @server.tool()
    async def pay() -> str:
        to = (await ask.text("To whom?")).or_stop()
        return f"paid {to} {(await ask.text('How much?')).or_stop()}"

    tickets, me = TicketRepository(MemoryTickets(), MemoryStore()), local_person().key
    async with (
        gateway(server=server, only=Revision.JULY_2026, options=QUICK, script=LEAVE, tickets=tickets) as (
            seen,
            connect,
        ),
        connect(Revision.NOVEMBER_2025) as client,
    ):
        ticket = ticket_in(await client.call_tool("pay", {}))
        for question, reply in (("To whom?", "ann"), ("How much?", "7")):
            asked = await waiting(seen)
            kept = await tickets.find(ticket, me)
            assert kept is not None
            assert question in str(kept.round)
            answer(seen, asked, answer=reply)
        assert text_of(await ended(client, ticket)) == "paid ann 7"


@pytest.mark.shows("W6")
async def test_a_server_that_ends_while_asked_leaves_an_ambiguous_call_that_is_not_made_again(
    revision: Revision,
) -> None:
    DONE.clear()
    async with gateway(script=LEAVE) as (seen, connect), connect(revision) as client:
        calling = asyncio.create_task(client.call_tool("delete", {"title": "a"}))
        await waiting(seen)
        seen.link.die()  # type: ignore[attr-defined]
        result = await calling
        assert result.is_error
        assert "ended while the user was being asked" in text_of(result)
        assert not seen.queue.waiting()
    assert DONE == {"looked a": 1}


async def test_our_desk_can_be_required_of_a_client_that_could_ask(revision: Revision) -> None:
    options = Options(desk="always")
    script = [Line("accept", {"answer": "old"})]
    async with gateway(options=options, script=script) as (_, connect), connect(revision, Person()) as client:
        assert text_of(await client.call_tool("delete", {"title": "a"})) == "deleted a: old"


async def _fails(calling: Any) -> None:
    """By a tool error on the revisions that know no other, by -32021 on 2026-07-28."""
    try:
        failed = (await calling).is_error
    except MCPError as error:
        failed = error.code == -32021
    assert failed


async def test_without_our_desk_the_server_is_told_the_truth(revision: Revision) -> None:
    async with gateway(options=Options(desk="none")) as (seen, connect), connect(revision) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert "handraise_resume" not in tools
        await _fails(client.call_tool("delete", {"title": "a"}))
    assert not seen.queue.past()


@pytest.mark.shows("W9")
async def test_nothing_that_the_model_sees_says_where_to_sign_in_or_what_was_answered(
    revision: Revision,
) -> None:
    async with gateway(options=QUICK, script=LEAVE) as (seen, connect), connect(revision) as client:
        parked = await client.call_tool("connect", {"account": "a"})
        id = await waiting(seen)
        seen.queue.decide(id, Decision(Declined()))
        await client.call_tool("handraise_resume", {"ticket": ticket_in(parked)})
    assert "http://127" not in seen.seen_by_model
    assert "sign-in" not in seen.seen_by_model
    assert id not in seen.seen_by_model


class Away(MemoryTickets):
    """A store that cannot be reached: from the start, or for what is to be kept."""

    def __init__(self, *, reads: bool) -> None:
        super().__init__()
        self._reads = reads

    async def waiting(self, person: str) -> list[Ticket]:
        if not self._reads:
            raise StoreError("the store is away")
        return await super().waiting(person)

    async def open(self, ticket: Ticket) -> None:
        raise StoreError("the store is away")


async def test_a_store_that_is_away_leaves_nobody_waiting_in_vain(revision: Revision) -> None:
    DONE.clear()
    tickets = TicketRepository(Away(reads=False), MemoryStore())
    async with (
        gateway(options=QUICK, script=LEAVE, tickets=tickets) as (seen, connect),
        connect(revision) as client,
    ):
        await seen.state.asking()
        result = await client.call_tool("delete", {"title": "plans"})
        assert result.is_error
        assert "decided nothing" in text_of(result)
    assert DONE == {}


async def test_a_call_that_cannot_be_kept_waits_in_this_process_all_the_same(revision: Revision) -> None:
    tickets = TicketRepository(Away(reads=True), MemoryStore())
    async with (
        gateway(options=QUICK, script=LEAVE, tickets=tickets) as (seen, connect),
        connect(revision) as client,
    ):
        parked = await client.call_tool("archive", {"title": "plans"})
        assert ticket_in(parked)
        assert seen.queue.waiting()
