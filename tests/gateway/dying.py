"""The real command, which is gone at a point of its work that has a name.

    python -m tests.gateway.dying POINT gateway …

`accepted`: the answer is in the ledger, and the store does not say yet that it goes to the server.
`sent`: the store says that it goes, and nothing was written to the server.
"""

from __future__ import annotations

import os
import signal
import sys

from handraise.cli import main
from handraise.gateway.tickets import Parked, TicketRepository

_send = TicketRepository.send


async def _gone_before(self: TicketRepository, parked: Parked) -> bool:
    os.kill(os.getpid(), signal.SIGKILL)
    return False


async def _gone_after(self: TicketRepository, parked: Parked) -> bool:
    await _send(self, parked)
    os.kill(os.getpid(), signal.SIGKILL)
    return False


if __name__ == "__main__":
    TicketRepository.send = {"accepted": _gone_before, "sent": _gone_after}[sys.argv.pop(1)]  # type: ignore[method-assign]
    main()
