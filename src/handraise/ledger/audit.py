"""Verify a whole ledger: read it through as it is at one moment, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handraise.conversation.recorded import Snapshot
from handraise.errors import LedgerError
from handraise.ledger.checkpoints import Note
from handraise.ledger.ledger import Ledger
from handraise.ledger.verify import ExpectedContent, Finding, Report, Verdict, Verification

__all__ = ["Finding", "Report", "Verdict", "verify"]


async def verify(
    ledger: Ledger,
    given: Sequence[Note] = (),
    *,
    progress: Callable[[int, int], None] = lambda done, every: None,
) -> Report:
    """Find every change in a ledger; `given` are checkpoints that were kept elsewhere. Nothing is written.

    With the ledger's key everything is proved. Without it, the records up to the newest given checkpoint are. With
    neither the verdict is `UNPROVEN`.
    """
    verification = Verification(ledger.find_keys(), given)
    try:
        async with ledger.tables.snapshot() as snapshot:
            return await _read_through(snapshot, verification, progress)
    except LedgerError as error:
        return verification.unreadable(str(error))


async def _read_through(
    snapshot: Snapshot, verification: Verification, progress: Callable[[int, int], None]
) -> Report:
    async def compare(expected: Sequence[ExpectedContent]) -> None:
        there = await snapshot.contents([content.ref for content in expected]) if expected else {}
        for content in expected:
            verification.read_content(content, there.get(content.ref))

    verification.begin(snapshot)
    async for places in snapshot.places():
        await compare([content for place in places for content in verification.read(place)])
        if places:
            progress(verification.size, max(verification.size, verification.expected_size))
    async for places in snapshot.unplaced():
        await compare([content for place in places for content in verification.read_unplaced(place)])
    return verification.end(await snapshot.count_contents())
