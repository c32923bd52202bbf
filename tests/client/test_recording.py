"""What becomes of a host's questions is in the ledger before their answers leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequestURLParams, ErrorData, Implementation
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span
from tests.client.hosts import ADA, NOTES, OpenGate, host
from tests.waiting import until

from handraise import Handraise, ask
from handraise.client import Consent
from handraise.client.calls import CALL, HostCall
from handraise.client.consent_client import finish_in_browser
from handraise.client.recording import MOST_REFUSALS, Circumstances, HostRecorder, Refusals
from handraise.desks import Decision, Queue
from handraise.desks.scripted import Line
from handraise.errors import StoreError
from handraise.forms import Flag, Form, Text
from handraise.ledger import Ledger, LedgerEvent
from handraise.ledger.events import ClientRecord
from handraise.ledger.verify import LedgerVerdict
from handraise.policy import PolicyRuling
from handraise.questions import (
    Accepted,
    Cancelled,
    Declined,
    FormQuestion,
    Origin,
    Person,
    Question,
    UrlQuestion,
)
from handraise.revisions import Revision

FORM = FormQuestion("Who are you?", Form.by_hand(Text("name", default="Bob")))
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
LINK = UrlQuestion("Sign in, please.", "https://mcp.example.com/connect?e=Zk3q", "flow")
ANSWER = Decision(Accepted({"name": "Ada"}), edited=("name",))


class Clock:
    """Long enough after everything for a person to have read it."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "ledger.db")
    yield ledger
    await ledger.aclose()


def consent_with(ledger: Ledger | None, gate: OpenGate | None = None, **options: Any) -> Consent:
    return Consent(
        Queue(Clock()),
        origin=NOTES,
        person=ADA,
        gate=gate or OpenGate(),
        ledger=ledger,
        policy_version="p1",
        **options,
    )


async def asked(consent: Consent, question: Question, *decisions: Decision, show: bool = True) -> Decision:
    """Ask, and decide at a desk as a person would. What is never asked ends it too."""
    asking = asyncio.ensure_future(consent.ask(question, Revision.JULY_2026))
    desk = asyncio.ensure_future(_decide(consent.queue, list(decisions), show))
    try:
        return await asyncio.wait_for(asking, 10)
    finally:
        desk.cancel()
        await asyncio.gather(desk, return_exceptions=True)


async def _decide(queue: Any, decisions: list[Decision], show: bool) -> None:
    async for waiting in queue.changes():
        for each in waiting:
            if show:
                queue.show(each.id)
            if decisions:
                queue.decide(each.id, decisions.pop(0))


async def events_of(ledger: Ledger) -> list[LedgerEvent]:
    await asyncio.gather(*ledger._soon)
    return [event async for _, event in ledger.events()]


@pytest.mark.shows("G1", "G2", "G5")
async def test_an_accepted_question_leaves_asked_shown_and_decided(ledger: Ledger) -> None:
    before = CALL.set(HostCall("greet", {"greeting": "Hi"}))
    try:
        assert await asked(consent_with(ledger), FORM, ANSWER) == ANSWER
    finally:
        CALL.reset(before)
    first, shown, decided = await events_of(ledger)
    assert [first.kind, shown.kind, decided.kind] == ["asked", "shown", "decided"]
    assert len({event.question for event in (first, shown, decided)}) == 1
    about = decided.about
    assert (about.server.id, about.server.target, about.server.claims) == (
        "notes",
        "python notes.py",
        "Notes Server 1.0",
    )
    assert (about.principal, about.mode, about.revision, about.policy) == (
        about.principal,
        "form",
        "2026-07-28",
        "p1",
    )
    assert about.principal is not None
    assert about.principal.key == ADA.key
    assert about.request is not None
    assert (about.request.method, about.request.target) == ("tools/call", "greet")
    assert (decided.action, decided.decided_by, decided.edited) == ("accept", "human", ("name",))
    assert decided.answer is not None
    assert [field.name for field in first.fields] == ["name"]
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND


