"""The relay on the revisions on which a server asks by a request of its own: 2025-06-18 and 2025-11-25."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from handraise.gateway.calls import Call
from handraise.gateway.home import CANNOT_ASK
from handraise.gateway.links import Port
from handraise.gateway.links_first import MOST_TIMES, LinksFirst
from handraise.gateway.messages import Id, Message, fault, known, response
from handraise.gateway.methods import CANCELLED, COMPLETE, ELICIT
from handraise.gateway.peers import JUNE, LEGACY, NOVEMBER, Peer, claimed_in, peer_of_initialize, union
from handraise.gateway.relay import ASKER_ENDED, Relay
from handraise.gateway.sentences import NOT_OPENED, told
from handraise.gateway.upstreams import Source

if TYPE_CHECKING:
    from handraise.desks import Decision
    from handraise.gateway.asking import Asker, Asking
    from handraise.gateway.at_client import AtClient
    from handraise.questions import Question
    from handraise.revisions import Revision


_MOST_PASSED: Final = 4096


class LegacyRelay(Relay):
    """Between a client that shook hands and its server."""

    peer: Peer | None = None
    """The client, from its `initialize` on."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._asked: dict[Id, AtClient] = {}
        self._questions: dict[Id, tuple[Message, asyncio.Task[None]]] = {}
        self._beside: dict[Id, Message] = {}
        """What a round wants from the client itself, beside questions."""
        self._passed: dict[Id, None] = {}
        """Requests of the server's that the client was sent and has not answered, the oldest first."""
        self._links_first = LinksFirst()

    def from_client(self, message: Message, port: Port | None = None) -> Call | None:
        call = super().from_client(message, port)
        if message.method == "notifications/initialized":
            self.revive()
        return call

    def _peer_of(self, message: Message) -> Peer | None:
        if message.method == "initialize":
            self.peer = peer_of_initialize(message.params)
        return self.peer

    def _prepared(self, call: Call) -> Message:
        message = self._offered(call)
        if message.method != "initialize":  # before it has its answer, a client need not take requests
            message.opens_links = not self.home.asks_here(self.peer, "url")
        return message

    def _offered(self, call: Call) -> Message:
        """An `initialize` tells the server what our desk can do beside what the client can."""
        message = call.message
        if message.method != "initialize" or self.peer is None:
            return message
        call.amend = self._initialized
        if not self.home.serves(self.peer):
            return message
        offered = {
            "protocolVersion": NOVEMBER if self.peer.revision in LEGACY else self.peer.revision,
            "capabilities": union(self.peer.capabilities, self.home.modes),
        }
        return message.with_(params={**message.params, **offered})

    def _initialized(self, message: Message) -> Message:
        """Note what the server says of itself; the client keeps the revision that it offered."""
        result = message.result or {}
        message.source.revision = agreed = str(result.get("protocolVersion", ""))
        message.source.claimed = claimed_in(result)
        offered = self.peer.revision if self.peer is not None else agreed
        if offered in LEGACY and agreed in LEGACY and offered < agreed:
            return message.with_(result={**result, "protocolVersion": offered})
        return message

    def _take_server_request(self, message: Message) -> None:
        if message.method == ELICIT and message.id is not None:
            calls = self._concerned(message)
            task = self.run(self._ask(message, calls), calls[0] if len(calls) == 1 else None)
            self._questions[message.id] = (message, task)
            return
        if message.round is not None and message.id is not None:
            self._beside = {id: each for id, each in self._beside.items() if each.about in self.calls}
            self._beside[message.id] = message
        self._passed[known(message.id)] = None
        while len(self._passed) > _MOST_PASSED:
            del self._passed[next(iter(self._passed))]
        self._port_of(self._concerned(message)).send(message)

    def _take_server_notice(self, message: Message) -> None:
        asked = (
            self._questions.get(message.params.get("requestId", "")) if message.method == CANCELLED else None
        )
        if asked is not None:
            asked[1].cancel()
        if message.method != COMPLETE or not self._links_first.noticed(message):
            super()._take_server_notice(message)

    def _finish(self, call: Call, message: Message) -> None:
        at_desk = self.home.options.desk != "none" and self.home.asks_here(self.peer, "url")
        if call.rounds < MOST_TIMES and message.requires_links and at_desk:
            self.run(self._open_links(call, message), call)
        else:
            super()._finish(call, message)

    async def _open_links(self, call: Call, message: Message) -> None:
        """Something has to be done in a browser first, and the client cannot open it: our desk can."""
        from handraise.errors import HandraiseError

        try:
            asking = await self.home.asking()
        except HandraiseError:
            self.end(call, told(call, CANNOT_ASK, failed=True))
            return
        from handraise.gateway.asking import Asker

        asker = Asker(message.source, self.person, self.peer)
        with self.holding.holding([call]):
            done = await self._links_first.meet(asking, asker, call, message)
        if not done:  # the links themselves stay here: the policy may have refused them
            self.end(call, told(call, NOT_OPENED, failed=True))
            return
        call.rounds += 1
        call.key = self._new_key()
        self.forward(call)

    def _lost(self, source: Source, last: bool) -> None:
        for question, task in list(self._questions.values()):
            if question.source is source and not self.home.ending:
                task.cancel(ASKER_ENDED)
        super()._lost(source, last)

    def _take_reply(self, message: Message) -> None:
        asked = self._asked.pop(known(message.id), None)
        if asked is not None:
            asked.reply = message
            asked.answer(message.result)
        elif (wanted := self._beside.pop(known(message.id), None)) is not None:
            self._passed.pop(known(message.id), None)
            self.run(self._send_on(wanted, message, self._concerned(wanted)))
        elif known(message.id) in self._passed:
            del self._passed[known(message.id)]
            self._link.send(message)
        else:  # otherwise a client answers a question that waits at our desk, past policy and ledger
            super()._take_reply(message)

    def _concerned(self, message: Message) -> list[Call]:
        """The calls because of which a server may be asking: one, where the transport tells, or is the only one."""
        if message.about is not None and (call := self.calls.get(message.about)) is not None:
            return [call]
        return [call for call in self.calls.values() if call.may_ask]

    async def _ask(self, message: Message, calls: list[Call]) -> None:
        """Have a server's question answered, and tell the server."""
        try:
            await self._send_on(message, await self._answer(message, calls), calls)
        finally:
            self._questions.pop(known(message.id), None)
            self._asked.pop(known(message.id), None)

    async def _send_on(self, message: Message, answer: Message, calls: list[Call]) -> None:
        """Send an answer to the server, unless another process took its call over meanwhile."""
        if self._has_others(message) or all([await self.holding.release(call) for call in calls]):
            self._link.send(answer)

    def _has_others(self, message: Message) -> bool:
        """Whether others of the same round wait: until they are answered, its server hears nothing."""
        if message.round is None:
            return False
        waiting = [*(each for each, _ in self._questions.values()), *self._beside.values()]
        return any(each.round is message.round for each in waiting if each is not message)

    async def _answer(self, message: Message, calls: list[Call]) -> Message:
        from handraise.errors import HandraiseError, WireError

        try:
            asking = await self.home.asking()
        except HandraiseError:
            for call in calls:
                call.notes.append(CANNOT_ASK)
            return response(message.id, {"action": "cancel"})
        from handraise.client.answers import dump_as_answer
        from handraise.gateway.asking import Asker, note_for_model, parse

        asker = Asker(message.source, self.person, self.peer)
        try:
            question, revision = parse(message.params, message.source.revision)
        except WireError as error:
            await asking.refuse(error, message.source.revision, asker, calls)
            return fault(message.id, -32602, f"{error.public} Rule: {error.rule}.")
        here = self.home.asks_here(self.peer, question.mode)
        if here or self.home.asks_for_passkey(asking, question, asker, calls):
            await self._keep(calls, message)
            with self.holding.holding(calls):
                decision = await asking.decide(question, revision, asker, calls)
        else:
            decision, reply = await self._answer_at_client(asking, question, revision, asker, calls, message)
            if reply is not None:
                return reply
        if (note := note_for_model(decision, asker.upstream.name)) is not None:
            for call in calls:
                call.notes.append(note)
        return response(message.id, dump_as_answer(decision))

    async def _keep(self, calls: list[Call], message: Message) -> None:
        """Remember what was asked, where it came from a round that another process could go on with."""
        if len(calls) != 1:
            return
        calls[0].round = message.round
        if calls[0].parked is not None and (keeper := self.home.keeper) is not None:
            await keeper.ask(calls[0].parked, message.round)

    async def _answer_at_client(
        self,
        asking: Asking,
        question: Question,
        revision: Revision,
        asker: Asker,
        calls: list[Call],
        message: Message,
    ) -> tuple[Decision, Message | None]:
        """The decision of the client's person, and the client's own reply where it is good to go on as it is."""
        from handraise.gateway.at_client import AtClient

        at_client = AtClient()
        deciding = asyncio.ensure_future(asking.decide(question, revision, asker, calls, at_client))
        try:
            if await at_client.is_shown(deciding):
                self._show(message, question, at_client, calls)
            decision = await deciding
        finally:
            deciding.cancel()
        reply = at_client.reply
        as_sent = reply is not None and (
            reply.result is None or reply.result.get("action") == decision.answer.action
        )
        return decision, reply if as_sent else None

    def _show(self, message: Message, question: Question, at_client: AtClient, calls: list[Call]) -> None:
        """Send a question to the client, in words of its own revision."""
        from handraise.gateway.asking import redump

        assert message.id is not None
        assert self.peer is not None
        self._asked[message.id] = at_client
        if self.peer.revision != message.source.revision and self.peer.revision == JUNE:
            message = message.with_(params=redump(question, JUNE))
        self._port_of(calls).send(message)

    def _port_of(self, calls: list[Call]) -> Port:
        """Where a request of the server's goes: with a call because of which it may come, if there is one."""
        return next((call.port for call in reversed(calls) if call.port is not None), self.port)
