"""Open what asking needs beside a desk: the ledger that records it, and the store that keeps what is parked."""

from __future__ import annotations

from contextlib import AsyncExitStack

from handraise.desks import Queue
from handraise.desks.gate import PolicyGate
from handraise.gateway.asking import Asking
from handraise.gateway.options import Options
from handraise.gateway.parking.taking_over import Keeper
from handraise.ledger.home import own_ledger, policy_version
from handraise.stores.named import own_or_named_store


async def open_lasting(gate: PolicyGate, options: Options) -> Asking:
    """What decides about questions by this policy; what it decides outlives the process."""
    settings = gate.policy.settings
    async with AsyncExitStack() as opening:
        ledger = own_ledger(settings)
        if ledger is not None:
            await ledger.start()
            opening.push_async_callback(ledger.aclose)
        store = own_or_named_store(options.store)
        opening.push_async_callback(store.aclose)
        return Asking(
            Queue(),
            gate,
            timeout=options.wait,
            ledger=ledger,
            policy_version=policy_version(settings),
            keeper=Keeper(store.tickets, store),
            opened=opening.pop_all(),
        )
