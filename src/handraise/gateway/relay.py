"""Between one client and its server: every message passes through here, and arrives as it was meant."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from handraise.gateway.addressing import addressed, concerned, finished, readdressed, renamed, with_id
from handraise.gateway.calls import Call
from handraise.gateway.entrance import Entrance
from handraise.gateway.errands import Errands
from handraise.gateway.guarded import Guarded
from handraise.gateway.home import CANNOT_ASK
from handraise.gateway.links import Link, Place, Port
from handraise.gateway.messages import Id, Message, input_requests, known, notice, request
from handraise.gateway.methods import CANCELLED, ELICIT
from handraise.gateway.parking.holding import Holding
from handraise.gateway.parking.parked import Binding, sameness
from handraise.gateway.parking.reviving import Reviving
from handraise.gateway.peers import Peer
from handraise.gateway.sentences import AMBIGUOUS, FORGOTTEN, REFUSED, is_forgotten, told
from handraise.gateway.upstreams import Source

if TYPE_CHECKING:
    from handraise.gateway.home import Home
    from handraise.questions import Person

ASKER_ENDED: Final = "the asker ended while it was asking"
"""Why a question is cancelled whose server is gone; `handraise.client.recording` knows it, which is loaded later."""

_LEFT: Final = notice(CANCELLED, {"reason": "The client cancelled the request."})

logger = logging.getLogger(__name__)


class Relay:
    """What both eras have in common: ids, cancelling, progress, and calls that wait for a person.

    An id is passed on as it came unless the server has a request of that id already, as it may where several clients
    share a server.
    """

    def __init__(self, link: Link, home: Home, port: Port, person: Person | None = None) -> None:
        self.home = home
        self.port = port
        """Where a message goes that belongs to no request."""
        self.calls: dict[Id, Call] = {}
        """What the server was sent and has not answered."""
        self._link = link
        self._person = person
        self._fresh = count(1)
        self._errands = Errands()
        self.holding = Holding(home, self._bind, lambda ticket: self._reviving.one(ticket))
        self._entrance = Entrance(
            home, link, self.holding, Guarded(home, self.holding, lambda: self.person), self.forward, self.end
        )
        self._reviving = Reviving(
            home, link, lambda: self.person, self._begun, self.holding.park, self._go_on
        )
        link.on_message = self.from_server
        link.on_closed = self._lost

    def from_client(self, message: Message, port: Port | None = None) -> Call | None:
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

    def from_server(self, message: Message) -> None:
        """Take a message of the server's."""
        if message.is_request:
            self._take_server_request(message)
        elif message.is_notice:
            self._take_server_notice(message)
        else:
            self._take_response(message)

    def withdraw(self, call: Call, cancel: Message = _LEFT) -> None:
        """The client does not want this any more, as it says with `cancel`, or is gone."""
        self._entrance.leave(call)
        if self.calls.get(call.key) is call:
            del self.calls[call.key]
            self._link.send(readdressed(cancel, call.key))
        call.port = None
        call.withdraw()
        call.end("cancelled")

    @property
    def person(self) -> Person:
        """Who is asked: whoever the transport verified, else the user of this machine."""
        return self._person or self.home.local_person()

    async def retire(self) -> None:
        """The client is gone for good; what it parked may still be answered, then the server goes, too."""
        if self.holding.waiting:
            await asyncio.wait(self.holding.waiting)
        await self.aclose()

    async def aclose(self) -> None:
        """Withdraw what waits for a person, then let the server go."""
        for call in list(self.calls.values()):
            call.withdraw(ASKER_ENDED if call.parked is not None and call.round is None else None)
            call.end(None)
        await self._errands.aclose()
        await self.holding.aclose()
        self._link.on_closed = lambda source, last: None  # it is we who let it go
        await self._link.aclose()

    def revive(self) -> None:
        """Have what was parked in a process that is gone asked again here."""
        self.run(self._reviving.watch())

    def _bind(self, call: Call) -> Binding:
        upstream = self._link.source_of(call.message).upstream
        return sameness(call.message, self.person.key, upstream.name, upstream.target)

    def _begun(self, method: str, params: dict[str, Any]) -> Call:
        """A call that was made in another process, and for which nobody waits here."""
        message = request(self._new_key(), method, params)
        return Call(message, None, self._peer_of(message), known(message.id))

    def _go_on(self, call: Call, place: Place, round: dict[str, Any]) -> None:
        """Have a call that was parked in another process asked about again: by its guard, or by its server's round."""
        from handraise.conversation.tickets import NOT_SENT

        if round == NOT_SENT:
            self.run(self._entrance.take_again(call, place), call)
        elif not self._reissue(call, round):
            self.end(call, told(call, AMBIGUOUS.format(server=place.source.upstream.name), failed=True))

    def _reissue(self, call: Call, round: dict[str, Any]) -> bool:
        """Have a round asked here that was asked in another process; False when its server knows no rounds now."""
        self.calls[call.key] = call
        return self._link.reissue(call.message, round)

    def _peer_of(self, message: Message) -> Peer | None:
        """Who sends this request."""
        raise NotImplementedError

    def _prepared(self, call: Call) -> Message:
        """The request as the server gets it."""
        return call.message

    def _take_server_request(self, message: Message) -> None:
        raise NotImplementedError

    def _take_reply(self, message: Message) -> None:
        """The client answers a request of the server's. One that it was not sent it cannot answer."""
        logger.warning("the client answered a request that it was not sent; nothing was passed on")

    def _finish(self, call: Call, message: Message) -> None:
        """A response came for a call. The client itself takes questions further that it holds beside a round."""
        if message.requires_links or _asks_by_the_way(message):
            self.run(self._judge(call, message), call)
        else:
            self.end(call, message)

    async def _judge(self, call: Call, message: Message) -> None:
        """Pass a response with questions on, unless the policy refuses one of them."""
        why = await self._why_not(message, call.peer, [call])
        if why is not None:
            server = self._link.source_of(call.message).upstream.name
            message = told(call, REFUSED.format(server=server, why=why), failed=True)
        self.end(call, message)

    async def _judge_notice(self, message: Message) -> None:
        call = concerned(self.calls, message)
        peer = self._peer_of(message) if call is None else call.peer
        if await self._why_not(message, peer, [] if call is None else [call]) is None:
            self._pass_notice(message)

    async def _why_not(self, message: Message, peer: Peer | None, calls: list[Call]) -> str | None:
        """Why the questions in a message may not pass to the client; None when they may."""
        from handraise.errors import HandraiseError

        source = message.source or self._link.source_of(message)
        try:
            asking = await self.home.asking()
            from handraise.gateway.asking import Asker

            return await asking.judge(
                message, Asker(source, self.person, peer), calls, lambda mode: self.home.asks_here(peer, mode)
            )
        except HandraiseError as error:
            logger.error("questions of %s could not be judged: %s", source.upstream.name, error)
            return "it could not be judged; the reason is in the log"

    def _take_request(self, message: Message, port: Port) -> Call:
        call = self._made(message, port)
        if (work := self._entrance.take(call)) is None:
            self.forward(call)
        else:
            self.run(work, call)
        return call

    def _made(self, message: Message, port: Port) -> Call:
        assert message.id is not None
        taken = message.id in self.calls or message.id in self._entrance.calls
        return Call(message, port, self._peer_of(message), self._new_key() if taken else message.id)

    def _new_key(self) -> Id:
        return f"handraise-r{next(self._fresh)}"

    def forward(self, call: Call, message: Message | None = None) -> None:
        """Send a call to the server."""
        message = message or self._prepared(call)
        if message.id != call.key:
            message = renamed(message, call.key)
        self._entrance.leave(call)
        self.calls[call.key] = call
        self._link.send(message)

    def _take_cancel(self, message: Message) -> None:
        wanted = message.params.get("requestId")
        call = with_id(self._entrance.calls, wanted) or with_id(self.calls, wanted)
        if call is None:
            self._link.send(message)
        else:
            self.withdraw(call, message)

    def _take_server_notice(self, message: Message) -> None:
        if _asks_by_the_way(message):
            self.run(self._judge_notice(message))
        else:
            self._pass_notice(message)

    def _pass_notice(self, message: Message) -> None:
        call = concerned(self.calls, message)
        if call is None:
            self.port.send(message)
        elif call.port is not None:
            call.port.send(addressed(call, message))

    def _take_response(self, message: Message) -> None:
        call = self.calls.pop(message.id, None) if message.id is not None else None
        if call is None:  # else a server could answer, unjudged, a call that still waits for its guard
            logger.info("a server answered a request that it was not sent; nothing was passed on")
        else:
            self._finish(call, message)

    def end(self, call: Call, message: Message) -> None:
        """A call came to its end: tell whoever waits for it, and keep it for those who come later."""
        self._entrance.leave(call)
        if call.message.method == "tools/list":
            self._entrance.note_tools(message)
        if call.cause is not None and is_forgotten(call, message):
            self.home.tell_in_vain(call)
            message = told(call, FORGOTTEN.format(server=message.source.upstream.name), failed=True)
        message = finished(call, message)
        self.holding.settle(call, message)
        if call.cause is not None:  # else a long result would be parsed for nothing
            call.end("error" if message.failed else "result")

    def run(self, work: Coroutine[Any, Any, None], call: Call | None = None) -> asyncio.Task[None]:
        """Have something go on; it ends with the call that it belongs to."""
        task = self._errands.run(work, None if call is None else call.tasks)
        task.add_done_callback(lambda done: self._tell_failure(done, call))
        return task

    def _tell_failure(self, done: asyncio.Task[None], call: Call | None) -> None:
        """Nobody waits in vain because something failed here, as a store does that is away."""
        if done.cancelled() or (error := done.exception()) is None:
            return
        logger.error("what the gateway was doing could not go on", exc_info=error)
        if call is not None:
            self.end(call, told(call, CANNOT_ASK, failed=True))
            call.port = None

    def _lost(self, source: Source, last: bool) -> None:
        """A server is gone. A call that waited for a person ends as ambiguous, and is never made again.

        Unless it is we who end: then what is parked is left to the next process.
        """
        for calls, told_of in ((self._entrance.calls, None), (self.calls, ASKER_ENDED)):
            for call in [each for each in calls.values() if self._link.source_of(each.message) is source]:
                if self.home.ending and call.parked is not None:
                    continue
                del calls[call.key]
                call.withdraw(told_of)
                self.holding.settle(call, self.holding.lost(call, sent=calls is self.calls))
                call.end(None if calls is self.calls else "error")
        if last:
            self.home.on_lost(self)


def _asks_by_the_way(message: Message) -> bool:
    """Whether a message holds questions that are neither a request nor the end of a round."""
    return any(asked.get("method") == ELICIT for asked in input_requests(message.body))
