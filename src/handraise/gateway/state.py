"""State that all clients of a gateway share: options, desk, guards, and parked calls."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from handraise.access import AccessCheck
from handraise.desks.codes import DeskCodeCheck
from handraise.errors import HandraiseError
from handraise.gateway.asking import QuestionHandler
from handraise.gateway.call import RelayedCall
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.guards import GuardRule, rules_of
from handraise.gateway.local_desk import open_asking as open_own_asking
from handraise.gateway.options import Options
from handraise.gateway.peers import Mode, Peer
from handraise.gateway.tickets import ParkedCalls, TicketRepository
from handraise.policy import load_policy
from handraise.policy.places import data_directory, database_of
from handraise.processes import keep_memory_private
from handraise.stores import own_store_file

logger = logging.getLogger(__name__)

ALL_MODES: Final[frozenset[Mode]] = frozenset({"form", "url"})


class GatewayState:
    """The shared state of one gateway."""

    def __init__(
        self,
        options: Options,
        open_asking: Callable[[], Awaitable[QuestionHandler]] | None = None,
        *,
        guards: tuple[GuardRule, ...] | None = None,
        access: AccessCheck | None = None,
        habits: ClientHabits | None = None,
    ) -> None:
        """`guards`: default are those of the user's configuration.

        `access` knows the clients' processes and keeps them away from our desk. `habits` says what clients did before.
        """
        self.options = options
        self.parked = ParkedCalls()
        self.habits = habits or ClientHabits()
        self.ending = False
        """Whether this process is shutting down. Parked calls are then left to the next process."""
        self._guards = guards
        self.needs_passkeys = False
        """Whether some questions need a passkey. Set when the guards are read."""
        self._open = open_asking
        self._access = access or AccessCheck()
        # Read now: later a program of the client may have set one.
        self._desk_code = DeskCodeCheck(read_once=True)
        self._asking: QuestionHandler | None = None
        self._loading = asyncio.Lock()

    @property
    def may_guard(self) -> bool:
        """Whether a guard or a passkey may send a call to our desk. True until the guards are read."""
        return self._guards is None or bool(self._guards) or self.needs_passkeys

    async def guards(self) -> tuple[GuardRule, ...]:
        """The user's own guards. SetupError when their configuration cannot be read; then no call may pass."""
        if self._guards is None:
            settings = (await asyncio.to_thread(load_policy)).settings
            self.needs_passkeys = bool(settings.desk.passkey)
            self._guards = rules_of(settings.guards)
        return self._guards

    @property
    def modes(self) -> frozenset[Mode]:
        """The modes that our desk can show."""
        return ALL_MODES if self.options.desk != "none" else frozenset()

    def needs_desk(self, peer: Peer | None) -> bool:
        """Whether this client cannot ask in every mode, so that some questions go to our desk."""
        if peer is None or self.options.desk == "none":
            return False
        return self.options.desk == "always" or peer.modes != ALL_MODES

    def client_modes(self, peer: Peer | None) -> frozenset[Mode]:
        """The modes in which this client asks its person itself."""
        return frozenset() if peer is None or self.options.desk == "always" else peer.modes

    def is_for_desk(self, peer: Peer | None, mode: str) -> bool:
        """Whether a question of this mode goes to our desk instead of the client."""
        return mode not in self.client_modes(peer)

    def may_park(self, peer: Peer | None) -> bool:
        """Whether a call of this client may be parked. Certain once the guards are read."""
        if self.options.desk == "none":
            return False
        return self.is_sure_to_park(peer) or self.habits.does_not_ask(peer)

    def is_sure_to_park(self, peer: Peer | None) -> bool:
        """Whether the client's list of tools was adapted to parked calls from the start."""
        return self.may_guard or self.needs_desk(peer)

    async def asking(self) -> QuestionHandler:
        """The handler of questions. It is opened for the first one."""
        async with self._loading:
            if self._asking is None:
                try:
                    if self._open is not None:
                        self._asking = await self._open()
                    else:
                        keep_memory_private()
                        self._asking = await open_own_asking(self.options, self._access, self._desk_code)
                except HandraiseError as error:
                    logger.error("nobody can be asked: %s", error)
                    raise
        return self._asking

    @property
    def tickets(self) -> TicketRepository | None:
        """The parked calls in the store; None before the first question."""
        return None if self._asking is None else self._asking.tickets

    async def stored_tickets(self) -> TicketRepository | None:
        """The parked calls in the store, also before the first question if a store exists already."""
        if self.options.desk == "none" or not (self._asking is not None or self._has_store):
            return None
        try:
            return (await self.asking()).tickets
        except HandraiseError:
            return None  # `asking` logged it

    @property
    def _has_store(self) -> bool:
        """Whether a store exists. A gateway that never asks creates none."""
        named = self.options.store
        if self._open is not None or database_of(named):  # somebody else opened it, or it is a database
            return True
        return (Path(named).expanduser() if named else own_store_file(os.environ)).exists()

    def tell_answer_lost(self, call: RelayedCall) -> None:
        """Tell the person at our desk that the server lost the call they answered."""
        if self._asking is not None:
            self._asking.tell_answer_lost(call)

    def set_attended(self, call: RelayedCall, attended: bool) -> None:
        """Tell our desk whether a client waits for a call. If not, the person must report their answer to it."""
        if self._asking is not None:
            unattended = self._asking.queue.unattended
            unattended.discard(call.host_call.id) if attended else unattended.add(call.host_call.id)

    @contextmanager
    def ending_on_signals(self, act: Callable[[int], None]) -> Iterator[None]:
        """Call `act` when SIGTERM or SIGINT comes. Parked calls are left to the next process."""
        loop = asyncio.get_running_loop()

        def on_signal(number: int, frame: FrameType | None) -> None:
            # At once: the same signal may have ended the server, and the loop would handle that first.
            self.ending = True
            loop.call_soon_threadsafe(act, number)

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def aclose(self) -> None:
        """Save the clients' habits and close our desk."""
        self.habits.save()
        if self._asking is not None:
            await self._asking.aclose()


def habits_file(environment: Mapping[str, str]) -> Path:
    """The file with the habits of clients."""
    return data_directory(environment) / "clients.json"
