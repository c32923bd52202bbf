"""Questions that nobody returned to: they end in time, and only who can tell ends them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.examples import an_event
from tests.server.peers import runtime_of
from tests.server.rounds import by_hand
from tests.server.shop import Effects, make_shop
from tests.server.test_question_record import ADA, by_question, events_in, go_on

from handraise import SqliteStore
from handraise.calls.store import UnfinishedRound
from handraise.ledger import EventKind, Ledger
from handraise.ledger.ledger import QuestionFate
from handraise.server.unfinished import fate_of

pytestmark = [pytest.mark.shows("G1")]

DAYS = 4 * 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


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


async def test_a_question_in_a_store_is_not_for_a_host_to_end(
    tmp_path: Path, path: Path, effects: Effects
) -> None:
    await left_parked(tmp_path, path, effects)
    ledger = Ledger.at(path)
    assert await ledger.start() == 0
    await ledger.aclose()
    assert by_question(await events_in(path)) == [["asked"]]


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
