"""Whole-ledger operations: verify it, erase contents, remove what is too old. The proof stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from handraise.calls.ledger_tables import Snapshot
from handraise.errors import LedgerError
from handraise.ledger.checkpoints import Note, Tree
from handraise.ledger.events import LedgerEvent
from handraise.ledger.ledger import Ledger
from handraise.ledger.verify import (
    ExpectedContent,
    LedgerFinding,
    LedgerVerdict,
    Verification,
    VerificationReport,
)

__all__ = ["LedgerFinding", "LedgerVerdict", "VerificationReport", "verify"]


async def verify(
    ledger: Ledger,
    given: Sequence[Note] = (),
    *,
    progress: Callable[[int, int], None] = lambda done, every: None,
) -> VerificationReport:
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
) -> VerificationReport:
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


_PAGE: Final = 1000


async def erase(ledger: Ledger, which: Callable[[int, LedgerEvent], bool]) -> tuple[int, int]:
    """Erase the contents of these events with their keys: how many events there are, how many contents went.

    Their messages and answers can no longer be recovered by anyone. A signed note names the erased contents, so that
    nobody without the ledger's key can delete contents and call it erasing.
    """
    await _require_unbroken(ledger)
    count, refs = 0, set()
    async for number, event in ledger.events():
        if which(number, event):
            count += 1
            refs |= {content.ref for content in (event.message, event.answer) if content is not None}
    draft = ledger.authenticator.erasure(ledger.now())
    return count, await ledger.tables.erase(refs, draft) if refs else 0


async def retain(ledger: Ledger, *, since: int) -> int:
    """Remove the events before a time (milliseconds since 1970) and their contents; how many went.

    Their hashes stay in the tree, so that every later event and every checkpoint can still be verified, and a signed
    note says how far they were removed, so that nobody else can remove events and call it that.
    """
    tree = await ledger.place()
    await _require_unbroken(ledger)
    upto = 0
    async for number, event in ledger.events():
        if event.time >= since or number > tree.size:
            break
        upto = number
    if upto == 0:
        return 0
    removed = await _tree_upto(ledger, upto)
    return await ledger.tables.cut(upto, ledger.authenticator.removal(ledger.now(), removed))


async def _require_unbroken(ledger: Ledger) -> None:
    """Refuse a broken ledger.

    Otherwise somebody without the key could make a record look old, or like another person's, and have us remove it
    with a signed note.
    """
    if (await verify(ledger)).verdict is LedgerVerdict.BROKEN:
        raise LedgerError(
            "the ledger is broken, so that its records cannot say what to remove. Nothing was removed. "
            "Run `handraise ledger verify`."
        )


async def _tree_upto(ledger: Ledger, upto: int) -> Tree:
    tree = Tree()
    while tree.size < upto:
        leaves = await ledger.tables.hashes(tree.size, min(_PAGE, upto - tree.size))
        if not leaves:
            raise LedgerError("places are missing in the tree; run `handraise ledger verify`")
        tree = tree.grown(leaves)
    return tree
