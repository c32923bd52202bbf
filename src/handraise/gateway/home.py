"""What all clients of a gateway share: its desk, its policy, and the calls that wait for a person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from handraise.access import AccessCheck
from handraise.errors import HandraiseError
from handraise.gateway.options import Options
from handraise.gateway.parking.glance import glance_at
from handraise.gateway.parking.parked import ParkedCalls
from handraise.gateway.peers import Mode, Peer

if TYPE_CHECKING:
    from handraise.gateway.asking import Asker, Asking
    from handraise.gateway.calls import Call
    from handraise.gateway.guarding import Rule
    from handraise.gateway.parking.taking_over import Keeper
    from handraise.questions import Person, Question

CANNOT_ASK: Final = (
    "A question of the server could not be shown to the user, because their Handraise is not set up rightly; the "
    "reason is in its log. The user decided nothing. Tell them so."
)

logger = logging.getLogger(__name__)

BOTH: Final[frozenset[Mode]] = frozenset({"form", "url"})


class Home:
    """One for each gateway."""

    def __init__(
        self,
        options: Options,
        open_asking: Callable[[], Awaitable[Asking]] | None = None,
        *,
        guards: tuple[Rule, ...] | None = None,
        access: AccessCheck | None = None,
    ) -> None:
        """`guards`: those of the user's own configuration unless they are given.

        `access` knows the clients, whose programs are kept away from our desk."""
        self.options = options
        self._guards = guards
        self._passkey = False
        """Whether some questions need a passkey; known once the guards were read."""
        self.parked = ParkedCalls()
        self.ending = False
        """Whether we are about to end: then no server is lost, and what is parked is left to the next process."""
        self.on_lost: Callable[[Any], None] = lambda relay: None
        self._may_wait = glance_at(options.store) if open_asking is None else lambda: True
        self._open_asking = open_asking or (lambda: _open_asking(options, access or AccessCheck()))
        self._asking: Asking | None = None
        self._loading = asyncio.Lock()

    @property
    def may_guard(self) -> bool:
        """Whether a call may have to wait at our desk for the user's guards, or for their passkey.

        Known for sure once the guards were read.
        """
        return self._guards is None or bool(self._guards) or self._passkey

    async def guards(self) -> tuple[Rule, ...]:
        """The user's own guards. Raises `SetupError` when their configuration cannot be read: then nothing passes."""
        if self._guards is None:
            guards, self._passkey = await asyncio.to_thread(_own_rules)
            self._guards = guards
        return self._guards

    @property
    def modes(self) -> frozenset[Mode]:
        """How people can be asked at our desk."""
        return BOTH if self.options.desk != "none" else frozenset()

    def serves(self, peer: Peer | None) -> bool:
        """Whether this client's person may have to come to our desk."""
        if peer is None or self.options.desk == "none":
            return False
        return self.options.desk == "always" or peer.modes != BOTH

    def asks_here(self, peer: Peer | None, mode: str) -> bool:
        """Whether a question of this mode is for our desk, and not for the client's."""
        return self.options.desk == "always" or peer is None or mode not in peer.modes

    def asks_for_passkey(
        self, asking: Asking, question: Question, asker: Asker, calls: Sequence[Call]
    ) -> bool:
        """Whether a question is for our desk although its client could ask: accepting it needs a passkey."""
        return self.options.desk != "none" and asking.needs_passkey(question, asker, calls)

    def may_park(self, peer: Peer | None) -> bool:
        """Whether a call of this client's may have to be parked; known for sure once the guards were read."""
        return self.options.desk != "none" and (self.may_guard or self.serves(peer))

    async def asking(self) -> Asking:
        """What decides about questions, loaded when the first one comes and without holding others up."""
        async with self._loading:
            if self._asking is None:
                try:
                    self._asking = await self._open_asking()
                except HandraiseError as error:
                    logger.error("nobody can be asked: %s", error)
                    raise
        return self._asking

    @property
    def keeper(self) -> Keeper | None:
        """Keeps parked calls beyond this process, once somebody was asked."""
        return None if self._asking is None else self._asking.keeper

    async def store_keeper(self) -> Keeper | None:
        """The keeper, if there may be calls in the store that wait; opened for them if need be."""
        if self.options.desk == "none" or not self._may_wait():
            return None
        try:
            return (await self.asking()).keeper
        except HandraiseError:
            return None  # it was logged; whoever asks next is told

    def tell_in_vain(self, call: Call) -> None:
        """Have our desk tell that what was answered because of a call reached nothing."""
        if self._asking is not None:
            self._asking.tell_in_vain(call)

    async def aclose(self) -> None:
        """Close our desk."""
        if self._asking is not None:
            await self._asking.aclose()

    def local_person(self) -> Person:
        """The user of this machine."""
        from handraise.this_user import local_person

        return local_person()


def _own_rules() -> tuple[tuple[Rule, ...], bool]:
    """The user's own guards, and whether some questions need their passkey."""
    from handraise.policy import load_policy

    settings = load_policy().settings
    passkey = bool(settings.desk.passkey)
    if not settings.guards:
        return (), passkey
    from handraise.gateway.guarding import rules_of

    return rules_of(settings.guards), passkey


async def _open_asking(options: Options, access: AccessCheck) -> Asking:
    import importlib

    from handraise.processes import keep_memory_private

    reception = await asyncio.to_thread(importlib.import_module, "handraise.gateway.desk.reception")
    keep_memory_private()
    asking: Asking = await reception.open_asking(options, access)
    return asking
