"""A hundred thousand pending questions in one PostgreSQL: a node finds its own by an index, not by reading all."""

from __future__ import annotations

import psycopg
import pytest

from handraise.calls.rounds import digest
from handraise.calls.store import RoundUse
from handraise.stores.postgres import PostgresStore
from handraise.testing.part_contracts import ALICE, LONG_AFTER, NOW, RESULT, YES, a_round

pytestmark = [pytest.mark.stranger, pytest.mark.anyio]

CROWD = 100_000
_ASK = """
    INSERT INTO handraise.rounds (token, call_id, number, person, method, target, arguments, deadline, handler,
        seed, questions, owner)
    SELECT 't' || i, 'c' || i, 1, 'person ' || i, 'tools/call', 'transfer', 'a', %s, 'shop:order', 's',
        decode(repeat('ab', 200), 'hex'), 'a node of theirs'
    FROM generate_series(1, %s) AS i"""
_SCANS = (
    "SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE schemaname = 'handraise' AND relname = %s"
)


def _scans(url: str, table: str) -> tuple[int, int]:
    """How often a table was read from end to end, and how many rows of it."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_stat_clear_snapshot()")
        row = db.execute(_SCANS, (table,)).fetchone()
    assert row is not None
    return row


@pytest.mark.shows("X3")
async def test_a_question_among_a_hundred_thousand_is_asked_found_answered_and_ended(
    url: str,
) -> None:
    first = PostgresStore(url, keys=[b"k" * 32])
    await first.pending("nobody")
    await first.aclose()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(_ASK, (NOW + 300, CROWD))
        db.execute("ANALYZE")
    before = _scans(url, "rounds")

    asking, answering = PostgresStore(url, keys=[b"k" * 32]), PostgresStore(url, keys=[b"k" * 32])
    for number in range(20):
        token = f"ours {number}"
        await asking.open_round(a_round(token, call_id=token))
        [found] = await answering.pending(ALICE.person)
        assert found.token == token
        taken = await answering.consume(token, RoundUse(ALICE, YES, digest(YES), NOW))
        assert taken.verdict == "first"
        await asking.settle(token, RESULT, until=NOW + 60)
        await asking.end(token, until=NOW + 60)
    assert await asking.prune(NOW + 61) == 20
    await asking.aclose()
    await answering.aclose()

    assert _scans(url, "rounds") == before
    with psycopg.connect(url) as db:
        row = db.execute("SELECT count(*) FROM handraise.rounds").fetchone()
    assert row == (CROWD,)


@pytest.mark.shows("X3")
async def test_all_of_them_are_forgotten_when_their_time_has_come(url: str) -> None:
    store = PostgresStore(url, keys=[b"k" * 32])
    await store.open_round(a_round())
    with psycopg.connect(store.database.url, autocommit=True) as db:
        db.execute(_ASK, (NOW + 300, CROWD))
    assert await store.prune(LONG_AFTER) == CROWD + 1
    await store.aclose()


async def test_what_comes_after_the_end_leaves_no_connection_behind(url: str) -> None:
    store = PostgresStore(url, keys=[b"k" * 32])
    await store.open()
    await store.aclose()
    assert await store.pending("somebody late") == []
    assert store.database._idle == []
    await store.open()
    assert len(store.database._idle) == 1
    await store.aclose()
    assert store.database._idle == []
