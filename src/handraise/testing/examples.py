"""Example rounds and answers for the contracts of stores."""

from __future__ import annotations

from collections.abc import Awaitable

from handraise.calls.records import (
    CallBinding,
    ConsumeResult,
    JournalEntry,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
)
from handraise.calls.rounds import digest
from handraise.calls.store import Store
from handraise.errors import StoreError

NOW = 1_700_000_000.0
DEADLINE = NOW + 300.0
LONG_AFTER = NOW + 30 * 86_400.0

ALICE = CallBinding(
    '["token","https://issuer","alice"] app', "tools/call", "transfer", digest({"amount": 5}), "bank"
)
MALLORY = ALICE._replace(person='["token","https://issuer","mallory"] app')

QUESTION: Json = {"method": "elicitation/create", "params": {"mode": "form", "message": "Größe? 📏"}}
YES: dict[str, Json] = {"size": {"action": "accept", "content": {"size": 4.5, "tags": ["a", "b"]}}}
NO: dict[str, Json] = {"size": {"action": "decline"}}
RESULT = RoundOutcome("result", {"content": [{"type": "text", "text": "done ✓"}]})

ANSWERED = JournalEntry("answer", "name", "pin of name", {"action": "accept", "content": {"name": "Zoë"}})
CHARGED = JournalEntry("once", "charge", "", {"id": "ch_1", "cents": 500, "tags": [None, True]})


def a_round(token: str = "hr1.first", *, call_id: str = "c1", number: int = 1) -> RoundRecord:  # noqa: S107 - made up for tests
    """An example round."""
    return RoundRecord(
        token=token,
        call_id=call_id,
        number=number,
        binding=ALICE,
        deadline=DEADLINE,
        questions={"size": QUESTION},
        pins={"size": digest(QUESTION)},
        handler="shop:order",
        seed="q_7",
    )


async def consume(
    store: Store,
    token: str = "hr1.first",  # noqa: S107 - made up for tests
    answers: dict[str, Json] | None = None,
    *,
    binding: CallBinding = ALICE,
    now: float = NOW,
) -> ConsumeResult:
    """Consume a round with answers, as a retry does."""
    given = YES if answers is None else answers
    return await store.consume(token, RoundUse(binding, given, digest(given), now))


async def fails(work: Awaitable[object]) -> bool:
    """Whether some work ends with a `StoreError`."""
    try:
        await work
    except StoreError:
        return True
    return False
