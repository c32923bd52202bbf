"""Keep the desk from what a client started, as it does a model's shell, and our memory from everybody.

The attack: the model's shell runs as the person's own user. It sees the arguments of every program, so also the link
with which a browser is opened; and where the system allows it, it reads the memory of other programs.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Final

from handraise.gateway.desk.ancestry import descends_from, holders_of

if TYPE_CHECKING:
    from handraise.pages.peers import Address

_SET_DUMPABLE: Final = 4


class Shield:
    """Knows the client that started us; without one it keeps nobody out."""

    def __init__(self, client: int | None) -> None:
        self._client = client

    def keeps_out(self, pid: int) -> bool:
        """Whether a process was started by the client."""
        return self._client is not None and descends_from(pid, self._client)

    def lets_sign_in(self, visitor: Address, desk: Address) -> bool:
        """Whether nobody whom the client started is at the other end of a connection, as far as the system tells."""
        if self._client is None:
            return True
        from handraise.pages.peers import owner_of_peer  # needs what a web desk needs, which is an extra

        owner = owner_of_peer(visitor, desk)
        return owner is None or not any(map(self.keeps_out, holders_of(owner.inode)))


def keep_memory_private() -> None:
    """Let no other program of this user read our memory or follow what we do, where the system knows how."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
