"""Get access to a server that refuses a request: with the person's token, or by asking them to connect an account.

For a call, the question goes where all its questions go: to the client's dialog, or to our desk. For other requests it
goes to the client if the client accepts requests and opens links. Otherwise our desk asks: before the handshake is
over, and on 2026-07-28.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from itertools import count
from typing import Any, Final

from handraise.errors import HandraiseError
from handraise.gateway.accounts.own_account import Challenge, Invitation, OwnAccount
from handraise.gateway.links import Link
from handraise.gateway.messages import (
    ACCOUNT_NEEDED,
    CANCELLED,
    COMPLETE,
    ELICIT,
    NAMED,
    Id,
    Message,
    error_response,
    notice,
    object_in,
    request,
    response,
)
from handraise.gateway.peers import is_modern, params_without_round
from handraise.questions import Accepted, Answer, Cancelled, Declined

logger = logging.getLogger(__name__)

_STATE: Final = "handraise-account-"
_KEY: Final = "account"
_PROBE: Final = "server/discover"
_MOST_ROUNDS: Final = 1024
_GLANCE: Final = 10.0
"""Seconds that `server/discover` waits. A client takes a longer silence for a legacy server."""

DECLINED: Final = (
    "The user does not want to connect an account for the server {server!r}. The call did not reach it; nothing was "
    "done. Do not repeat it unless they ask for it."
)
UNFINISHED: Final = (
    "The server {server!r} wants an account of the user's, and they have not connected one yet; {waits}. "
    "Nothing was done. Try again when they say that they did."
)
_AT_DESK: Final = "the question waits at their Handraise desk, and {where}"
_AT_CLIENT: Final = "trying again asks them again"
FAILED: Final = (
    "The server {server!r} wants an account of the user's, and none can be connected now; the reason is in the "
    "gateway's log. Nothing was done. Tell the user."
)


class AccountConnector:
    """Gets access for one link."""

    def __init__(self, own: OwnAccount, link: Link) -> None:
        self._own = own
        self._link = link
        self._asked: dict[Id, asyncio.Future[str]] = {}
        self._rounds: dict[str, Invitation] = {}
        self._fresh = count(1)

    async def token(self) -> str | None:
        """The person's token; None if there is none or it cannot be renewed."""
        try:
            return await self._own.token()
        except HandraiseError as error:
            logger.warning("a token of %s could not be renewed: %s", self._own.upstream.name, error)
            return None

    def takes(self, message: Message) -> bool:
        """Whether a message answers our own question; then it is not sent to the server."""
        if message.method is not None or message.id not in self._asked:
            return False
        answered = self._asked.pop(message.id)
        if not answered.done():
            answered.set_result("" if message.result is None else str(message.result.get("action", "cancel")))
        return True

    def is_round(self, message: Message) -> bool:
        """Whether a request answers our own round."""
        state = message.params.get("requestState") if message.method in NAMED else None
        return isinstance(state, str) and state.startswith(_STATE)

    async def meet(self, message: Message, challenge: Challenge, sent: str | None) -> bool:
        """Get access for a refused request. True when it may be sent again; otherwise its client got an answer."""
        try:
            if await self._own.recall(sent, challenge):
                return True
            if not message.is_request:
                return False
            if self._own.accounts.state.options.desk == "none":
                raise HandraiseError("people are asked at no desk here")
            invitation = await self._own.invite(challenge, _because_of(message, self._own.upstream.name))
        except HandraiseError as error:
            logger.warning("%s wants an account: %s", self._own.upstream.name, error)
            self._tell(message, FAILED)
            return False
        if message.method not in NAMED and not message.opens_links:
            return await self._ask_at_desk(message, invitation)
        if is_modern(message):
            self._end_round(message, invitation)
            return False
        return await self._ask(message, invitation)

    async def go_on(self, message: Message) -> None:
        """Handle the client's answer to our round. Once the account is connected, send the original call."""
        invitation = self._rounds.pop(str(message.params.get("requestState")), None)
        plain = message.with_(params=params_without_round(message))
        if invitation is not None:  # otherwise another process asked: the server will refuse the call again
            answer = object_in(object_in(message.params, "inputResponses"), _KEY)
            action = str(answer.get("action", "cancel"))
            if not await self._finished(plain, invitation, action):
                return
        self._link.send(plain)

    async def _ask(self, message: Message, invitation: Invitation) -> bool:
        """Ask the person through the relay; at our desk if the client fails to ask."""
        action = await self._action(message, invitation)
        if action == "":
            return await self._ask_at_desk(message, invitation)
        if not await self._finished(message, invitation, action):
            return False
        finished = {"elicitationId": invitation.question.elicitation_id}
        self._deliver_about(message, notice(COMPLETE, finished))
        return True

    async def _action(self, message: Message, invitation: Invitation) -> str:
        """The person's answer. A call waits for it without limit, other requests for the hold time."""
        id = f"{_STATE}{next(self._fresh)}"
        self._asked[id] = asyncio.get_running_loop().create_future()
        self._deliver_about(message, request(id, ELICIT, _params(invitation, with_id=True)))
        try:
            async with asyncio.timeout(None if message.method in NAMED else self._hold):
                return await self._asked[id]
        except TimeoutError:
            self._deliver_about(message, notice(CANCELLED, {"requestId": id}))
            return "cancel"
        finally:
            self._asked.pop(id, None)

    def _end_round(self, message: Message, invitation: Invitation) -> None:
        state = _STATE + secrets.token_urlsafe(18)
        self._rounds[state] = invitation
        while len(self._rounds) > _MOST_ROUNDS:
            del self._rounds[next(iter(self._rounds))]
        asked = {_KEY: {"method": ELICIT, "params": _params(invitation, with_id=False)}}
        round_ = {"resultType": "input_required", "inputRequests": asked, "requestState": state}
        self._deliver_about(message, response(message.id, round_))

    async def _finished(self, message: Message, invitation: Invitation, action: str) -> bool:
        """Wait for the page if the person agreed to open it. On failure answer the client."""
        if action != "accept":
            self._own.accounts.withdraw(
                self._own, invitation, Declined() if action == "decline" else Cancelled()
            )
            self._tell(message, DECLINED if action == "decline" else UNFINISHED, _AT_CLIENT)
            return False
        await asyncio.wait({invitation.ended}, timeout=self._hold)
        return self._ended(
            message, invitation.ended.result() if invitation.ended.done() else None, _AT_CLIENT
        )

    def _ended(self, message: Message, answer: Answer[Any] | None, waits: str) -> bool:
        if isinstance(answer, Accepted):
            return True
        self._tell(message, DECLINED if isinstance(answer, Declined) else UNFINISHED, waits)
        return False

    async def _ask_at_desk(self, message: Message, invitation: Invitation) -> bool:
        """Ask at our desk without a limit; the client waits for a limited time."""
        patience = min(self._hold, _GLANCE) if message.method == _PROBE else self._hold
        asking = self._own.ask_at_desk(invitation)
        await asyncio.wait({asking}, timeout=patience)
        return self._ended(message, asking.result() if asking.done() else None, _AT_DESK)

    @property
    def _hold(self) -> float:
        return self._own.accounts.state.options.hold

    def _tell(self, message: Message, sentence: str, waits: str = "") -> None:
        """Answer a request with a text for the model. `waits` says where the person continues."""
        where = self._own.accounts.state.options.where
        text = sentence.format(server=self._own.upstream.name, waits=waits.format(where=where))
        told = error_response(message.id, ACCOUNT_NEEDED, text)
        if message.method == "tools/call":
            modern = {"resultType": "complete"} if is_modern(message) else {}
            told = response(
                message.id, {**modern, "content": [{"type": "text", "text": text}], "isError": True}
            )
        self._deliver_about(message, told)

    def _deliver_about(self, message: Message, said: Message) -> None:
        """Send the client a message of the gateway itself about a request."""
        said.about, said.source = message.id, self._own.asker
        self._link.on_message(said)


def _params(invitation: Invitation, *, with_id: bool) -> dict[str, Any]:
    question = invitation.question
    known = {"elicitationId": question.elicitation_id} if with_id else {}
    return {"mode": "url", "message": question.message, "url": question.url, **known}


def _because_of(message: Message, server: str) -> str:
    """The reason that the person reads."""
    name = message.params.get(NAMED.get(message.method or "", ""))
    kind = (message.method or "").partition("/")[0].rstrip("s")
    return f"{kind} {name} of {server}" if isinstance(name, str) else f"connecting to {server}"
