"""A question of a server is recorded once, under one id, however often and wherever its body runs."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitResult
from tests.client.hosts import host
from tests.ledger.examples import ABOUT
from tests.server.peers import REVISIONS, connect, runtime_of, text_of
from tests.server.rounds import Rounds, accepted, by_hand
from tests.server.shop import Effects, make_shop

from handraise import Handraise, SqliteStore, ask, complete, replayable
from handraise.calls.store import RoundOutcome
from handraise.desks.scripted import Line
from handraise.errors import StoreError
from handraise.ledger import Ledger, LedgerEvent
from handraise.ledger.trail import Trail
from handraise.ledger.verify import LedgerVerdict
from handraise.pages import Pages, SecretField, SecretPage
from handraise.pages import VisitReason as PageAbout
from handraise.pages.entry_pages import ONE
from handraise.questions import Person
from handraise.revisions import Revision
from handraise.server.question_record import decision_of, question_id, stem_of, stem_of_question

ADA = {"customer": "Ada"}
ANSWERED = ["asked", "decided", "used"]


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


async def events_in(path: Path) -> list[LedgerEvent]:
    ledger = Ledger.at(path)
    try:
        assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
        return [event async for _, event in ledger.events()]
    finally:
        await ledger.aclose()


def by_question(events: list[LedgerEvent]) -> list[list[str]]:
    kinds: dict[str, list[str]] = {}
    for event in events:
        kinds.setdefault(event.question, []).append(event.kind)
    return list(kinds.values())


async def go_on(rounds: Rounds, before: dict[str, Any], **content: Any) -> dict[str, Any]:
    return await rounds.call(
        "order", ADA, state=before["requestState"], responses=accepted(before, **content)
    )


def test_the_id_of_a_question_tells_its_call_and_nothing_else() -> None:
    ids = [question_id("c", "key", 0), question_id("c", "key", 1), question_id("c", "other", 0)]
    assert len(set(ids)) == 3
    assert {stem_of_question(question) for question in ids} == {stem_of("c")}
    assert stem_of("d") != stem_of("c")


@pytest.mark.shows("G5")
async def test_asking_commits_with_the_round_and_deciding_with_its_use(path: Path) -> None:
    store = SqliteStore(path)
    server = Handraise(store=store, ledger=Ledger(store, keys=Ledger.at(path).keys)).install(
        MCPServer("notes")
    )

    @server.tool()
    async def order(customer: str) -> str:
        return str((await ask.text("What shall it be?")).or_stop())

    statements: list[str] = []
    await store.database.read(lambda db, _: db.set_trace_callback(statements.append))
    async with by_hand(server) as rounds:
        await go_on(rounds, await rounds.call("order", ADA), answer="tea")
    transactions = "\n".join(statements).split("COMMIT")
    for change in ("INSERT INTO rounds", "UPDATE rounds SET digest"):
        (transaction,) = [each for each in transactions if change in each]
        assert transaction.count("INSERT INTO events") == 1
    await store.aclose()
    assert [event.kind for event in await events_in(path)] == ANSWERED


@pytest.mark.shows("G1", "G5", "C6")
@pytest.mark.parametrize("apart", [False, True], ids=["in the store", "in a file of its own"])
async def test_a_body_that_runs_again_in_other_processes_leaves_every_event_once(
    path: Path, effects: Effects, apart: bool
) -> None:
    kept = path.with_name("ledger.db") if apart else path

    def shop() -> MCPServer:
        return make_shop(path, effects, ledger=str(kept) if apart else True)

    async with by_hand(shop()) as rounds:
        first = await rounds.call("order", ADA)
    async with by_hand(shop()) as rounds:
        second = await go_on(rounds, first, answer="tea")
    async with by_hand(shop()) as rounds:
        last = await go_on(rounds, second, answer=True)
    async with by_hand(shop()) as rounds:
        assert await go_on(rounds, second, answer=True) == last
    assert effects().count("run") == 3
    events = await events_in(kept)
    assert by_question(events) == [ANSWERED, ANSWERED]
    assert len({event.id for event in events}) == 6


@pytest.mark.shows("G5", "C6")
async def test_what_another_process_can_go_on_with_is_not_ambiguous(path: Path, effects: Effects) -> None:
    store = SqliteStore(path)
    killed = make_shop(store, effects, ledger=Ledger(store, keys=Ledger.at(path).keys))

    @killed.tool()
    async def forgetful() -> str:
        return str((await ask.text("Once only?")).or_stop())

    async with by_hand(killed) as rounds:
        first = await rounds.call("order", ADA)
        await rounds.call("forgetful", {})
        _die(store)
        async with by_hand(make_shop(path, effects, ledger=True)) as there:
            await go_on(there, await go_on(there, first, answer="tea"), answer=True)
    events = await events_in(path)
    assert by_question(events)[0] == ANSWERED
    (ambiguous,) = [event for event in events if event.kind == "ambiguous"]
    assert ambiguous.about.request is not None
    assert ambiguous.about.request.target == "forgetful"


@pytest.mark.shows("G5", "C6")
async def test_an_answer_that_another_process_can_go_on_with_is_not_ambiguous(path: Path) -> None:
    reached, goes_on = asyncio.Event(), asyncio.Event()

    def made(store: Any, ledger: Any) -> MCPServer:
        handraise = Handraise(store=store, ledger=ledger)
        options = handraise._options
        calls = dataclasses.replace(options.calls, lease=0.05)
        handraise._options = dataclasses.replace(options, calls=calls)
        server = handraise.install(MCPServer("shop"))

        @server.tool()
        @replayable
        async def order(customer: str) -> str:
            item = (await ask.text("What shall it be?")).or_stop()
            reached.set()
            await goes_on.wait()
            return str(item)

        return server

    store = SqliteStore(path)
    async with by_hand(made(store, Ledger(store, keys=Ledger.at(path).keys))) as rounds:
        first = await rounds.call("order", ADA)
        retry = asyncio.ensure_future(go_on(rounds, first, answer="tea"))
        await asyncio.wait_for(reached.wait(), 5)
        _die(store)
        async with by_hand(made(path, True)) as there:
            assert by_question(await events_in(path)) == [ANSWERED[:2]]
            goes_on.set()
            await go_on(there, first, answer="tea")
        await retry
    assert by_question(await events_in(path)) == [ANSWERED]


@pytest.mark.shows("G1")
async def test_a_question_that_was_parked_and_that_nobody_returns_to_expires(
    path: Path, effects: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = Ledger.at(path).keys
    for _ in range(2):
        store = SqliteStore(path)
        async with by_hand(make_shop(store, effects, ledger=Ledger(store, keys=keys))) as rounds:
            if not effects():
                await rounds.call("order", ADA)
        await store.aclose()
        assert by_question(await events_in(path)) == [["asked"]]
    later, days = SqliteStore(path), 4 * 86_400
    monkeypatch.setattr(later, "now", lambda: time.time() + days)
    ledger = Ledger(later, keys=keys, clock=lambda: time.time() + days)
    async with by_hand(make_shop(later, effects, ledger=ledger)):
        events = await events_in(path)
    assert by_question(events) == [["asked", "expired"]]
    assert events[-1].latency is not None
    assert events[-1].latency >= days * 1000
    await later.aclose()


@pytest.mark.shows("G1", "G5")
@pytest.mark.parametrize("apart", [False, True], ids=["in the store", "in a file of its own"])
async def test_an_end_that_is_told_again_after_a_crash_is_recorded_once(
    path: Path, effects: Effects, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = path.with_name("ledger.db") if apart else path
    store = SqliteStore(path)
    settle = store.settle

    async def fail(token: str, outcome: RoundOutcome, **more: Any) -> None:
        if outcome.kind != "round":
            raise StoreError("the process ends here")
        await settle(token, outcome, **more)

    monkeypatch.setattr(store, "settle", fail)
    ledger = Ledger.at(kept) if apart else Ledger(store, keys=Ledger.at(path).keys)
    async with by_hand(make_shop(store, effects, ledger=ledger)) as rounds:
        second = await go_on(rounds, await rounds.call("order", ADA), answer="tea")
        await go_on(rounds, second, answer=True)
    await ledger.aclose()
    assert by_question(await events_in(kept)) == [ANSWERED, ANSWERED]
    again = make_shop(path, effects, ledger=str(kept) if apart else True, lease=0.05)
    async with by_hand(again) as rounds:
        await go_on(rounds, second, answer=True)
    assert effects().count("run") == 2
    assert by_question(await events_in(kept)) == [ANSWERED, ANSWERED]


@pytest.mark.shows("G1")
@pytest.mark.parametrize("restarts", [False, True])
async def test_two_links_under_one_key_are_two_questions(path: Path, restarts: bool) -> None:
    def made() -> MCPServer:
        server = Handraise(store=path, ledger=True).install(MCPServer("notes"))

        @server.tool()
        @replayable
        async def visit() -> str:
            for page in ("one", "two"):
                await ask.open("Look", f"https://mcp.example.com/{page}", key="link", wait=False)
            return "seen"

        return server

    async with AsyncExitStack() as stack:
        rounds = await stack.enter_async_context(by_hand(made()))
        result = await rounds.call("visit", {})
        while "requestState" in result:
            if restarts:
                await stack.aclose()
                rounds = await stack.enter_async_context(by_hand(made()))
            answer = {"link": {"action": "accept"}}
            result = await rounds.call("visit", {}, state=result["requestState"], responses=answer)
    steps = ["asked", "decided", "opened", "used"]
    assert by_question(await events_in(path)) == [steps, steps]


def _die(store: SqliteStore) -> None:
    """What the operating system does to the locks of a process that is killed."""
    presence = store.ledger._presence
    assert presence._handle is not None
    os.close(presence._handle)
    presence._handle = None


async def test_an_answer_that_cannot_be_used_is_a_question_of_its_own(
    revision: Revision, tmp_path: Path
) -> None:
    server = Handraise(ledger=tmp_path / "ledger.db").install(MCPServer("notes"))

    @server.tool()
    async def greet() -> str:
        return str((await ask.text("Who?", check=lambda name: name != "Bob" or "not Bob")).or_stop())

    answers = [Line("accept", {"answer": "Bob"}), Line("accept", {"answer": "Ada"})]
    async with host(server, revision, answers) as here:
        await here.client.call_tool("greet")
    events = await events_in(tmp_path / "ledger.db")
    assert by_question(events) == [["asked", "decided", "failed"], ANSWERED]
    assert all("not Bob" not in reason for event in events for reason in event.reasons)


@pytest.mark.shows("G7")
async def test_prompts_and_resources_use_answers_too(revision: Revision, tmp_path: Path) -> None:
    server = Handraise(ledger=tmp_path / "ledger.db").install(MCPServer("notes"))

    @server.prompt()
    async def summary() -> str:
        return str((await ask.text("Of what?")).or_stop())

    @server.resource("note://{name}")
    async def note(name: str) -> str:
        return str((await ask.text(f"Read {name}?")).or_stop())

    answers = [Line("accept", {"answer": "all"}), Line("accept", {"answer": "yes"})]
    async with host(server, revision, answers) as here:
        await here.client.get_prompt("summary")
        await here.client.read_resource("note://plan")
    events = await events_in(tmp_path / "ledger.db")
    assert by_question(events) == [ANSWERED, ANSWERED]
    used = [event.used.request for event in events if event.used is not None]
    assert [(request.method, request.target) for request in used] == [
        ("prompts/get", "summary"),
        ("resources/read", "note://plan"),
    ]


@pytest.mark.shows("G1")
@pytest.mark.parametrize("revision", [r for r in REVISIONS if r.url_mode], ids=str, indirect=True)
async def test_what_a_link_led_to_is_recorded_when_it_is_finished(revision: Revision, tmp_path: Path) -> None:
    server = Handraise(ledger=tmp_path / "ledger.db").install(MCPServer("notes"))
    askers: list[Person] = []

    @server.tool()
    async def visit() -> str:
        askers.append(ask.person())
        return type(await ask.open("Look", "https://mcp.example.com/x", "flow")).__name__

    async def finish(_context: Any, _params: Any) -> ElicitResult:
        await complete("flow", person=askers[-1])
        return ElicitResult(action="accept")

    async with connect(server, revision, finish) as client:
        assert text_of(await client.call_tool("visit")) == "Accepted"
    kinds = [event.kind for event in await events_in(tmp_path / "ledger.db")]
    assert kinds == ["asked", "decided", "opened", "completed", "used"]


@pytest.mark.shows("G2", "L12")
@pytest.mark.parametrize("revision", [r for r in REVISIONS if r.url_mode], ids=str, indirect=True)
async def test_a_servers_own_page_on_its_computer_is_no_danger_in_its_ledger(
    revision: Revision, tmp_path: Path
) -> None:
    server = Handraise(ledger=tmp_path / "ledger.db").install(MCPServer("notes"))

    @server.tool()
    async def visit() -> str:
        return type(await ask.open("Look", "http://127.0.0.1:8765/enter", wait=False)).__name__

    async def agree(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="accept")

    async with connect(server, revision, agree) as client:
        await client.call_tool("visit")
    asked = (await events_in(tmp_path / "ledger.db"))[0]
    assert asked.link is not None
    assert (asked.link.verdict, asked.link.reasons) == ("ok", ("loopback",))


@pytest.mark.shows("G1", "L7")
async def test_who_opens_the_page_of_another_person_is_in_the_ledger(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    pages = Pages(record=lambda what, _, why: told.append((what, why)))
    server = Handraise(ledger=tmp_path / "ledger.db", pages=pages).install(MCPServer("notes"))
    ada, about = Person("", "ada", "system"), PageAbout("notes", None, "tool greet", "")
    page: SecretPage[Any] = SecretPage("Token", (SecretField(ONE, "Token"),), service="github")
    async with by_hand(server):
        host_of = runtime_of(server).pages
        visit = host_of.visits.open(page, ada, about, key="k", seconds=60, code=None)
        host_of._happened("opened", visit, "")
        host_of._happened("refused", visit, "another person")
    assert told == [("opened", ""), ("refused", "another person")]
    (event,) = await events_in(tmp_path / "ledger.db")
    assert (event.kind, event.reasons) == ("refused", ("the page was opened by another person",))
    assert event.count == 0, "it is no question, and reports must not count it as one"
    assert event.about.principal is not None
    assert event.about.principal.subject == "ada"


@pytest.mark.shows("G7")
@pytest.mark.parametrize(("action", "open_"), [("accept", True), ("decline", False), ("cancel", False)])
def test_only_an_accept_waits_for_what_becomes_of_the_call(action: str, open_: bool) -> None:
    trail = Trail("q_1", ABOUT, None, clock=lambda: 1.0, until="used")
    assert [record.open for record in decision_of(trail, {"action": action})] == [open_]


@pytest.mark.shows("G3")
@pytest.mark.parametrize("mode", ["form", "url"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_content_is_an_answer_only_when_a_form_was_accepted(
    action: str, mode: Literal["form", "url"]
) -> None:
    """A client may send what somebody had typed before they declined."""
    trail = Trail("q_1", dataclasses.replace(ABOUT, mode=mode), None, clock=lambda: 1.0, keeping="all")
    decided = decision_of(trail, {"action": action, "content": {"answer": "Ada"}})[0]
    assert bool(decided.kept) is (b"answer" in decided.body) is (action == "accept" and mode == "form")


def test_what_is_no_answer_decides_nothing() -> None:
    trail = Trail("q_1", ABOUT, None, clock=lambda: 1.0)
    unread: tuple[Any, ...] = (None, "accept", [], {}, {"action": None}, {"action": "yes"})
    for raw in unread:
        assert decision_of(trail, raw) == []
