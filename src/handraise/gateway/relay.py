"""The relay between one client and its server. Every message passes through it.

A call passes `from_client`, then `_check` (does the same call wait already, does a guard ask first?), `forward` to the
server, and `end` with the response. `QuestionHandler` judges the questions. `LegacyRelay` and `ModernRelay` know how
servers and clients ask in each era.
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
from handraise.errors import HandraiseError, StoreError, WireError
from handraise.gateway.asking import Asker
from handraise.gateway.call import RelayedCall, find_call_of, find_waiting
from handraise.gateway.client_desk import answers_in, why_kept
from handraise.gateway.guards import ToolHints, guard_call
from handraise.gateway.holding import Holding
from handraise.gateway.links import Destination, Link, Port, TaskSet
from handraise.gateway.messages import (
    CANCELLED,
    NAMED,
    PROGRESS,
    SERVER_FAULT,
    Id,
    Message,
    cancel_for,
    error_response,
    id_key,
    notice,
    request,
    unknown_target,
)
from handraise.gateway.peers import MODERN, Peer
from handraise.gateway.sentences import (
    AMBIGUOUS,
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
from handraise.gateway.tickets import Parked, binding_in, called
from handraise.gateway.upstreams import Source
from handraise.questions import Person
from handraise.this_user import local_person

logger = logging.getLogger(__name__)

LOOK_AGAIN: Final = 15.0
"""Seconds between two searches for calls whose process is gone."""
_MOST_IN_TASKS: Final = 4096
_OWN_IDS: Final = "handraise-"
"""The ids of our own requests begin so. The attack: a client uses such an id, and gets or loses what is ours."""
_SESSION_ENDED: Final = "The session has ended, and this request with it."
_LEFT: Final = notice(CANCELLED, {"reason": "The client cancelled the request."})


class Relay:
    """The part that both eras share: ids, cancellation, progress, guards, and parked calls.

    A request keeps its id unless the server has an open request with that id, as when several clients share a server,
    or the id could be one of ours.
    """

    def __init__(self, link: Link, state: GatewayState, port: Port, person: Person | None = None) -> None:
        """`person`: default is the user of this computer."""
        self.state = state
        self.port = port
        """For messages that belong to no request."""
        self.person = person or local_person()
        self.user = "" if person is None else person.subject
        """The name of the person, where several share the gateway."""
        self.calls: dict[Id, RelayedCall] = {}
        """The open calls, by the id that the server knows."""
        self.holding = Holding(state)
        self.on_lost: Callable[[Relay], None] = lambda relay: None
        """Called when the last server is gone."""
        self._link = link
        self._hints = ToolHints()
        self._fresh = count(1)
        self._tasks = TaskSet()
        self._looking = asyncio.Lock()
        self._asked_in_tasks: dict[tuple[str, str], None] = {}
        """The questions of tasks that the client got, by task and key."""
        link.on_message = self.from_server
        link.on_closed = self._lost

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits for a call. Nobody does when its client hung up and it asks nothing."""
        awaited = any(call.open or not call.left for call in self.calls.values())
        return awaited or bool(self.holding.waiting)

    # Messages from the client.

    def from_client(self, message: Message, port: Port | None = None) -> RelayedCall | None:
        """Handle a message from the client. The answer to a request goes to `port`."""
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
        """Check a call, then forward it."""
        if answers_in(call.message):
            self.run(self._check_answers(call), call)
        else:
            self._check_call(call)

    async def _check_answers(self, call: RelayedCall) -> None:
        """Check the answers in a call: no secret leaves, and none to a question that was not asked.

        The attack: to look through an answer takes a second, for which everybody waits. So a thread does it, and one
        call of this client after the other.
        """
        message = call.message
        async with self._looking:
            why = await asyncio.to_thread(why_kept, message)
        if why is not None:
            logger.warning("an answer of the client was not passed on: %s", why)
            self.end(call, error_response(message.id, -32602, why))
        elif message.method not in NAMED and not self._was_asked(message):
            with contextlib.suppress(HandraiseError):  # it is logged, and nothing was passed on
                asker = self._asker(self._link.source_of(message), call.peer)
                await (await self.state.asking()).note_unasked(asker, call, passes=False)
            self.end(call, error_response(message.id, -32602, UNASKED))
        else:
            self._check_call(call)

    def _check_call(self, call: RelayedCall) -> None:
        message, state = call.message, self.state
        if message.method == "tools/list" and state.may_park(call.peer):
            self.run(self._list_tools(call), call)
        elif message.method == "tools/call" and (
            state.may_guard or state.may_park(call.peer) or state.parked.may_join or call.name == RESUME
        ):
            self.run(self._check(call), call)
        else:
            self.forward(call)

    def _was_asked(self, message: Message) -> bool:
        """Whether the client got all questions that a request answers, as `tasks/update` does.

        The attack: it answers a question of a task that the policy refused, or that it could not ask its person.
        """
        task = str(message.params.get("taskId", ""))
        return all((task, key) in self._asked_in_tasks for key in answers_in(message))

    def _note_questions(self, message: Message, call: RelayedCall | None) -> None:
        """Remember the questions of tasks that the client gets, but only the latest."""
        task = "" if call is None else str(call.message.params.get("taskId", ""))
        self._asked_in_tasks.update(dict.fromkeys(message.inside.questions_by_key(task)))
        while len(self._asked_in_tasks) > _MOST_IN_TASKS:
            del self._asked_in_tasks[next(iter(self._asked_in_tasks))]

    def _new_call(self, message: Message, port: Port) -> RelayedCall:
        key = id_key(message.id)
        if key in self.calls or str(key).startswith(_OWN_IDS):
            key = self._new_key()
        call = RelayedCall(
            message, port, self._peer_of(message), key, self.person, self._link.source_of(message)
        )
        self.calls[key] = call
        return call

    def _new_key(self) -> Id:
        return f"{_OWN_IDS}r{next(self._fresh)}"

    def _take_cancel(self, message: Message) -> None:
        call = find_waiting(self.calls, message.params.get("requestId"))
        if call is not None:
            self.withdraw(call, message)

    def _take_reply(self, message: Message) -> None:
        """Drop a response to a request that the client was not sent."""
        logger.warning("the client answered a request that it was not sent; nothing was passed on")

    def withdraw(self, call: RelayedCall, cancel: Message = _LEFT) -> None:
        """Cancel a call because its client sent `cancel`, or left.

        A question that waits at our desk stays answerable for the grace time.
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

    # Before a call goes to the server.

    async def _list_tools(self, call: RelayedCall) -> None:
        """List the tools. If calls may be parked, add our resume tool."""
        await self._read_guards()
        if self.state.may_park(call.peer):
            call.amend = with_resume_tool
        self.forward(call)

    async def _check(self, call: RelayedCall) -> None:
        """Join the same call if it waits already; else pass the guards."""
        await self._read_guards()
        if self._is_resume(call):
            await self._wait_for(call, await self.holding.find_ticket(call))
        elif (place := await self._link.locate(call.message)) is None:
            # Not forwarded: a server that adds this tool a moment later would run it unguarded.
            self.end(call, unknown_target(call.message.id))
        else:
            call.source = place.source
            joins = self.state.may_park(call.peer) or self.state.parked.may_join
            if joins and (found := await self.holding.find_same(call)) is not None:
                await self._wait_for(call, found)
            else:
                await self._pass_guards(call, place)

    def _is_resume(self, call: RelayedCall) -> bool:
        """Whether this is a call of our own resume tool, not of a server's tool with the same name."""
        ours = self.state.may_park(call.peer) or self._hints.of(RESUME) is None
        return self.state.options.desk != "none" and call.name == RESUME and ours

    async def _wait_for(self, call: RelayedCall, found: Parked | Ticket | None) -> None:
        """Wait for another call. If its process is gone, revive it here first."""
        if isinstance(found, Ticket):
            found = await self._revive(found) or found
        await self.holding.wait(call, found)
        self.calls.pop(call.key, None)
        call.end("result")

    async def _read_guards(self) -> None:
        """Read the guards. On failure `guard_call` refuses every call."""
        try:
            await self.state.guards()
        except HandraiseError as error:
            logger.debug("the guards cannot be read: %s", error)

    async def _pass_guards(self, call: RelayedCall, place: Destination, *, again: bool = False) -> None:
        """Forward a call unless a guard stops it."""
        asker = self._asker(place.source, call.peer)
        refused = await guard_call(self.state, self.holding, self._hints, call, place, asker, again=again)
        if refused is not None:
            self.end(call, refused)
        elif await self.holding.release(call):
            call.message.source = place.source  # the yes is for this server, whichever has the tool by now
            self.forward(call)

    def _asker(self, source: Source, peer: Peer | None) -> Asker:
        return Asker(source, self.person, peer)

    def forward(self, call: RelayedCall, message: Message | None = None) -> None:
        """Send a call to the server."""
        message = call.as_sent(message or self._prepared(call))
        call.move("send")
        self.calls[call.key] = call
        self._link.send(message)

    # Messages from the server.

    def from_server(self, message: Message) -> None:
        """Handle a message from the server."""
        if message.is_request:
            self._take_server_request(message)
        elif message.is_notice:
            self._take_server_notice(message)
        else:
            self._take_response(message)

    async def _refuse(
        self, message: Message, why: str = "2026-07-28 has no requests from a server to a client."
    ) -> None:
        """Record and refuse a server's request. On 2026-07-28 questions come in rounds."""
        with contextlib.suppress(HandraiseError):  # it is logged, and nothing was passed on
            error = WireError(str(message.method), why)
            await (await self.state.asking()).refuse(error, MODERN, self._asker(message.source, None), [])
        self._link.send(error_response(message.id, -32601, why))

    def _take_server_notice(self, message: Message) -> None:
        if message.inside.carries_questions:
            self.run(self._judge_notice(message))
        else:
            self._pass_notice(message)

    def _pass_notice(self, message: Message) -> None:
        call = find_call_of(self.calls, message)
        if call is None:
            self.port.send(message)
        elif message.method == PROGRESS and not self._is_for(call, message.source):
            logger.warning("a server told the progress of a call to another one; nothing was passed on")
        elif call.port is not None:
            call.port.send(call.as_known(message))

    def _is_for(self, call: RelayedCall, source: Source) -> bool:
        """Whether a call is for this server."""
        return self._link.source_of(call.message) is source

    def _take_response(self, message: Message) -> None:
        call = self.calls.get(id_key(message.id))
        if call is not None and call.state != "new" and message.lost:
            self._lose(call, message)
        elif call is None or call.state != "sent":
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
        """Handle the response to a call. Questions outside a round are judged before the client gets them."""
        if message.inside.carries_questions:
            self.run(self._judge(call, message), call)
        else:
            self.end(call, message)

    async def _judge(self, call: RelayedCall, message: Message) -> None:
        """Pass on a response that carries questions, unless the policy refuses one of them."""
        why = await self._why_refused(message, call.peer, [call])
        if why is not None:
            server = self._link.source_of(call.message).upstream.name
            message = text_result(call, REFUSED.format(server=server, why=why), failed=True)
        else:
            self._note_questions(message, call)
        self.end(call, message)

    async def _judge_notice(self, message: Message) -> None:
        call = find_call_of(self.calls, message)
        peer = self._peer_of(message) if call is None else call.peer
        if await self._why_refused(message, peer, [] if call is None else [call]) is None:
            self._note_questions(message, call)
            self._pass_notice(message)

    async def _why_refused(self, message: Message, peer: Peer | None, calls: list[RelayedCall]) -> str | None:
        """Why the policy refuses the questions in a message; None when it allows them."""
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
        """End a call: answer its client and settle its ticket."""
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
        """End the calls of a server that is gone. While we shut down, parked calls are left to the next process."""
        for call in [each for each in self.calls.values() if last or self._is_for(each, source)]:
            if self.state.ending and call.parked is not None:
                continue
            self._lose(call)
        if last:
            self.on_lost(self)

    def _lose(self, call: RelayedCall, told: Message | None = None) -> None:
        """End a call whose server is gone. One that waited for a person ends as ambiguous, without a retry.

        `told`: the error for one that did not.
        """
        del self.calls[call.key]
        was_sent = call.state != "new"
        call.stop(ASKER_ENDED if was_sent else None)
        self.holding.settle(call, self.holding.lost(call, told))
        call.end(None if was_sent else "error")

    # Calls whose process is gone.

    def revive(self) -> None:
        """Ask the questions of parked calls here whose process is gone."""
        self.run(self._watch_orphans())

    async def _watch_orphans(self) -> None:
        """Revive orphaned calls now and whenever another process is gone."""
        while True:
            try:
                tickets = await self.state.stored_tickets()
                for ticket in [] if tickets is None else await tickets.orphaned(self.person.key):
                    await self._revive(ticket)
            except StoreError as error:
                logger.warning("cannot look for parked calls of other gateways: %s", error)
            await asyncio.sleep(LOOK_AGAIN)

    async def _revive(self, ticket: Ticket) -> Parked | None:
        """Continue an orphaned call; None when its server is not behind us, or another process took it."""
        tickets = await self.state.stored_tickets()
        if tickets is None or ticket.outcome is not None or await tickets.standing(ticket) != "orphaned":
            return None
        place = await self._link.locate(called(ticket))
        bound = binding_in(ticket)
        if place is None:
            return None
        upstream = place.source.upstream
        if (bound.server, bound.target) != (upstream.name, upstream.target) or not await tickets.take(ticket):
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
        """A call that no client waits for: one from another process, or one of our own."""
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
        """Ask a round here that was asked in another process; False when the server has no rounds now."""
        call.move("send")
        return self._link.reissue(call.message, round)

    # Beginning and end.

    async def retire(self) -> None:
        """The client has left, or ended its session: end its open requests, wait for its parked calls, then close."""
        for call in [call for call in self.calls.values() if call.port is not None]:
            call.answer(error_response(call.message.id, SERVER_FAULT, _SESSION_ENDED))
            call.port = None
            if call.parked is None:  # otherwise another client may wait for it
                self._withdraw(call, _LEFT)
        if self.holding.waiting:
            await asyncio.wait(self.holding.waiting)
        await self.aclose()

    async def aclose(self) -> None:
        """Withdraw open questions, then disconnect the server."""
        for call in list(self.calls.values()):
            call.stop(ASKER_ENDED if call.parked is not None and call.round is None else None)
            if call.reported is not None:
                call.reported.end(None)
            if call.parked is not None:  # its ticket stays open; the closed link must not settle it
                del self.calls[call.key]
        await self._tasks.aclose()
        await self.holding.aclose()
        self._link.on_closed = lambda source, last: None  # we close it ourselves
        await self._link.aclose()

    def run(self, work: Coroutine[Any, Any, None], call: RelayedCall | None = None) -> asyncio.Task[None]:
        """Run work in a task, which ends with `call`."""
        task = self._tasks.run(work, None if call is None else call.tasks)
        task.add_done_callback(partial(self._tell_failure, call))
        return task

    def _tell_failure(self, call: RelayedCall | None, done: asyncio.Task[None]) -> None:
        """Answer a call whose task failed, for example because the store is away."""
        if done.cancelled() or (error := done.exception()) is None:
            return
        logger.error("a task of the gateway failed", exc_info=error)
        if call is not None:
            self.end(call, text_result(call, CANNOT_ASK, failed=True))
            call.port = None

    # Different in each era.

    def _peer_of(self, message: Message) -> Peer | None:
        """The client that sends this request."""
        raise NotImplementedError

    def _prepared(self, call: RelayedCall) -> Message:
        """The request as the server gets it."""
        raise NotImplementedError

    def _take_server_request(self, message: Message) -> None:
        raise NotImplementedError
