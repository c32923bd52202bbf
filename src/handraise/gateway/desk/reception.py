"""Everything that asking needs, opened when the first question comes: policy, ledger, queue, desks and their door."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from handraise.desks import Queue
from handraise.desks.counter import Code, Counter
from handraise.desks.gate import PolicyGate
from handraise.errors import SetupError
from handraise.gateway.asking import Asking
from handraise.gateway.desk.door import Door
from handraise.gateway.desk.notify import notify
from handraise.gateway.desk.shield import Shield
from handraise.gateway.options import Options
from handraise.gateway.parking.taking_over import Keeper
from handraise.ledger.earlier import earlier
from handraise.ledger.home import own_ledger, policy_version
from handraise.policy import load_policy
from handraise.stores.named import own_or_named_store
from handraise.urls import inspect_url
from handraise.urls.open import open_url

if TYPE_CHECKING:
    from handraise.desks.web import WebDesk
    from handraise.ledger import Ledger

logger = logging.getLogger(__name__)


class Reception:
    """Our desk: the web desk, opened when somebody is asked at it, and the door through which its person comes."""

    def __init__(
        self,
        queue: Queue,
        gate: PolicyGate,
        options: Options,
        opened: AsyncExitStack,
        ledger: Ledger | None,
        shield: Shield | None = None,
    ) -> None:
        self._shield = shield or Shield(None)
        self._queue = queue
        self._gate = gate
        self._earlier = None if ledger is None else earlier(ledger)
        self._options = options
        self._opened = opened
        self._opening = asyncio.Lock()
        self._desk: WebDesk | None = None
        self._invited = False
        self.code = Code()
        """What answering from a terminal needs; the web desk shows it."""

    async def sign_in_url(self) -> str:
        """A link that signs one browser in, once. Never printed, logged or sent to a client."""
        from handraise.desks.web import WebDesk

        async with self._opening:
            if self._desk is None:
                desk = WebDesk(
                    self._queue,
                    gate=self._gate,
                    code=self.code,
                    earlier=self._earlier,
                    may_sign_in=self._shield.lets_sign_in,
                )
                self._desk = await self._opened.enter_async_context(desk)
        return self._desk.sign_in_url()

    async def call_person(self, server: str) -> None:
        """A question waits: tell the person, as far as they want to be told. The model hears nothing of it."""
        if self._options.notify:
            await asyncio.to_thread(notify, server)
        if self._options.browser and not self._invited:
            self._invited = True
            link = inspect_url(await self.sign_in_url(), transport="stdio", server_host=None)
            await asyncio.to_thread(open_url, link)


async def open_asking(options: Options, *, shielded: bool) -> Asking:
    """What decides about questions, with the user's own policy, ledger and desks.

    `shielded`: nobody comes in who was started by the program that started us, as a model's shell is.
    """
    policy = load_policy()
    opened = AsyncExitStack()
    queue, gate = Queue(), PolicyGate(policy)
    ledger = own_ledger(policy.settings)
    if ledger is not None:
        await ledger.start()
        opened.push_async_callback(ledger.aclose)
    store = own_or_named_store(options.store)
    opened.push_async_callback(store.aclose)
    shield = Shield(os.getppid() if shielded else None)
    reception = Reception(queue, gate, options, opened, ledger, shield)
    try:
        await opened.enter_async_context(Counter(queue, reception.code))
        await opened.enter_async_context(Door(queue, reception.sign_in_url, shield=shield))
    except (SetupError, OSError) as error:  # a socket's path may be too long for the system
        logger.warning("questions cannot be answered from a terminal here: %s", error)
    return Asking(
        queue,
        gate,
        timeout=options.wait,
        ledger=ledger,
        policy_version=policy_version(policy.settings),
        call_person=reception.call_person,
        keeper=Keeper(store.tickets, store),
        opened=opened,
    )
