"""Between one client and its server: every message passes through here, and what is no question passes unchanged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from handraise.errors import HandraiseError
from handraise.gateway.addressing import PROGRESS, addressed, annotated, renamed, token_at_server
from handraise.gateway.calls import Call
from handraise.gateway.holding import RESUME, Holding, with_resume_tool
from handraise.gateway.links import Link, Port
from handraise.gateway.messages import Id, Message, known, notice, request
from handraise.gateway.parked import Binding, Parked, sameness
from handraise.gateway.peers import SUBSCRIPTION_KEY, Peer
from handraise.gateway.upstreams import Source

if TYPE_CHECKING:
    from handraise.conversation.tickets import Ticket
    from handraise.gateway.home import BeforeCall, Home
    from handraise.questions import Person

logger = logging.getLogger(__name__)

CANCELLED: Final = "notifications/cancelled"
ASKER_ENDED: Final = "the asker ended while it was asking"
"""Why a question is cancelled whose server is gone; `handraise.client.recording` knows it, which is loaded later."""


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
        self.holding = Holding(home, self._bind, self._server_of, self._revive)
        self._link = link
        self._person = person
        self._fresh = count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._hints: dict[str, dict[str, Any]] = {}
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

    def withdraw(self, call: Call) -> None:
        """The client does not want this any more, or is gone."""
        if self.calls.get(call.key) is call:
            del self.calls[call.key]
            self._link.send(
                notice(CANCELLED, {"requestId": call.key, "reason": "The client cancelled the request."})
            )
        call.port = None
        call.withdraw()

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
            call.withdraw()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._link.on_closed = lambda source, last: None  # it is we who let it go
        await self._link.aclose()

    def _bind(self, call: Call) -> Binding:
        return sameness(call, self.person.key, self._server_of(call))

    def _server_of(self, call: Call) -> str:
        return self._link.source_of(call.message).upstream.name

    async def _revive(self, ticket: Ticket, secret: str) -> Parked:
        """Go on with a call that was parked in a process that is gone."""
        message = request(f"handraise-{next(self._fresh)}", ticket.call["method"], ticket.call["params"])
        call = Call(message, None, self._peer_of(message), known(message.id))
        parked = await self.holding.park(call, secret)
        self._reissue(call, ticket.round)
        return parked

    def _reissue(self, call: Call, round: dict[str, Any]) -> None:
        """Have a round asked here that was asked in another process before."""
        self.calls[call.key] = call
        self._link.reissue(call.message, round)

    def _peer_of(self, message: Message) -> Peer | None:
        """Who sends this request."""
        raise NotImplementedError

    def _prepared(self, call: Call) -> Message:
        """The request as the server gets it."""
        return call.message

    def _take_server_request(self, message: Message) -> None:
        raise NotImplementedError

    def _take_reply(self, message: Message) -> None:
        """The client answers a request of the server's."""
        self._link.send(message)

    def _finish(self, call: Call, message: Message) -> None:
        """A response came for a call that nobody asked about, or whose questions are over."""
        self.end(call, message)

    def _take_request(self, message: Message, port: Port) -> Call:
        assert message.id is not None
        key = message.id if message.id not in self.calls else f"handraise-{next(self._fresh)}"
        call = Call(message, port, self._peer_of(message), key)
        if message.method == "tools/call" and self._handle_call(call):
            return call
        if message.method == "tools/list" and self.home.serves(call.peer):
            call.amend = with_resume_tool
        if self.home.before_call is not None and call.may_ask:
            self.run(self._guarded(call, self.home.before_call), call)
        elif message.method == "tools/call" and self.home.may_guard:
            self.run(self._ask_first(call), call)
        else:
            self.forward(call)
        return call

    def _handle_call(self, call: Call) -> bool:
        """Whether the call is one for us: to resume another, or one that waits for its person already."""
        if not self.home.serves(call.peer):
            return False
        if call.name == RESUME:
            self.run(self.holding.resume(call), call)
            return True
        return self.holding.join(call, self.run)

    async def _guarded(self, call: Call, before_call: BeforeCall) -> None:
        answer = await before_call(call)
        if answer is None:
            self.forward(call)
        else:
            call.answer(answer)

    async def _ask_first(self, call: Call) -> None:
        """Have the user decide about a call that a guard of theirs is for, before it goes to its server."""
        from handraise.gateway import guarding

        source, decision = self._link.source_of(call.message), None
        try:
            rules = await self.home.guards()
            question = guarding.question_for(rules, source.upstream.name, call, self._hints.get(call.name))
            if question is None:
                self.forward(call)
                return
            if self.home.options.desk != "none":
                from handraise.gateway.asking import Asker
                from handraise.revisions import Revision

                asking = await self.home.asking()
                asker = Asker(source.upstream, source.claimed, self.person, call.peer)
                with self.holding.holding([call]):
                    decision = await asking.decide(question, Revision.JULY_2026, asker, [call])
        except HandraiseError as error:
            logger.error("a guard could not ask: %s", error)
        refused = guarding.refusal(decision, call)
        if refused is None:
            self.forward(call)
        else:
            self.end(call, refused)

    def _note_hints(self, message: Message) -> None:
        """Remember what tools say about themselves; one that was never listed said nothing."""
        tools = (message.result or {}).get("tools")
        for tool in tools if isinstance(tools, list) else []:
            if isinstance(tool, dict) and isinstance(name := tool.get("name"), str):
                said = tool.get("annotations")
                self._hints[name] = said if isinstance(said, dict) else {}

    def forward(self, call: Call, message: Message | None = None) -> None:
        """Send a call to the server."""
        message = message or self._prepared(call)
        if message.id != call.key:
            message = renamed(message, call.key)
        self.calls[call.key] = call
        self._link.send(message)

    def _take_cancel(self, message: Message) -> None:
        wanted = message.params.get("requestId")
        call = next((each for each in self.calls.values() if each.message.id == wanted), None)
        if call is not None:
            del self.calls[call.key]
            call.withdraw()
            if call.key != wanted:
                message = message.with_(params={**message.params, "requestId": call.key})
        self._link.send(message)

    def _take_server_notice(self, message: Message) -> None:
        call = self._call_of(message)
        if call is None:
            self.port.send(message)
        elif call.port is not None:
            call.port.send(addressed(call, message))

    def _call_of(self, message: Message) -> Call | None:
        """The call to which a message of the server's belongs, where that can be told."""
        if message.about is not None:
            return self.calls.get(message.about)
        if message.method == PROGRESS:
            token = message.params.get("progressToken")
            return next((call for call in self.calls.values() if token_at_server(call) == token), None)
        meta = message.params.get("_meta")
        return self.calls.get(meta.get(SUBSCRIPTION_KEY, "")) if isinstance(meta, dict) else None

    def _take_response(self, message: Message) -> None:
        call = self.calls.pop(message.id, None) if message.id is not None else None
        if call is None:
            self.port.send(message)
        else:
            self._finish(call, message)

    def end(self, call: Call, message: Message) -> None:
        """A call came to its end: tell whoever waits for it, and keep it for those who come later."""
        if call.message.method == "tools/list":
            self._note_hints(message)
        if call.amend is not None and message.result is not None:
            message = call.amend(message)
        if call.notes and message.result is not None:
            message = annotated(message, call.notes)
        self.holding.settle(call, message)

    def run(self, work: Coroutine[Any, Any, None], call: Call | None = None) -> asyncio.Task[None]:
        """Have something go on; it ends with the call that it belongs to."""
        task = asyncio.ensure_future(work)
        for tasks in (self._tasks, *([call.tasks] if call is not None else [])):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    def _lost(self, source: Source, last: bool) -> None:
        """A server is gone. A call that waited for a person ends as ambiguous, and is never made again."""
        for call in [each for each in self.calls.values() if self._link.source_of(each.message) is source]:
            del self.calls[call.key]
            call.withdraw(ASKER_ENDED)
            self.holding.settle(call, self.holding.lost(call))
        if last:
            self.home.on_lost(self)