@pytest.mark.shows("G1", "O1")
@pytest.mark.parametrize(
    ("decision", "action", "by"),
    [
        (Decision(Declined()), "decline", "human"),
        (Decision(Cancelled()), "cancel", "human"),
        (Decision(Cancelled(), by="policy", reason="Nobody is here."), "cancel", "policy"),
    ],
)
async def test_every_decision_is_recorded_as_what_it_was(
    ledger: Ledger, decision: Decision, action: str, by: str
) -> None:
    await asked(consent_with(ledger), FORM, decision, show=False)
    first, decided = await events_of(ledger)
    assert first.kind == "asked"  # and nothing was shown
    assert (decided.kind, decided.action, decided.decided_by) == ("decided", action, by)
    assert decided.answer is None
    assert decided.reasons == ((decision.reason,) if decision.reason else ())


@pytest.mark.shows("O8")
async def test_no_to_a_confirmation_is_recorded_as_said_no(ledger: Ledger) -> None:
    confirmation = FormQuestion("Delete 47 files?", Form.by_hand(Flag("answer")))
    for answer in (False, True):
        await asked(consent_with(ledger), confirmation, Decision(Accepted({"answer": answer})))
    decided = [event for event in await events_of(ledger) if event.kind == "decided"]
    assert [event.outcome for event in decided] == ["said_no", "accept"]


@pytest.mark.shows("G7", "O2")
async def test_a_refusal_is_recorded_with_its_reasons_and_was_never_asked(ledger: Ledger) -> None:
    gate = OpenGate(PolicyRuling("refuse", ("You blocked this server.",)))
    await consent_with(ledger, gate).ask(FORM, Revision.JULY_2026)
    (refused,) = await events_of(ledger)
    assert (refused.kind, refused.decided_by) == ("refused", "policy")
    assert refused.reasons == ("You blocked this server.",)
    assert refused.message is not None


REFUSING = PolicyRuling("refuse", ("You blocked this server.",))


def numbers(events: list[LedgerEvent]) -> list[int]:
    return [event.count for event in events if event.count is not None]


@pytest.mark.shows("G7", "D6")
async def test_thousands_of_refusals_are_a_few_events_and_their_number(ledger: Ledger) -> None:
    consent = consent_with(ledger, OpenGate(REFUSING))
    for _ in range(1500):
        await consent.ask(FORM, Revision.JULY_2026)
        await consent.unreadable(Revision.JULY_2026, "it breaks the rule bytes")
    await consent.aclose()
    events = await events_of(ledger)
    assert {event.kind for event in events} == {"refused"}
    assert len(events) == MOST_REFUSALS + 1
    assert numbers(events) == [3000 - MOST_REFUSALS]
    assert "are counted, with one event a minute" in events[MOST_REFUSALS - 1].reasons[-1]
    assert events[-1].reasons[0] == f"{3000 - MOST_REFUSALS:,} more questions of this server were refused"
    assert set(events[-1].reasons[1:]) == {"You blocked this server.", "it breaks the rule bytes"}


@pytest.mark.slow
@pytest.mark.shows("G7")
async def test_the_number_of_refusals_is_recorded_when_the_minute_is_over(ledger: Ledger) -> None:
    refusals = Refusals(ledger, most=2, period=1.0)
    about = Circumstances(NOTES, ADA, None).about()

    async def refuse(many: int) -> None:
        for _ in range(many):
            trail = ledger.trail(ledger.new_question(), about, None)
            await refusals.record(about, trail.refused, ("no",))

    async def numbered(many: int) -> list[int | None]:
        """The numbers of all events, once so many of them have one."""
        async with asyncio.timeout(60):
            while len(numbers(found := await events_of(ledger))) < many:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return [event.count for event in found]

    await refuse(5)
    assert await numbered(1) == [None, None, 3]
    await refuse(4)  # it goes on, so that none has an event of its own
    assert await numbered(2) == [None, None, 3, 4]
    async with asyncio.timeout(60):
        await until(lambda: not refusals.is_counting)
    await refuse(1)  # after a minute without any
    assert [event.count for event in await events_of(ledger)] == [None, None, 3, 4, None]
    await refusals.aclose()


@pytest.mark.shows("G7")
async def test_refusals_of_different_servers_and_people_are_counted_apart(ledger: Ledger) -> None:
    recorder = HostRecorder(ledger)
    for name in ("notes", "mail"):
        for person in (ADA, Person("https://id.example", "bob", "token")):
            around = Circumstances(Origin(name, "stdio"), person, None)
            for _ in range(MOST_REFUSALS + 3):
                await recorder.unreadable(around, "no")
    await recorder.aclose()
    events = await events_of(ledger)
    assert numbers(events) == [3] * 4
    assert len({(event.about.server.id, event.about.principal) for event in events if event.count}) == 4


