"""How a call ended is joined in the ledger to what the person said yes to in it; and the links that they went to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from tests.client.hosts import host

from handraise import Handraise, ask
from handraise.client.calls import HostCall, OpenLinks
from handraise.client.recording import HostRecord
from handraise.desks.scripted import Line
from handraise.forms import Form, Text
from handraise.ledger import Ledger, LedgerEvent
from handraise.ledger.events import CallEnd
from handraise.questions import FormQuestion, UrlQuestion
from handraise.revisions import Revision

pytestmark = [pytest.mark.shows("G2", "G7")]

every_revision = pytest.mark.parametrize("revision", list(Revision), ids=str)
ACCEPT = Line("accept", {"answer": "Ada"})
WHO: FormQuestion[Any] = FormQuestion("Who?", Form.by_hand(Text("answer")))


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "ledger.db")
    yield ledger
    await ledger.aclose()


async def events_of(ledger: Ledger) -> list[LedgerEvent]:
    await asyncio.gather(*ledger._soon)
    return [event async for _, event in ledger.events()]


async def used(ledger: Ledger) -> list[tuple[str, CallEnd]]:
    """Which calls used an answer, and how they ended."""
    uses = [event.used for event in await events_of(ledger) if event.used is not None]
    return [(str(use.request.target), use.ended) for use in uses]


class Server:
    """A server whose tool asks, and then does what a test wants."""

    def __init__(self, then: Callable[[], Any] = lambda: "done", questions: int = 1) -> None:
        self.mcp: MCPServer = Handraise().install(MCPServer("notes"))
        self.answered = asyncio.Event()

        @self.mcp.tool()
        async def greet() -> str:
            for number in range(questions):
                (await ask.text(f"Who is number {number}?")).or_stop()
            self.answered.set()
            result = then()
            return str(await result if asyncio.iscoroutine(result) else result)


def fails() -> None:
    raise RuntimeError("the mailbox is full")


@every_revision
@pytest.mark.parametrize(("then", "ended"), [(lambda: "done", "result"), (fails, "error")])
async def test_a_yes_is_joined_to_the_end_of_the_call_that_asked(
    ledger: Ledger, revision: Revision, then: Callable[[], Any], ended: CallEnd
) -> None:
    async with host(Server(then).mcp, revision, [ACCEPT], ledger=ledger) as here:
        await here.client.call_tool("greet")
    events = await events_of(ledger)
    assert [event.kind for event in events if event.kind != "shown"] == ["asked", "decided", "used"]
    assert len({event.question for event in events}) == 1
    assert events[-1].used is not None
    assert events[-1].used.request == events[0].about.request
    assert await used(ledger) == [("greet", ended)]


@every_revision
async def test_every_yes_of_a_call_is_joined_and_no_other_answer(ledger: Ledger, revision: Revision) -> None:
    async with host(
        Server(questions=3).mcp, revision, [ACCEPT, ACCEPT, Line("decline")], ledger=ledger
    ) as here:
        await here.client.call_tool("greet")
    assert await used(ledger) == [("greet", "error"), ("greet", "error")]
    declined = next(event.question for event in await events_of(ledger) if event.action == "decline")
    assert [e.kind for e in await events_of(ledger) if e.question == declined][-1] == "decided"


@every_revision
async def test_a_call_that_the_host_gives_up_is_cancelled(ledger: Ledger, revision: Revision) -> None:
    server = Server(lambda: asyncio.Event().wait())
    async with host(server.mcp, revision, [ACCEPT], ledger=ledger) as here:
        calling = asyncio.ensure_future(here.client.call_tool("greet"))
        await asyncio.wait_for(server.answered.wait(), 10)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    assert await used(ledger) == [("greet", "cancelled")]


@every_revision
@pytest.mark.parametrize(
    "lost", [MCPError(CONNECTION_CLOSED, "Connection closed"), anyio.ClosedResourceError()]
)
async def test_nobody_knows_how_a_call_ended_whose_connection_is_lost(
    ledger: Ledger, revision: Revision, lost: Exception
) -> None:
    async with host(Server().mcp, revision, [ACCEPT], ledger=ledger) as here:

        async def request(*_: object) -> None:
            await here.consent.ask(WHO, revision)
            raise lost

        with pytest.raises(type(lost)):
            await here.client._runner.call("tools/call", request, "greet", {})
    last = (await events_of(ledger))[-1]
    assert (last.kind, last.reasons) == (
        "ambiguous",
        ("how the call ended that used the answer is not known",),
    )


async def test_a_question_that_may_be_of_several_calls_is_joined_to_none(
    ledger: Ledger, tmp_path: Path
) -> None:
    async with host(Server().mcp, Revision.NOVEMBER_2025, [ACCEPT], ledger=ledger) as here:
        here.consent.calls += [HostCall("greet", {}), HostCall("another", {})]
        await here.consent.ask(WHO, Revision.NOVEMBER_2025)
    assert (await events_of(ledger))[-1].kind == "decided"
    assert await left_open(ledger, tmp_path) == 0


async def test_what_was_used_when_its_process_ended_is_left_as_ambiguous(
    ledger: Ledger, tmp_path: Path
) -> None:
    async with host(Server().mcp, Revision.NOVEMBER_2025, [ACCEPT], ledger=ledger) as here:
        here.consent.calls.append(HostCall("greet", {}))
        await here.consent.ask(WHO, Revision.NOVEMBER_2025)
    assert await left_open(ledger, tmp_path) == 1
    assert (await events_of(ledger))[-1].kind == "ambiguous"


async def left_open(ledger: Ledger, tmp_path: Path) -> int:
    """How many questions the next process finds in flight, once this one has let go."""
    await ledger.aclose()
    again = Ledger.at(tmp_path / "ledger.db")
    try:
        return await again.start()
    finally:
        await again.aclose()


class Noted:
    """A record that only remembers how it was used."""

    def __init__(self) -> None:
        self.told: list[CallEnd | None] = []

    def used(self, ended: CallEnd | None) -> None:
        self.told.append(ended)


def test_a_yes_is_told_of_once_and_one_that_comes_late_as_unknown() -> None:
    call, early, late = HostCall("greet", {}), Noted(), Noted()
    call.join(early)  # type: ignore[arg-type]
    call.end("result")
    call.end(None)
    call.join(late)  # type: ignore[arg-type]
    assert (early.told, late.told) == (["result"], [None])


def link(id: str) -> UrlQuestion:
    return UrlQuestion("Set it up", "https://notes.example.com/setup", elicitation_id=id)


class Counting(HostRecord):
    """A record that counts how often its question was finished."""

    completions = 0

    async def completed(self) -> None:
        self.completions += 1


def test_who_waits_for_a_link_hears_of_it_and_of_no_other() -> None:
    flows = OpenLinks()
    this, other = flows.expect(link("this")), flows.expect(link("other"))
    flows.noticed("this")
    flows.noticed("nobody was asked about it")
    assert (this.is_set(), other.is_set()) == (True, False)
    for id in ("this", "other"):
        flows.forget(link(id))
    assert len(flows) == 0


async def test_a_link_is_finished_once() -> None:
    flows, record = OpenLinks(), Counting()
    flows.opened(link("this"), record)
    for _ in range(2):
        await flows.completed(link("this"))
    assert record.completions == 1


async def test_links_that_nobody_finishes_make_room() -> None:
    flows, records = OpenLinks(), [Counting() for _ in range(65)]
    for number, record in enumerate(records):
        flows.opened(link(str(number)), record)
    for number in range(65):
        await flows.completed(link(str(number)))
    assert [record.completions for record in records] == [0] + 64 * [1]
