"""The user's own desk, opened when the first question comes, and the socket through which they come to it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from handraise.access import AccessCheck
from handraise.desks.counter import Code, Counter
from handraise.desks.gate import PolicyGate
from handraise.errors import SetupError
from handraise.gateway.asking import Asking
from handraise.gateway.desk.door import Door
from handraise.gateway.desk.notify import notify
from handraise.gateway.opening import open_lasting
from handraise.gateway.options import Options
from handraise.policy import load_policy
from handraise.urls.open import open_file

if TYPE_CHECKING:
    from handraise.desks.web import WebDesk

logger = logging.getLogger(__name__)


class Reception:
    """Our desk: the web desk, opened when somebody is asked at it, and the socket through which its person comes."""

    def __init__(self, asking: Asking, gate: PolicyGate, options: Options, access: AccessCheck) -> None:
        self._asking = asking
        self._gate = gate
        self._options = options
        self._access = access
        self._opening = asyncio.Lock()
        self._desk: WebDesk | None = None
        self._invited = False
        self.code = Code()
        """What answering from a terminal needs; the web desk shows it."""

    async def sign_in_file(self) -> Path:
        """A private file that leads one browser to the desk, once."""
        from handraise.desks.web import WebDesk

        async with self._opening:
            if self._desk is None:
                desk = WebDesk(
                    self._asking.queue,
                    gate=self._gate,
                    code=self.code,
                    earlier=self._asking.earlier,
                    access=self._access,
                )
                self._desk = await self._asking.open(desk)
        return self._desk.sign_in_file()

    async def call_person(self, server: str) -> None:
        """A question waits: tell the person, as far as they want to be told. The model hears nothing of it."""
        if self._options.notify:
            await asyncio.to_thread(notify, server)
        if self._options.browser and not self._invited:
            self._invited = True
            await asyncio.to_thread(open_file, await self.sign_in_file())


async def open_asking(options: Options, access: AccessCheck) -> Asking:
    """What decides about questions, with the user's own policy, ledger and desks. `access` guards the desks."""
    gate = PolicyGate(load_policy())
    asking = await open_lasting(gate, options)
    reception = Reception(asking, gate, options, access)
    asking.call_person = reception.call_person
    try:
        await asking.open(Counter(asking.queue, reception.code))
        await asking.open(Door(asking.queue, reception.sign_in_file, access=access))
    except (SetupError, OSError) as error:  # a socket's path may be too long for the system
        logger.warning("questions cannot be answered from a terminal here: %s", error)
    return asking