@pytest.mark.shows("G1", "O2")
async def test_a_question_that_nobody_answers_in_time_expires_in_the_ledger(ledger: Ledger) -> None:
    decision = await consent_with(ledger, timeout=0.01).ask(FORM, Revision.JULY_2026)
    assert decision.by == "timeout"
    assert [event.kind for event in await events_of(ledger)] == ["asked", "expired"]


@pytest.mark.shows("G1", "O7")
async def test_a_question_whose_asker_goes_away_is_withdrawn_in_the_ledger(ledger: Ledger) -> None:
    consent = consent_with(ledger)
    queue = consent.queue
    assert isinstance(queue, Queue)
    asking = asyncio.ensure_future(consent.ask(FORM, Revision.JULY_2026))
    async for waiting in queue.changes():
        if waiting:
            queue.show(waiting[0].id)
            break
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert [event.kind for event in await events_of(ledger)] == ["asked", "shown", "withdrawn"]


@pytest.mark.shows("G1", "O7")
async def test_a_question_whose_asker_goes_away_while_it_is_written_down_has_an_end_too(
    ledger: Ledger,
) -> None:
    asking = asyncio.ensure_future(consent_with(ledger).ask(FORM, Revision.JULY_2026))
    for _ in range(3):
        await asyncio.sleep(0)  # the event is on its way to the disk
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert (await events_of(ledger))[-1].kind == "withdrawn"


@pytest.mark.shows("G1", "O2")
async def test_a_question_that_could_not_be_shown_has_failed_in_the_ledger(ledger: Ledger) -> None:
    consent = consent_with(ledger)

    async def broken(waiting: Any) -> Decision:
        raise RuntimeError("the desk fell over")

    consent.queue.put = broken  # type: ignore[method-assign]
    assert (await consent.ask(FORM, Revision.JULY_2026)).answer == Cancelled()
    asked, failed = await events_of(ledger)
    assert (asked.kind, failed.kind, failed.reasons) == ("asked", "failed", ("it could not be shown",))


@pytest.mark.shows("G1", "G2")
async def test_a_link_is_opened_and_completed_in_the_ledger_without_its_parameters(ledger: Ledger) -> None:
    consent = consent_with(ledger)
    await asked(consent, LINK, Decision(Accepted(None)))

    async def notice() -> None:
        return None

    assert await finish_in_browser(consent, LINK, notice())
    events = await events_of(ledger)
    assert [event.kind for event in events] == ["asked", "shown", "decided", "opened", "completed"]
    assert events[3].link is not None
    assert (events[3].link.domain, events[3].link.host) == ("example.com", "mcp.example.com")
    assert not any(b"Zk3q" in row.body for row in await ledger.tables.rows(0, 99))


async def test_the_persons_own_word_completes_a_link_too(ledger: Ledger) -> None:
    consent = consent_with(ledger)
    await asked(consent, LINK, Decision(Accepted(None)))
    queue = consent.queue
    assert isinstance(queue, Queue)
    waiting = asyncio.ensure_future(consent.wait_in_browser(LINK))
    async for offered in queue.changes():
        if offered:
            queue.show(offered[0].id)
            queue.decide(offered[0].id, Decision(Accepted(None)))
            break
    assert await waiting
    assert [event.kind for event in await events_of(ledger)][-1] == "completed"


@pytest.mark.shows("G5")
@pytest.mark.parametrize("fails_at", [1, 2, 3])
async def test_an_answer_that_cannot_be_recorded_does_not_leave(ledger: Ledger, fails_at: int) -> None:
    write: Any = ledger.tables.record
    calls = 0

    async def fail(records: Any) -> None:
        nonlocal calls
        calls += 1
        if calls >= fails_at:
            raise StoreError("the disk is full")
        await write(records)

    ledger.tables.record = fail  # type: ignore[method-assign]
    consent = consent_with(ledger)
    if fails_at == 1:
        decision = await consent.ask(FORM, Revision.JULY_2026)
    else:
        decision = await asked(consent, FORM, ANSWER)
    ledger.tables.record = write  # type: ignore[method-assign]
    assert decision.answer == Cancelled()
    assert decision.by == "agent"


async def test_a_host_without_a_ledger_records_nothing() -> None:
    assert await asked(consent_with(None), FORM, ANSWER) == ANSWER


