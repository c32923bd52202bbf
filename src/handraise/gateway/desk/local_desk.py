"""The user's own desk, opened when the first question comes, and what asking needs beside it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from handraise.access import AccessCheck
from handraise.desks import Queue
from handraise.desks.control import AnswerCode, AnswerListener
from handraise.desks.desk_code import DeskCodeCheck
from handraise.desks.gate import PolicyGate
from handraise.errors import SetupError
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.desk.desk_socket import DeskSocket
from handraise.gateway.desk.notify import notify
from handraise.gateway.options import Options
from handraise.gateway.tickets import TicketRepository
from handraise.ledger.own_ledger import own_ledger, policy_version
from handraise.policy import load_policy
from handraise.stores.registry import own_or_named_store
from handraise.urls.open import open_file

if TYPE_CHECKING:
    from handraise.desks.web import WebDesk


async def open_lasting(gate: PolicyGate, options: Options) -> QuestionHandler:
    """What decides about questions by this policy; what it decides outlives the process."""
    settings = gate.policy.settings
    async with AsyncExitStack() as opening:
        ledger = own_ledger(settings)
        if ledger is not None:
            await ledger.start()
            opening.push_async_callback(ledger.aclose)
        store = own_or_named_store(options.store)
        opening.push_async_callback(store.aclose)
        return QuestionHandler(
            Queue(),
            gate,
            timeout=options.wait,
            ledger=ledger,
            policy_version=policy_version(settings),
            tickets=TicketRepository(store.tickets, store),
            opened=opening.pop_all(),
            limits=settings.forms.limits(),
        )


logger = logging.getLogger(__name__)


class LocalDesk:
    """Our desk: the web desk, opened when somebody is asked at it, and the socket through which its person comes."""

    def __init__(
        self,
        asking: QuestionHandler,
        gate: PolicyGate,
        options: Options,
        access: AccessCheck,
        desk_code: DeskCodeCheck,
    ) -> None:
        self._asking = asking
        self._gate = gate
        self._options = options
        self._access = access
        self._desk_code = desk_code
        self._opening = asyncio.Lock()
        self._desk: WebDesk | None = None
        self._invited = False
        self.code = AnswerCode()
        """What answering from a terminal needs; the web desk shows it."""

    async def sign_in_file(self, question: str | None = None) -> Path:
        """A private file that leads one browser to the desk, once, and to the question with this id."""
        from handraise.desks.web import WebDesk

        async with self._opening:
            if self._desk is None:
                desk = WebDesk(
                    self._asking.queue,
                    gate=self._gate,
                    code=self.code,
                    earlier=self._asking.earlier,
                    access=self._access,
                    desk_code=self._desk_code,
                )
                self._desk = await self._asking.open(desk)
        return self._desk.sign_in_file(question=question)

    async def call_person(self, server: str) -> None:
        """A question waits: tell the person, as far as they want to be told. The model hears nothing of it."""
        if self._options.notify:
            await asyncio.to_thread(notify, server)
        if self._options.browser and not self._invited:
            self._invited = True
            await asyncio.to_thread(open_file, await self.sign_in_file())


async def open_asking(options: Options, access: AccessCheck, desk_code: DeskCodeCheck) -> QuestionHandler:
    """What decides about questions, with the user's own policy, ledger and desks.

    `access` guards the desks, and `desk_code` opens them where the system does not tell which program is asking.
    """
    gate = PolicyGate(load_policy())
    asking = await open_lasting(gate, options)
    desk = LocalDesk(asking, gate, options, access, desk_code)
    asking.call_person = desk.call_person
    try:
        await asking.open(AnswerListener(asking.queue, desk.code))
        await asking.open(DeskSocket(asking.queue, desk.sign_in_file, access=access, code=desk_code))
    except (SetupError, OSError) as error:  # a socket's path may be too long for the system
        logger.warning("questions cannot be answered from a terminal here: %s", error)
    return asking
