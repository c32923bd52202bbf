"""Erase contents, and remove what is too old, while the proof stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handraise.errors import LedgerError
from handraise.ledger.audit import Verdict, verify
from handraise.ledger.events import Event
from handraise.ledger.ledger import Ledger
from handraise.ledger.tree import Tree

_PAGE: Final = 1000


async def erase(ledger: Ledger, which: Callable[[int, Event], bool]) -> tuple[int, int]:
    """Erase the contents of these events with their keys: how many events there are, how many contents went.

    Nobody can find out any more what their messages and answers were. A signed note names the erased contents, so that
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
    """Go by no record that was changed.

    Otherwise somebody without the key could make a record look old, or like another person's, and have us remove it
    with a signed note.
    """
    if (await verify(ledger)).verdict is Verdict.BROKEN:
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