@pytest.mark.shows("G2")
@pytest.mark.parametrize("revision", list(Revision), ids=str)
async def test_what_a_server_calls_itself_is_recorded_as_its_claim(
    ledger: Ledger, revision: Revision
) -> None:
    server = Handraise().install(MCPServer("Totally The Bank", version="9.1"))

    @server.tool()
    async def greet() -> str:
        return str((await ask.text("Who?")).or_stop())

    bank, script = Origin("notes", "python notes.py"), [Line("accept", {"answer": "Ada"})]
    async with host(server, revision, script, ledger=ledger, origin=bank) as here:
        await here.client.call_tool("greet")
    asked = (await events_of(ledger))[0]
    assert (asked.about.server.id, asked.about.server.claims) == ("notes", "Totally The Bank 9.1")


def greeter() -> MCPServer:
    server = Handraise().install(MCPServer("notes"))

    @server.tool()
    async def greet() -> str:
        return str((await ask.text("Who?")).or_stop())

    return server


@pytest.mark.shows("G2")
@pytest.mark.parametrize("revision", list(Revision), ids=str)
async def test_the_host_and_the_trace_of_its_request_are_recorded(ledger: Ledger, revision: Revision) -> None:
    script, chat = [Line("accept", {"answer": "Ada"})], Implementation(name="chat", version="3.2")
    async with host(greeter(), revision, script, ledger=ledger, client_info=chat) as here:
        await here.client.call_tool("greet", meta={"traceparent": PARENT})
    for event in await events_of(ledger):
        assert event.about.trace == TRACE
        assert event.about.client is not None
        assert (event.about.client.name, event.about.client.version) == ("chat", "3.2")


@pytest.mark.shows("G2")
async def test_which_prompt_or_resource_asked_is_recorded(ledger: Ledger) -> None:
    server = Handraise().install(MCPServer("notes"))

    @server.prompt()
    async def letter() -> str:
        return str((await ask.text("To whom?")).or_stop())

    @server.resource("note://{title}")
    async def note(title: str) -> str:
        return f"{title} {(await ask.text('Whose?')).or_stop()}"

    script = [Line("accept", {"answer": "Ada"}), Line("accept", {"answer": "Ada"})]
    async with host(server, Revision.JULY_2026, script, ledger=ledger) as here:
        await here.client.get_prompt("letter", meta={"traceparent": PARENT})
        await here.client.read_resource("note://plan", meta={"traceparent": PARENT})
    asked = [event.about for event in await events_of(ledger) if event.kind == "asked"]
    requests = [(about.request.method, about.request.target) for about in asked if about.request]
    assert requests == [("prompts/get", "letter"), ("resources/read", "note://plan")]
    assert [about.trace for about in asked] == [TRACE, TRACE]


@pytest.mark.shows("G2")
async def test_the_span_in_which_a_host_calls_is_the_trace_that_the_server_is_told(ledger: Ledger) -> None:
    script = [Line("accept", {"answer": "Ada"})]
    span = NonRecordingSpan(SpanContext(int(TRACE, 16), 1, is_remote=False, trace_flags=TraceFlags(1)))
    other = {"traceparent": PARENT.replace("4bf92f", "000000")}
    async with host(greeter(), Revision.JULY_2026, script, ledger=ledger) as here:
        with use_span(span):
            await here.client.call_tool("greet", meta=other)
    assert {event.about.trace for event in await events_of(ledger)} == {TRACE}


@pytest.mark.shows("G1", "G2")
async def test_what_cannot_be_read_is_recorded_with_all_that_is_known_around_it(ledger: Ledger) -> None:
    consent = consent_with(ledger, gateway="gate", modes=["form"])
    consent.client = ClientRecord("chat", "3.2")
    before = CALL.set(HostCall("greet", {}, trace=TRACE))
    try:
        context = SimpleNamespace(session=SimpleNamespace(protocol_version="2025-11-25"))
        params = ElicitRequestURLParams(mode="url", message="Look.", url=LINK.url, elicitation_id="e")
        assert isinstance(await consent(context, params), ErrorData)
    finally:
        CALL.reset(before)
    (refused,) = await events_of(ledger)
    assert refused.reasons == ("url mode was not declared",)
    about = refused.about
    assert (about.client, about.policy, about.gateway, about.trace) == (consent.client, "p1", "gate", TRACE)
    assert (about.server.id, about.revision) == ("notes", "2025-11-25")
