"""What all clients of a gateway share: its options, its desk, its guards, and the calls that wait for a person."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from handraise.access import AccessCheck
from handraise.desks.desk_code import DeskCodeCheck
from handraise.errors import HandraiseError
from handraise.gateway.asking import Asker, QuestionHandler
from handraise.gateway.call import RelayedCall
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.desk.local_desk import open_asking as open_own_asking
from handraise.gateway.guards import GuardRule, rules_of
from handraise.gateway.options import Options
from handraise.gateway.peers import Mode, Peer
from handraise.gateway.tickets import ParkedCalls, TicketRepository
from handraise.policy import load_policy
from handraise.policy.places import data_directory, database_of
from handraise.processes import keep_memory_private
from handraise.questions import Question
from handraise.stores.registry import own_store_file

logger = logging.getLogger(__name__)

ALL_MODES: Final[frozenset[Mode]] = frozenset({"form", "url"})


class GatewayState:
    """One for each gateway."""

    def __init__(
        self,
        options: Options,
        open_asking: Callable[[], Awaitable[QuestionHandler]] | None = None,
        *,
        guards: tuple[GuardRule, ...] | None = None,
        access: AccessCheck | None = None,
        habits: ClientHabits | None = None,
    ) -> None:
        """`guards`: those of the user's own configuration unless they are given.

        `access` knows the clients, whose programs are kept away from our desk. `habits` is what clients did before.
        """
        self.options = options
        self.parked = ParkedCalls()
        self.habits = habits or ClientHabits()
        self.ending = False
        """Whether we are about to end: then no server is lost, and what is parked is left to the next process."""
        self._guards = guards
        self._passkey = False
        """Whether some questions need a passkey; known once the guards were read."""
        self._open = open_asking
        self._access = access or AccessCheck()
        # Now, because later a program of the client may have made one.
        self._desk_code = DeskCodeCheck(read_once=True)
        self._asking: QuestionHandler | None = None
        self._loading = asyncio.Lock()

    @property
    def may_guard(self) -> bool:
        """Whether a call may have to wait at our desk for the user's guards, or for their passkey.

        Known for sure once the guards were read.
        """
        return self._guards is None or bool(self._guards) or self._passkey

    async def guards(self) -> tuple[GuardRule, ...]:
        """The user's own guards. Raises `SetupError` when their configuration cannot be read: then nothing passes."""
        if self._guards is None:
            settings = (await asyncio.to_thread(load_policy)).settings
            self._passkey = bool(settings.desk.passkey)
            self._guards = rules_of(settings.guards)
        return self._guards

    @property
    def modes(self) -> frozenset[Mode]:
        """How people can be asked at our desk."""
        return ALL_MODES if self.options.desk != "none" else frozenset()

    def needs_desk(self, peer: Peer | None) -> bool:
        """Whether this client's person has to come to our desk for some questions."""
        if peer is None or self.options.desk == "none":
            return False
        return self.options.desk == "always" or peer.modes != ALL_MODES

    def client_modes(self, peer: Peer | None) -> frozenset[Mode]:
        """What this client asks its person itself."""
        return frozenset() if peer is None or self.options.desk == "always" else peer.modes

    def is_for_desk(self, peer: Peer | None, mode: str) -> bool:
        """Whether a question of this mode is for our desk, and not for the client's."""
        return mode not in self.client_modes(peer)

    def asks_for_passkey(
        self, asking: QuestionHandler, question: Question, asker: Asker, calls: Sequence[RelayedCall]
    ) -> bool:
        """Whether a question is for our desk although its client could ask: accepting it needs a passkey."""
        return self.options.desk != "none" and asking.needs_passkey(question, asker, calls)

    def may_park(self, peer: Peer | None) -> bool:
        """Whether a call of this client's may have to be parked; known for sure once the guards were read."""
        if self.options.desk == "none":
            return False
        return self.is_sure_to_park(peer) or self.habits.does_not_ask(peer)

    def is_sure_to_park(self, peer: Peer | None) -> bool:
        """Whether this client's first list of tools was made for calls that are parked."""
        return self.may_guard or self.needs_desk(peer)

    async def asking(self) -> QuestionHandler:
        """What decides about questions, opened when the first one comes and without holding others up."""
        async with self._loading:
            if self._asking is None:
                try:
                    self._asking = await (self._open or self._open_own)()
                except HandraiseError as error:
                    logger.error("nobody can be asked: %s", error)
                    raise
        return self._asking

    async def _open_own(self) -> QuestionHandler:
        keep_memory_private()
        return await open_own_asking(self.options, self._access, self._desk_code)

    @property
    def tickets(self) -> TicketRepository | None:
        """Keeps parked calls beyond this process, once somebody was asked."""
        return None if self._asking is None else self._asking.tickets

    async def stored_tickets(self) -> TicketRepository | None:
        """The same, also before anybody was asked, where calls of another process may wait in a store."""
        if self.options.desk == "none" or not (self._asking is not None or self._has_store()):
            return None
        try:
            return (await self.asking()).tickets
        except HandraiseError:
            return None  # it was logged; whoever asks next is told

    def _has_store(self) -> bool:
        """Whether there is a store already: a gateway that never asks makes none."""
        if self._open is not None or database_of(self.options.store):
            return True
        named = self.options.store
        return (Path(named).expanduser() if named else own_store_file(os.environ)).exists()

    def tell_answer_lost(self, call: RelayedCall) -> None:
        """Have our desk tell that what was answered because of a call reached nothing."""
        if self._asking is not None:
            self._asking.tell_answer_lost(call)

    def set_attended(self, call: RelayedCall, attended: bool) -> None:
        """Have our desk know whether a client waits for a call. If not, the person has to tell it of their answer."""
        if self._asking is not None:
            unattended = self._asking.queue.unattended
            unattended.discard(call.host_call.id) if attended else unattended.add(call.host_call.id)

    @contextmanager
    def ending_on_signals(self, act: Callable[[int], None]) -> Iterator[None]:
        """Have something done when the gateway is told to end. What is parked in it is left to the next one."""
        loop = asyncio.get_running_loop()

        def on_signal(number: int, frame: FrameType | None) -> None:
            # Not in the loop's next turn: the same signal may have ended the server, and the loop hears of that first.
            self.ending = True
            loop.call_soon_threadsafe(act, number)

        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def aclose(self) -> None:
        """Close our desk."""
        self.habits.save()
        if self._asking is not None:
            await self._asking.aclose()


def habits_file(environment: Mapping[str, str]) -> Path:
    """Where it is kept what clients were seen doing."""
    return data_directory(environment) / "clients.json"
