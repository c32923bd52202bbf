"""What becomes of a server's questions is in its ledger, on every revision, before the body goes on."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, ErrorData
from tests.client.hosts import host
from tests.ledger.examples import an_event
from tests.server.peers import REVISIONS, Person, accept, connect, runtime_of, text_of
from tests.server.rounds import by_hand
from tests.server.shop import Effects, make_shop
from tests.server.test_question_record import ADA, by_question, events_in, go_on

from handraise import Accepted, Handraise, NotSupported, SqliteStore, ask
from handraise.calls.store import UnfinishedRound
from handraise.desks.scripted import Line
from handraise.errors import Failed, TooManyQuestions
from handraise.forms import Form
from handraise.ledger import EventKind, Ledger, LedgerEvent
from handraise.ledger.ledger import QuestionFate
from handraise.ledger.verify import LedgerVerdict
from handraise.revisions import Revision
from handraise.server.recording import fate_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
URL = "https://mcp.example.com/connect?e=Zk3q"


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(tmp_path / "server.db")
    yield ledger
    await ledger.aclose()


def server(ledger: Any, **options: Any) -> MCPServer:
    made = Handraise(ledger=ledger, **options).install(MCPServer("notes"))

    @made.tool()
    async def greet(greeting: str = "Hello") -> str:
        answer = await ask.text("Who are you?")
        if isinstance(ledger, Ledger) and isinstance(answer, Accepted):
            rows = await ledger.tables.rows(0, 10)
            assert b'"decided"' in rows[-1].body  # it is there before the body has the answer
        return f"{greeting} {answer.or_stop()}"

    @made.tool()
    async def sure() -> str:
        answer = await ask.confirm("Delete it?")
        return type(answer).__name__

    @made.tool()
    async def crash() -> str:
        await ask.text("Who are you?")
        raise ValueError("oh")

    @made.tool()
    async def visit() -> str:
        try:
            await ask.open("Look", URL, wait=False, fallback=None)
        except NotSupported:
            return "no"
        return "yes"

    return made


async def events_of(ledger: Ledger) -> list[LedgerEvent]:
    return [event async for _, event in ledger.events()]


@pytest.mark.shows("G1", "G2", "G5", "G7")
async def test_a_question_is_joined_to_the_call_that_used_its_answer(
    revision: Revision, ledger: Ledger
) -> None:
    async with host(server(ledger), revision, [Line("accept", {"answer": "Ada"})]) as here:
        meta = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        assert text_of(await here.client.call_tool("greet", {"greeting": "Hi"}, meta=meta)) == "Hi Ada"
    asked, decided, used = await events_of(ledger)
    assert [asked.kind, decided.kind, used.kind] == ["asked", "decided", "used"]
    assert len({event.question for event in (asked, decided, used)}) == 1
    assert (decided.action, decided.decided_by) == ("accept", "client"), "no person is as fast as this script"
    assert decided.answer is not None
    assert used.used is not None
    assert (used.used.ended, used.used.request) == ("result", asked.about.request)
    about = asked.about
    assert (about.server.id, about.revision, about.mode) == ("notes", str(revision), "form")
    assert about.request is not None
    assert (about.request.method, about.request.target) == ("tools/call", "greet")
    assert about.principal is not None
    assert about.client is not None
    assert {event.about.trace for event in (asked, decided, used)} == {TRACE}
    assert [(field.name, field.type) for field in asked.fields] == [("answer", "text")]
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND


@pytest.mark.shows("G1", "G7", "O1")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_decline_and_cancel_are_recorded_as_they_are_and_joined_to_no_call(
    revision: Revision, ledger: Ledger, action: str
) -> None:
    async with host(server(ledger), revision, [Line(action)]) as here:
        await here.client.call_tool("greet")
    events = await events_of(ledger)
    assert [event.kind for event in events] == ["asked", "decided"]
    assert events[1].action == action
    assert events[1].answer is None


@pytest.mark.shows("G2", "O9")
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_a_decision_that_is_faster_than_a_person_reads_is_the_clients(
    revision: Revision, tmp_path: Path, action: str
) -> None:
    for seconds, by in {0.01: "client", 0.6: "human"}.items():
        now = [1000.0]
        ledger = Ledger.at(tmp_path / f"{by}.db", clock=lambda now=now: now[0])

        async def decide(
            _params: Any, now: list[float] = now, seconds: float = seconds
        ) -> types.ElicitResult:
            now[0] += seconds
            content = {"answer": "Ada"} if action == "accept" else None
            return types.ElicitResult(action=action, content=content)  # type: ignore[arg-type]

        async with connect(server(ledger), revision, Person(decide)) as client:
            await client.call_tool("greet")
        decided = (await events_of(ledger))[1]
        await ledger.aclose()
        assert (decided.kind, decided.decided_by, decided.latency) == ("decided", by, int(seconds * 1000))


@pytest.mark.shows("O8")
async def test_no_to_a_confirmation_is_an_accept_on_the_wire_and_said_no_in_the_ledger(
    revision: Revision, ledger: Ledger
) -> None:
    async with host(server(ledger), revision, [Line("accept", {"answer": False})]) as here:
        assert text_of(await here.client.call_tool("sure")) == "Declined"
    _asked, decided = await events_of(ledger)  # and no call that used it: a no allows nothing
    assert (decided.action, decided.outcome) == ("accept", "said_no")


@pytest.mark.shows("G7")
async def test_a_call_that_failed_with_the_answer_is_recorded_so(revision: Revision, ledger: Ledger) -> None:
    async with host(server(ledger), revision, [Line("accept", {"answer": "Ada"})]) as here:
        await here.client.call_tool("crash")
    last = (await events_of(ledger))[-1]
    assert last.used is not None
    assert last.used.ended == "error"


async def refuse(handraise: Handraise, writing: bool) -> None:
    """The disk of the ledger takes nothing any more, or again."""
    assert handraise._ledger is not None
    store = handraise._ledger.store
    assert isinstance(store, SqliteStore)
    await store.database.read(lambda db, _: db.execute(f"PRAGMA query_only = {writing}").fetchall())


@pytest.mark.shows("G5")
@pytest.mark.parametrize("shared", [False, True], ids=["in a file of its own", "in the store"])
async def test_a_question_that_cannot_be_recorded_reaches_nobody(
    revision: Revision, tmp_path: Path, shared: bool
) -> None:
    handraise = Handraise(store=tmp_path / "store.db", ledger=True if shared else tmp_path / "ledger.db")
    made = handraise.install(MCPServer("notes"))

    @made.tool()
    async def greet() -> str:
        return str(await ask.text("Who are you?"))

    async with host(made, revision, [Line("accept", {"answer": "Ada"})]) as here:
        await refuse(handraise, True)
        with suppress(MCPError):
            assert (await here.client.call_tool("greet")).is_error
        await refuse(handraise, False)
        assert here.gate.seen == []


@pytest.mark.shows("G5")
@pytest.mark.parametrize("shared", [False, True], ids=["in a file of its own", "in the store"])
async def test_an_answer_that_cannot_be_recorded_does_not_reach_the_body(
    revision: Revision, tmp_path: Path, shared: bool
) -> None:
    path, given = tmp_path / "store.db", []
    handraise = Handraise(store=path, ledger=True if shared else tmp_path / "ledger.db")
    made = handraise.install(MCPServer("notes"))

    @made.tool()
    async def greet() -> str:
        try:
            given.append(await ask.text("Who are you?"))
        finally:
            await refuse(handraise, False)
        return "Hello"

    async with host(made, revision, [Line("accept", {"answer": "Ada"})]) as here:
        decide = here.consent._decide

        async def decided(waiting: Any, recording: Any) -> Any:
            await refuse(handraise, True)
            return await decide(waiting, recording)

        here.consent._decide = decided  # type: ignore[method-assign]
        with suppress(MCPError):
            assert (await here.client.call_tool("greet")).is_error
        await refuse(handraise, False)
    assert given == []
    assert handraise._ledger is not None
    kinds = [event.kind for event in await events_of(handraise._ledger)]
    assert "used" not in kinds, "no call used what it did not get"


@pytest.mark.shows("G1", "O2")
async def test_who_cannot_be_asked_was_not_asked_in_the_ledger(ledger: Ledger) -> None:
    async with host(server(ledger), Revision.JULY_2026, modes=("form",)) as here:
        await here.client.call_tool("visit")
    (failed,) = await events_of(ledger)
    assert failed.kind == "failed"
    assert failed.reasons == ("nobody could be asked", "the author's fallback was used")


@pytest.mark.shows("G1", "O2")
@pytest.mark.parametrize(
    ("revision", "tool", "code", "kinds"),
    [
        (Revision.JUNE_2025, "many", None, ["failed"]),
        (Revision.JUNE_2025, "one", METHOD_NOT_FOUND, ["asked", "failed"]),
        (Revision.NOVEMBER_2025, "one", METHOD_NOT_FOUND, ["asked", "failed"]),
        (Revision.NOVEMBER_2025, "many", INVALID_PARAMS, ["asked", "failed"]),
    ],
)
async def test_a_fallback_also_serves_when_it_turns_out_late_that_nobody_can_be_asked(
    ledger: Ledger, revision: Revision, tool: str, code: int | None, kinds: list[str]
) -> None:
    """2025-06-18 has no multiple choice; and some clients declare that they can be asked, and then say otherwise."""
    made = Handraise(ledger=ledger).install(MCPServer("late"))

    @made.tool()
    async def many() -> str:
        return repr(await ask.choose_many("Which?", ["a", "b"], fallback=["none"]))

    @made.tool()
    async def one() -> str:
        return repr(await ask.text("Which?", fallback=["none"]))

    person = Person() if code is None else Person(ErrorData(code=code, message="no"))
    async with connect(made, revision, person) as client:
        assert text_of(await client.call_tool(tool)) == "Fallback(value=['none'])"
    events = await events_of(ledger)
    assert [event.kind for event in events] == kinds
    assert len({event.question for event in events}) == 1
    assert events[-1].reasons == ("nobody could be asked", "the author's fallback was used")


@pytest.mark.slow
@pytest.mark.shows("G1", "C8")
async def test_a_question_that_nobody_answers_expires_in_the_ledger(
    revision: Revision, ledger: Ledger
) -> None:
    async with host(server(ledger, timeout=0.05), revision, [Line("leave")]) as here:
        try:
            await here.client.call_tool("greet")
        except Exception:
            assert revision.modern
    kinds = [event.kind for event in await events_of(ledger)]
    assert kinds[0] == "asked"
    assert "expired" in kinds


@pytest.mark.shows("G1")
async def test_a_link_is_recorded_when_it_is_opened(ledger: Ledger) -> None:
    async with host(server(ledger), Revision.JULY_2026, [Line("accept")]) as here:
        assert text_of(await here.client.call_tool("visit")) == "yes"
    events = await events_of(ledger)
    assert [event.kind for event in events] == ["asked", "decided", "opened", "used"]
    assert events[2].link is not None
    assert events[2].link.domain == "example.com"


@pytest.mark.shows("C10")
async def test_an_answer_that_came_with_the_call_is_recorded_as_never_shown(ledger: Ledger) -> None:
    made = Handraise(ledger=ledger).install(MCPServer("notes"))

    @made.tool()
    async def name() -> str:
        return str(
            (await ask("Who?", Form.of(str, name="answer"), key="who", unsafe_preanswer=True)).or_stop()
        )

    given = {"who": {"action": "accept", "content": {"answer": "Ada"}}}
    async with host(made, Revision.JULY_2026) as here:
        session = here.client.session
        result = await session.call_tool("name", {}, input_responses=given)
        assert text_of(result) == "Ada"
    decided = (await events_of(ledger))[0]
    assert decided.kind == "decided"
    assert decided.reasons == ("it came with the call and was never shown",)
    assert decided.decided_by == "client"


async def test_a_store_and_its_ledger_can_be_one_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    made = Handraise(store=path, ledger=True).install(MCPServer("notes"))

    @made.tool()
    async def greet() -> str:
        return str((await ask.text("Who are you?")).or_stop())

    async with host(made, Revision.JULY_2026, [Line("accept", {"answer": "Ada"})]) as here:
        assert text_of(await here.client.call_tool("greet")) == "Ada"
    ledger = Ledger.at(path)
    assert [event.kind for event in await events_of(ledger)] == ["asked", "decided", "used"]
    report = await ledger.verify()
    assert (report.verdict, report.checkpoints) == (LedgerVerdict.SOUND, 1)
    await ledger.aclose()


async def test_the_environment_names_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "named.db"
    monkeypatch.setenv("HANDRAISE_LEDGER", str(path))
    async with host(server(None), Revision.JULY_2026, [Line("decline")]) as here:
        await here.client.call_tool("greet")
    ledger = Ledger.at(path)
    assert [event.kind for event in await events_of(ledger)] == ["asked", "decided"]
    await ledger.aclose()


def test_without_a_word_about_it_there_is_no_ledger() -> None:
    assert Handraise()._ledger is None
    assert Handraise(ledger=False)._ledger is None


@pytest.mark.shows("G1", "G7")
async def test_a_question_too_many_is_refused_in_the_ledger(revision: Revision, ledger: Ledger) -> None:
    made = Handraise(ledger=ledger, max_questions=1).install(MCPServer("notes"))

    @made.tool()
    async def nag() -> str:
        await ask.text("Who are you?")
        await ask.text("Who are you really?")
        return "done"

    async with host(made, revision, [Line("accept", {"answer": "Ada"})]) as here:
        assert (await here.client.call_tool("nag")).is_error
    refused = [event for event in await events_of(ledger) if event.kind == "refused"]
    assert [(event.decided_by, event.action) for event in refused] == [("policy", None)]
    assert refused[0].reasons == (TooManyQuestions.public,)


@pytest.mark.shows("G1", "O2")
@pytest.mark.parametrize("legacy", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)
async def test_a_client_that_answers_with_an_error_leaves_a_failed_question(
    legacy: Revision, ledger: Ledger
) -> None:
    person = Person(ErrorData(code=-1, message="I broke."))
    async with connect(server(ledger), legacy, person) as client:
        assert (await client.call_tool("greet")).is_error
    asked, failed = await events_of(ledger)
    assert (asked.kind, failed.kind, failed.reasons) == ("asked", "failed", (Failed.public,))


@pytest.mark.shows("G2")
async def test_what_is_asked_again_is_recorded_in_the_words_that_were_shown(
    revision: Revision, tmp_path: Path
) -> None:
    ledger = Ledger.at(tmp_path / "kept.db", keeping="message")
    person = Person(accept(answer=7), accept(answer=3))
    made = Handraise(ledger=ledger).install(MCPServer("notes"))

    @made.tool()
    async def nights() -> str:
        return str((await ask.number("How many nights?", maximum=5)).or_stop())

    async with connect(made, revision, person) as client:
        assert text_of(await client.call_tool("nights")) == "3"
    asked = [event for event in await events_of(ledger) if event.kind == "asked"]
    assert [await ledger.contents(event) for event in asked] == [{"message": m} for m in person.messages]
    assert len(set(person.messages)) == 2
    await ledger.aclose()


DAYS = 4 * 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@pytest.mark.shows("G1")
@pytest.mark.parametrize(
    ("kind", "handler", "deadline", "fate"),
    [
        ("asked", "replayed", 101, "waits"),
        ("asked", "replayed", 100, "expired"),
        ("decided", "replayed", 100, "waits"),
        ("opened", "replayed", 101, "waits"),
        ("asked", None, 101, "ambiguous"),
        ("decided", "gone from the code", 101, "ambiguous"),
    ],
)
def test_what_became_of_a_question_is_told_by_its_round(
    monkeypatch: pytest.MonkeyPatch, kind: EventKind, handler: str | None, deadline: float, fate: QuestionFate
) -> None:
    monkeypatch.setattr("handraise.server.replay._DECLARED", {"replayed"})
    assert fate_of(an_event(kind), UnfinishedRound("c", handler, deadline), 100) == fate
    assert fate_of(an_event(kind), None, 100) == "ambiguous"


async def left_parked(tmp_path: Path, path: Path, effects: Effects) -> None:
    """A process that ends while a question waits in its own store, with its events in a ledger of many."""
    async with by_hand(make_shop(tmp_path / "first.db", effects, ledger=path)) as rounds:
        await rounds.call("order", ADA)


@pytest.mark.shows("G1")
@pytest.mark.parametrize("other", ["second.db", None], ids=["another store", "no store"])
async def test_a_question_in_another_store_is_left_to_those_who_have_it(
    tmp_path: Path, path: Path, effects: Effects, other: str | None
) -> None:
    await left_parked(tmp_path, path, effects)
    async with by_hand(make_shop(other and tmp_path / other, effects, ledger=path)):
        assert by_question(await events_in(path)) == [["asked"]]
    later = SqliteStore(tmp_path / "first.db")
    later.now = lambda: time.time() + DAYS
    async with by_hand(make_shop(later, effects, ledger=path)):
        assert by_question(await events_in(path)) == [["asked", "expired"]]
    await later.aclose()


@pytest.mark.shows("G1")
async def test_a_question_in_a_store_is_not_for_a_host_to_end(
    tmp_path: Path, path: Path, effects: Effects
) -> None:
    await left_parked(tmp_path, path, effects)
    ledger = Ledger.at(path)
    assert await ledger.start() == 0
    await ledger.aclose()
    assert by_question(await events_in(path)) == [["asked"]]


@pytest.mark.shows("G1")
@pytest.mark.parametrize("shared", [True, False], ids=["in the store", "in a file of its own"])
async def test_a_question_whose_body_was_let_go_expires_while_its_process_lives(
    tmp_path: Path, effects: Effects, shared: bool
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    ledger: Any = Ledger.of(store) if shared else Ledger.at(tmp_path / "ledger.db")
    server = make_shop(store, effects, ledger=ledger, resume="replay")
    async with by_hand(server) as rounds:
        first = await rounds.call("order", ADA)
        await go_on(rounds, first, answer="tea")
        recorder = runtime_of(server).recorder
        assert recorder is not None
        await recorder.start()
        kinds = [
            [e.kind async for _, e in ledger.events() if e.question == q] for q in await asked_in(ledger)
        ]
        assert kinds == [["asked", "decided"], ["asked"]]
        store.now = lambda: time.time() + DAYS
        for _ in range(2):
            await recorder.start()
        kinds = [
            [e.kind async for _, e in ledger.events() if e.question == q] for q in await asked_in(ledger)
        ]
        assert kinds == [["asked", "decided", "used"], ["asked", "expired"]]
        assert [e.used.ended async for _, e in ledger.events() if e.used] == ["cancelled"]
        assert await store.pending() == []
    if not shared:
        await ledger.aclose()
    await store.aclose()


async def asked_in(ledger: Ledger) -> list[str]:
    return [event.question async for _, event in ledger.events() if event.kind == "asked"]
