"""Between one client and its server: every message passes through here, and arrives as it was meant.

A call goes this way: `from_client`, the preflight (is it the same as one that waits already, does a guard ask first?),
`forward` to the server, and with its response `end`. Questions on the way are judged by `Asking`. `LegacyRelay` and
`ModernRelay` know how a server asks and how a client is asked in each era.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any, Final

from handraise.calls.store import NOT_SENT, Ticket
from handraise.client.recording import ASKER_ENDED
from handraise.errors import GuardRefused, HandraiseError, StoreError, WireError
from handraise.gateway.asking import Asker
from handraise.gateway.call import RelayedCall, find_call_of, find_waiting
from handraise.gateway.guards import (
    ToolHints,
    ask_first,
    question_for,
    refusal,
    refusal_unasked,
    refusal_unguarded,
)
from handraise.gateway.holding import Holding
from handraise.gateway.links import Destination, Link, Port
from handraise.gateway.messages import (
    CANCELLED,
    ELICIT,
    NAMED,
    SERVER_FAULT,
    Id,
    Message,
    cancel_for,
    error_response,
    id_key,
    input_requests,
    notice,
    request,
    unknown_target,
)
from handraise.gateway.peers import MODERN, Peer, name_of
from handraise.gateway.sentences import (
    AMBIGUOUS,
    ANSWER_KEPT,
    CANNOT_ASK,
    FORGOTTEN,
    NO_TICKET,
    REFUSED,
    RESUME,
    UNASKED,
    is_forgotten,
    text_result,
    with_resume_tool,
)
from handraise.gateway.state import GatewayState
from handraise.gateway.tasks import TaskSet
from handraise.gateway.tickets import Parked, binding_in, called
from handraise.gateway.upstreams import Source
from handraise.questions import Declined, Person
from handraise.secrets import scan_answer
from handraise.this_user import local_person

logger = logging.getLogger(__name__)

LOOK_AGAIN: Final = 15.0
"""Seconds between two looks for calls whose process is gone."""
_LEFT: Final = notice(CANCELLED, {"reason": "The client cancelled the request."})


class Relay:
    """What both eras have in common: ids, cancelling, progress, guards, and calls that wait for a person.

    An id is passed on as it came unless the server has a request of that id already, as it may where several clients
    share a server.
    """

    def __init__(self, link: Link, state: GatewayState, port: Port, person: Person | None = None) -> None:
        """`person` is whoever the transport verified, else the user of this machine."""
        self.state = state
        self.port = port
        """Where a message goes that belongs to no request."""
        self.person = person or local_person()
        self.calls: dict[Id, RelayedCall] = {}
        """The calls that are not over, by the id that the server knows."""
        self.holding = Holding(state)
        self.on_lost: Callable[[Relay], None] = _nothing
        """Told when the last server is gone."""
        self._link = link
        self._hints = ToolHints()
        self._fresh = count(1)
        self._tasks = TaskSet()
        link.on_message = self.from_server
        link.on_closed = self._lost

    # What comes from the client.

    def from_client(self, message: Message, port: Port | None = None) -> RelayedCall | None:
        """Take a message of the client's; `port` is where the answer to it goes."""
        if message.is_request:
            return self._take_request(message, port or self.port)
        if message.method == CANCELLED:
            self._take_cancel(message)
        elif message.is_notice:
            self._link.send(message)
        else:
            self._take_reply(message)
        return None

    def _take_request(self, message: Message, port: Port) -> RelayedCall:
        call = self._new_call(message, port)
        self._begin(call)
        return call

    def _begin(self, call: RelayedCall) -> None:
        """Check a call, then send it on."""
        message, state = call.message, self.state
        if _answers_with_secret(message):
            logger.warning("an answer of the client held a secret; it was not passed on")
            self.end(call, error_response(message.id, -32602, ANSWER_KEPT))
        elif _answers_elsewhere(message) and not state.client_modes(call.peer):
            self.run(self._refuse_answer(call), call)
        elif message.method == "tools/list" and state.may_park(call.peer):
            self.run(self._list_tools(call), call)
        elif message.method == "tools/call" and (
            state.may_guard or state.may_park(call.peer) or state.parked.may_join or call.name == RESUME
        ):
            self.run(self._check(call), call)
        else:
            self.forward(call)

    async def _refuse_answer(self, call: RelayedCall) -> None:
        """Record an answer of a client that cannot ask anybody, and keep it from the server."""
        with contextlib.suppress(HandraiseError):  # it is logged, and nothing was passed on
            asker = self._asker(self._link.source_of(call.message), call.peer)
            await (await self.state.asking()).note_unasked(asker, call, passes=False)
        self.end(call, error_response(call.message.id, -32602, UNASKED))

    def _new_call(self, message: Message, port: Port) -> RelayedCall:
        key = self._new_key() if id_key(message.id) in self.calls else id_key(message.id)
        call = RelayedCall(
            message, port, self._peer_of(message), key, self.person, self._link.source_of(message)
        )
        self.calls[key] = call
        return call

    def _new_key(self) -> Id:
        return f"handraise-r{next(self._fresh)}"

    def _take_cancel(self, message: Message) -> None:
        call = find_waiting(self.calls, message.params.get("requestId"))
        if call is not None:
            self.withdraw(call, message)

    def _take_reply(self, message: Message) -> None:
        """The client answers a request of the server's. One that it was not sent it cannot answer."""
        logger.warning("the client answered a request that it was not sent; nothing was passed on")

    def withdraw(self, call: RelayedCall, cancel: Message = _LEFT) -> None:
        """The client does not want this any more, as it says with `cancel`, or is gone.

        While a question of it waits at our desk, it stays answerable for the grace time.
        """
        parked = self.holding.abandon(call)
        if parked is None:
            self._withdraw(call, cancel)
        else:
            self.run(self._withdraw_later(call, parked, cancel))

    async def _withdraw_later(self, call: RelayedCall, parked: Parked, cancel: Message) -> None:
        while (left := parked.grace_left) is not None and not parked.settled.done():
            if left <= 0:
                self.state.parked.forget(parked)
                self._withdraw(call, cancel)
                self.state.parked.settle(parked, text_result(call, NO_TICKET, failed=True))
                return
            await asyncio.wait({parked.settled}, timeout=left)

    def _withdraw(self, call: RelayedCall, cancel: Message) -> None:
        if self.calls.get(call.key) is call:
            del self.calls[call.key]
            if call.state != "new":
                self._link.send(cancel_for(cancel, call.key))
        call.port = None
        call.stop()
        call.end("cancelled")

    # Before the server hears of a call.

    async def _list_tools(self, call: RelayedCall) -> None:
        """List the tools, and ours with them where calls may be parked."""
        await self._read_guards()
        if self.state.may_park(call.peer):
            call.amend = with_resume_tool
        self.forward(call)

    async def _check(self, call: RelayedCall) -> None:
        """The preflight of a call: it may be about one that waits already, and a guard may ask first."""
        await self._read_guards()
        if self._is_resume(call):
            await self._wait_for(call, await self.holding.find_ticket(call))
        elif (place := await self._link.locate(call.message)) is None:
            self.end(
                call, unknown_target(call.message.id)
            )  # a server that has it a moment later would not be guarded
        else:
            call.source = place.source
            joins = self.state.may_park(call.peer) or self.state.parked.may_join
            if joins and (found := await self.holding.find_same(call)) is not None:
                await self._wait_for(call, found)
            else:
                await self._pass_guards(call, place)

    def _is_resume(self, call: RelayedCall) -> bool:
        """Whether this is a call of our own tool, and not of one that the server has under the same name."""
        ours = self.state.may_park(call.peer) or self._hints.of(RESUME) is None
        return self.state.options.desk != "none" and call.name == RESUME and ours

    async def _wait_for(self, call: RelayedCall, found: Parked | Ticket | None) -> None:
        """Wait for another call, which is revived first if its process is gone and it can go on here."""
        if isinstance(found, Ticket):
            found = await self._revive(found) or found
        await self.holding.wait(call, found)
        self.calls.pop(call.key, None)
        call.end("result")

    async def _read_guards(self) -> None:
        """Find out whether there are guards. When they cannot be read, there may be: nothing passes them."""
        try:
            await self.state.guards()
        except HandraiseError as error:
            logger.debug("the guards cannot be read: %s", error)

    async def _pass_guards(self, call: RelayedCall, place: Destination, *, again: bool = False) -> None:
        """Send a call to its server, unless a guard of the user's is for it and they did not say yes."""
        refused = await self._guarded(call, place, again=again)
        if refused is not None:
            self.end(call, refused)
        elif await self.holding.release(call):
            self.forward(call)

    async def _guarded(self, call: RelayedCall, place: Destination, *, again: bool) -> Message | None:
        """What the client gets instead of a result; None when the call may go to its server.

        `again`: a guard asked about it in a process that is gone, so that without a guard it does not go either.
        """
        asked, decision = None, None
        try:
            rules = await self.state.guards()
            if not rules and not again:
                return None
            names = dict.fromkeys((name_of(place.message), call.name))
            server = place.source.upstream.name
            asked = question_for(rules, server, names, call.arguments, self._hints.of(call.name))
            if asked is None:
                return refusal_unguarded(call) if again else None
            asked.rule.quiet.require_over(self.person.key, asked.tool)
            if self.state.options.desk != "none":
                asking = await self.state.asking()
                call.round = NOT_SENT
                with self.holding.hold([call]):
                    decision = await ask_first(asking, self._asker(place.source, call.peer), call, asked)
                call.round = None
                if isinstance(decision.answer, Declined):
                    asked.rule.quiet.begin(self.person.key, asked.tool)
        except GuardRefused as error:
            return refusal_unasked(call, error)
        except HandraiseError as error:
            logger.error("a guard could not ask: %s", error)
        return refusal(asked, decision, call)

    def _asker(self, source: Source, peer: Peer | None) -> Asker:
        return Asker(source, self.person, peer)

    def forward(self, call: RelayedCall, message: Message | None = None) -> None:
        """Send a call to the server."""
        message = call.as_sent(message or self._prepared(call))
        call.move("send")
        self.calls[call.key] = call
        self._link.send(message)

    # What comes from the server.

    def from_server(self, message: Message) -> None:
        """Take a message of the server's."""
        if message.is_request:
            self._take_server_request(message)
        elif message.is_notice:
            self._take_server_notice(message)
        else:
            self._take_response(message)

    async def _refuse(self, message: Message) -> None:
        """Record a request of a server of 2026-07-28, where a question comes in a round, then tell the server."""
        with contextlib.suppress(HandraiseError):  # it is logged, and nothing was passed on
            why = WireError(str(message.method), "On 2026-07-28 a server asks in a round, not by a request.")
            await (await self.state.asking()).refuse(why, MODERN, self._asker(message.source, None), [])
        self._link.send(
            error_response(message.id, -32601, "2026-07-28 has no requests from a server to a client.")
        )

    def _take_server_notice(self, message: Message) -> None:
        if _carries_questions(message):
            self.run(self._judge_notice(message))
        else:
            self._pass_notice(message)

    def _pass_notice(self, message: Message) -> None:
        call = find_call_of(self.calls, message)
        if call is None:
            self.port.send(message)
        elif call.port is not None:
            call.port.send(call.as_known(message))

    def _take_response(self, message: Message) -> None:
        call = self.calls.get(id_key(message.id))
        if call is None or call.state != "sent":
            # Otherwise a server could answer, unjudged, a call that still waits for its guard.
            logger.info("a server answered a request that it was not sent; nothing was passed on")
        else:
            call.move("answer")
            try:
                self._finish(call, message)
            except Exception:
                logger.exception("an answer of a server could not be passed on")
                self.end(call, error_response(message.id, SERVER_FAULT, "The answer could not be passed on."))

    def _finish(self, call: RelayedCall, message: Message) -> None:
        """A response came for a call. The client itself takes questions further that it holds beside a round."""
        if message.requires_links or _carries_questions(message):
            self.run(self._judge(call, message), call)
        else:
            self.end(call, message)

    async def _judge(self, call: RelayedCall, message: Message) -> None:
        """Pass a response with questions on, unless the policy refuses one of them."""
        why = await self._why_refused(message, call.peer, [call])
        if why is not None:
            server = self._link.source_of(call.message).upstream.name
            message = text_result(call, REFUSED.format(server=server, why=why), failed=True)
        self.end(call, message)

    async def _judge_notice(self, message: Message) -> None:
        call = find_call_of(self.calls, message)
        peer = self._peer_of(message) if call is None else call.peer
        if await self._why_refused(message, peer, [] if call is None else [call]) is None:
            self._pass_notice(message)

    async def _why_refused(self, message: Message, peer: Peer | None, calls: list[RelayedCall]) -> str | None:
        """Why the questions in a message may not pass to the client; None when they may."""
        source = message.source or self._link.source_of(message)
        try:
            asking = await self.state.asking()
            return await asking.judge(
                message, self._asker(source, peer), calls, self.state.client_modes(peer)
            )
        except HandraiseError as error:
            logger.error("questions of %s could not be judged: %s", source.upstream.name, error)
            return "it could not be judged; the reason is in the log"

    def end(self, call: RelayedCall, message: Message) -> None:
        """A call ended: tell the waiting requests, and keep the outcome for later ones."""
        self.calls.pop(call.key, None)
        if call.message.method == "tools/list":
            self._hints.note(message)
        if message.source is not None and call.reported is not None and is_forgotten(call, message):
            self.state.tell_answer_lost(call)
            message = text_result(call, FORGOTTEN.format(server=message.source.upstream.name), failed=True)
        message = call.finished(message)
        self.holding.settle(call, message)
        call.end("error" if call.reported is not None and message.failed else "result")

    def _lost(self, source: Source, last: bool) -> None:
        """A server is gone. A call that waited for a person ends as ambiguous, and is never made again.

        Unless it is we who end: then what is parked is left to the next process.
        """
        for call in [each for each in self.calls.values() if self._link.source_of(each.message) is source]:
            if self.state.ending and call.parked is not None:
                continue
            del self.calls[call.key]
            was_sent = call.state != "new"
            call.stop(ASKER_ENDED if was_sent else None)
            self.holding.settle(call, self.holding.lost(call))
            call.end(None if was_sent else "error")
        if last:
            self.on_lost(self)

    # Calls of a process that is gone.

    def revive(self) -> None:
        """Have what was parked in a process that is gone asked again here."""
        self.run(self._watch_orphans())

    async def _watch_orphans(self) -> None:
        """Have everything asked again that can be, now and whenever another process is gone."""
        while True:
            try:
                tickets = await self.state.stored_tickets()
                for ticket in [] if tickets is None else await tickets.orphaned(self.person.key):
                    await self._revive(ticket)
            except StoreError as error:
                logger.warning("whether calls of other gateways wait cannot be found out: %s", error)
            await asyncio.sleep(LOOK_AGAIN)

    async def _revive(self, ticket: Ticket) -> Parked | None:
        """Go on with an orphaned call; None when its server is not behind us, or another process does it."""
        tickets = await self.state.stored_tickets()
        if tickets is None or ticket.outcome is not None or await tickets.standing(ticket) != "orphaned":
            return None
        place = await self._link.locate(called(ticket))
        bound = binding_in(ticket)
        if place is None or (bound.server, bound.target) != _name_and_target(place.source):
            return None
        if not await tickets.take(ticket):
            return None
        call = self._new_orphan(ticket.call["method"], ticket.call["params"])
        call.source = place.source
        parked = await self.holding.park(call, ticket.call["ticket"])
        if ticket.round == NOT_SENT:
            self.run(self._pass_guards(call, place, again=True), call)
        elif not self._reissue(call, ticket.round):
            self.end(call, text_result(call, AMBIGUOUS.format(server=bound.server), failed=True))
        return parked

    def _new_orphan(self, method: str, params: dict[str, Any]) -> RelayedCall:
        """A call that was made in another process, and for which nobody waits here."""
        message = request(self._new_key(), method, params)
        call = RelayedCall(
            message,
            None,
            self._peer_of(message),
            id_key(message.id),
            self.person,
            self._link.source_of(message),
        )
        self.calls[call.key] = call
        return call

    def _reissue(self, call: RelayedCall, round: dict[str, Any]) -> bool:
        """Have a round asked here that was asked in another process; False when its server knows no rounds now."""
        call.move("send")
        return self._link.reissue(call.message, round)

    # Beginning and end.

    async def retire(self) -> None:
        """The client is gone for good; what it parked may still be answered, then the server goes, too."""
        if self.holding.waiting:
            await asyncio.wait(self.holding.waiting)
        await self.aclose()

    async def aclose(self) -> None:
        """Withdraw what waits for a person, then let the server go."""
        for call in list(self.calls.values()):
            call.stop(ASKER_ENDED if call.parked is not None and call.round is None else None)
            if call.reported is not None:
                call.reported.end(None)
            if (
                call.parked is not None
            ):  # its ticket tells that nobody knows how it ended, and not a closed pipe
                del self.calls[call.key]
        await self._tasks.aclose()
        await self.holding.aclose()
        self._link.on_closed = _nobody_left  # it is we who let it go
        await self._link.aclose()

    def run(self, work: Coroutine[Any, Any, None], call: RelayedCall | None = None) -> asyncio.Task[None]:
        """Have something go on; it ends with the call that it belongs to."""
        task = self._tasks.run(work, None if call is None else call.tasks)
        task.add_done_callback(partial(self._tell_failure, call))
        return task

    def _tell_failure(self, call: RelayedCall | None, done: asyncio.Task[None]) -> None:
        """Nobody waits in vain because something failed here, as a store does that is away."""
        if done.cancelled() or (error := done.exception()) is None:
            return
        logger.error("what the gateway was doing could not go on", exc_info=error)
        if call is not None:
            self.end(call, text_result(call, CANNOT_ASK, failed=True))
            call.port = None

    # What differs between the eras.

    def _peer_of(self, message: Message) -> Peer | None:
        """Who sends this request."""
        raise NotImplementedError

    def _prepared(self, call: RelayedCall) -> Message:
        """The request as the server gets it."""
        raise NotImplementedError

    def _take_server_request(self, message: Message) -> None:
        raise NotImplementedError


def _carries_questions(message: Message) -> bool:
    """Whether a message holds questions that are neither a request nor the end of a round."""
    return any(asked.get("method") == ELICIT for asked in input_requests(message.body))


def _name_and_target(source: Source) -> tuple[str, str]:
    return source.upstream.name, source.upstream.target


def _nothing(relay: Relay) -> None:
    pass


def _nobody_left(source: Source, last: bool) -> None:
    pass


def _answers_elsewhere(message: Message) -> bool:
    """Whether a request that is no round answers questions, as `tasks/update` does."""
    answers = message.params.get("inputResponses")
    if message.method in NAMED or not isinstance(answers, dict):
        return False
    return any(isinstance(each, dict) and "action" in each for each in answers.values())


def _answers_with_secret(message: Message) -> bool:
    """Whether answers to questions that the client took further itself, as of a task, hold a secret."""
    answers = message.params.get("inputResponses")
    if not isinstance(answers, dict):
        return False
    contents = [each.get("content") for each in answers.values() if isinstance(each, dict)]
    findings = [finding for each in contents if isinstance(each, dict) for finding in scan_answer(each)]
    return any(finding.tier == 1 for finding in findings)
