"""Ask a person at our desk to connect an account, and wait for them while they are in their browser."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from handraise.errors import HandraiseError
from handraise.questions import Accepted, Answer

if TYPE_CHECKING:
    from handraise.gateway.accounts.own import Invitation, OwnAccount
    from handraise.gateway.asking import Asking

logger = logging.getLogger(__name__)


async def connect_at_desk(own: OwnAccount, invitation: Invitation) -> Answer[Any] | None:
    """How it ended: connected, or the person's no; None when they did not finish it, or nobody can be asked."""
    try:
        asking = await own.accounts.home.asking()
    except HandraiseError as error:
        logger.warning("nobody can be asked to connect an account: %s", error)
        return None
    deciding = asyncio.ensure_future(_decide(own, invitation, asking))
    both: set[asyncio.Future[Any]] = {invitation.ended, deciding}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        deciding.cancel()
        await asyncio.gather(deciding, return_exceptions=True)
    return invitation.ended.result() if invitation.ended.done() else deciding.result()


async def _decide(own: OwnAccount, invitation: Invitation, asking: Asking) -> Answer[Any] | None:
    """What the person says at the desk: no, or that they are through in their browser."""
    from handraise.gateway.asking import Asker
    from handraise.revisions import Revision

    asker = Asker(own.accounts.source, own.person)
    decision = await asking.decide(invitation.question, Revision.NOVEMBER_2025, asker, [])
    if isinstance(decision.answer, Accepted):
        await asking.wait_in_browser(invitation.question, asker, [])
        return None
    own.accounts.withdraw(own, invitation, decision.answer)
    return decision.answer
