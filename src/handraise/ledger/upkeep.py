"""Erase contents, and remove what is too old, while the proof stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handraise.errors import LedgerError
from handraise.ledger.checkpoints import Checkpoint
from handraise.ledger.events import Event
from handraise.ledger.ledger import Ledger
from handraise.ledger.tree import Tree

_PAGE: Final = 1000


async def erase(ledger: Ledger, which: Callable[[int, Event], bool]) -> tuple[int, int]:
    """Erase the contents of these events with their keys: how many events there are, how many contents went.

    What their messages and answers were cannot be found out any more, by nobody; that there were some can.
    """
    count, refs = 0, set()
    async for number, event in ledger.events():
        if which(number, event):
            count += 1
            refs |= {content.ref for content in (event.message, event.answer) if content is not None}
    return count, await ledger.tables.erase(refs) if refs else 0


async def retain(ledger: Ledger, *, since: int) -> int:
    """Remove the events before a time (milliseconds since 1970) and their contents; how many went.

    Their hashes stay in the tree, so that every later event and every checkpoint can still be verified, and a signed
    note says how far they were removed, so that nobody else can remove events and call it that.
    """
    tree = await ledger.place()
    upto = 0
    async for number, event in ledger.events():
        if event.time >= since or number > tree.size:
            break
        upto = number
    if upto == 0:
        return 0
    root = (await _tree_upto(ledger, upto)).root
    verifier, now = ledger.keys.verifier, int(ledger.clock() * 1000)
    note = ledger.keys.sign(Checkpoint(verifier.origin, upto, root, now, cut=True))
    return await ledger.tables.cut(upto, note)


async def _tree_upto(ledger: Ledger, upto: int) -> Tree:
    tree = Tree()
    while tree.size < upto:
        leaves = await ledger.tables.leaves(tree.size, min(_PAGE, upto - tree.size))
        if not leaves:
            raise LedgerError("places are missing in the tree; run `handraise ledger verify`")
        tree = tree.grown(leaf.hash for leaf in leaves)
    return tree
