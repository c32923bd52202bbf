"""The store of servers that run: reached with the first of them, and let go of with the last if it is their own."""

from __future__ import annotations

import weakref

import anyio

from handraise.conversation import Store

_USED: weakref.WeakKeyDictionary[Store, int] = weakref.WeakKeyDictionary()
"""How many servers run on each store that was opened for them."""


async def reach(store: Store, *, own: bool) -> None:
    """Open a store for a server that starts. One that cannot be used is let go of."""
    if own:
        _USED[store] = _USED.get(store, 0) + 1
    try:
        await store.open()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await let_go(store, own=own)
        raise


async def let_go(store: Store, *, own: bool) -> None:
    """Close a store with its last server: a node that says that it leaves is not waited for."""
    if own:
        _USED[store] -= 1
        if not _USED[store]:
            await store.aclose()
