"""The relay for 2025-06-18 and 2025-11-25, where a server asks with a request of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from handraise.client.consent import dump_as_answer, dump_unasked, dump_unshown
from handraise.client.recording import ASKER_ENDED
from handraise.errors import HandraiseError, NotSupported, WireError
from handraise.forms import SIZE_RULES
from handraise.gateway.asking import Asker, QuestionHandler, as_judged, note_for_model
from handraise.gateway.call import RelayedCall
from handraise.gateway.client_desk import CLIENT, ClientDesk
from handraise.gateway.links import Port
from handraise.gateway.messages import (
    CANCELLED,
    COMPLETE,
    ELICIT,
    INVALID_REQUEST,
    Id,
    Message,
    error_response,
    id_key,
    notice,
    response,
)
from handraise.gateway.peers import (
    JUNE,
    LEGACY,
    NOVEMBER,
    ROUND,
    Peer,
    add_modes,
    params_without_round,
    peer_of_initialize,
    server_info_in,
)
from handraise.gateway.relay import Relay
from handraise.gateway.sentences import CANNOT_ASK, NOT_OPENED, not_shown, text_result
from handraise.gateway.upstreams import Source
from handraise.questions import Accepted, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.wire import dump_question, parse_url_required

logger = logging.getLogger(__name__)

_MOST_OPEN: Final = 4096
MOST_TIMES: Final = 3
"""How often one call may get a -32042."""


@dataclass(slots=True)
class ServerRequest:
    """A request of a server that is not answered yet."""

    message: Message
    """The question. Of any other request it has no params, which may be long."""
    task: asyncio.Task[None] | None = None
    """The task that gets the answer to a question; None for a request that was passed on."""
    at_client: ClientDesk | None = None
    """Set while the client's dialog shows the question."""


class LegacyRelay(Relay):
    """The relay for a client that sent `initialize`."""

    peer: Peer | None = None
    """The client, after its `initialize`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._open: dict[Id, ServerRequest] = {}
        """The open requests of servers, oldest first."""
        self._in_browser: dict[str, asyncio.Event] = {}
        """Links of -32042 errors that the person opens at our desk, by elicitation id."""

    def from_client(self, message: Message, port: Port | None = None) -> RelayedCall | None:
        call = super().from_client(message, port)
        if message.method == "notifications/initialized":
            self.revive()
        return call

    def _peer_of(self, message: Message) -> Peer | None:
        if message.method == "initialize":
            self.peer = peer_of_initialize(message.params, self.user)
        return self.peer

    def _prepared(self, call: RelayedCall) -> Message:
        if call.message.method == "initialize":  # until it is answered, a client need not accept requests
            return self._offered(call)
        # A legacy client has no rounds. Answers that it invents for one would get past policy and ledger.
        message = call.message
        if any(name in message.params for name in ROUND):
            message = message.with_(params=params_without_round(message))
        message.opens_links = not self.state.is_for_desk(self.peer, "url")
        return message

    def _offered(self, call: RelayedCall) -> Message:
        """Add our desk's modes to the capabilities in `initialize`."""
        message = call.message
        if self.peer is None:
            return message
        call.amend = self._initialized
        message = message.with_(params=_without_asking_tasks(message.params))
        if not self.state.needs_desk(self.peer):
            return message
        offered = {
            "protocolVersion": NOVEMBER if self.peer.revision in LEGACY else self.peer.revision,
            "capabilities": add_modes(self.peer.capabilities, self.state.modes),
        }
        return message.with_(params={**message.params, **offered})

    def _initialized(self, message: Message) -> Message:
        """Note the server's revision and name. The client gets the revision that it offered."""
        result = message.result or {}
        message.source.revision = agreed = str(result.get("protocolVersion", ""))
        message.source.claimed = server_info_in(result)
        offered = self.peer.revision if self.peer is not None else agreed
        if offered in LEGACY and agreed in LEGACY and offered < agreed:
            return message.with_(result={**result, "protocolVersion": offered})
        return message

    def _take_server_request(self, message: Message) -> None:
        if message.source.asks_in_rounds and message.round is None:
            self.run(self._refuse(message))
            return
        if message.inside.carries_questions:
            self.run(self._refuse(message, "A request is one question, and carries no others."))
            return
        id, calls = id_key(message.id), self._calls_behind(message)
        if id in self._open:
            # Otherwise the answer to one question could count as consent to the other.
            why = "A request of this id is not answered yet."
            self._link.send(error_response(message.id, INVALID_REQUEST, why))
        elif message.method == ELICIT:
            task = self.run(self._ask(message, calls), calls[0] if len(calls) == 1 else None)
            self._open[id] = asked = ServerRequest(message, task)
            task.add_done_callback(lambda _: self._forget(asked))
        else:
            self._open[id] = ServerRequest(message.with_(params={}))
            if len(self._open) > _MOST_OPEN:
                del self._open[next(id for id, each in self._open.items() if each.task is None)]
            self._port_of(calls).send(message)

    def _forget(self, asked: ServerRequest) -> None:
        """Forget a question whose task was cancelled before it began. Any other is forgotten already."""
        if self._open.get(id_key(asked.message.id)) is asked:
            del self._open[id_key(asked.message.id)]

    def _take_server_notice(self, message: Message) -> None:
        if message.method == CANCELLED and not self._take_back(message):
            return
        finished = self._in_browser.get(str(message.params.get("elicitationId")))
        if message.method == COMPLETE and finished is not None:
            finished.set()
        else:
            super()._take_server_notice(message)

    def _take_back(self, message: Message) -> bool:
        """Cancel a server's own request; False when the request is another server's."""
        id = message.params.get("requestId", "")
        asked = self._open.get(id)
        if asked is not None and asked.message.source is not message.source:
            logger.warning("a server cancelled a request of another one; nothing was passed on")
            return False
        if asked is not None and asked.task is not None:
            asked.task.cancel(ASKER_ENDED if message.lost else None)
        elif asked is not None:
            del self._open[id]
        return True

    def _lost(self, source: Source, last: bool) -> None:
        for asked in list(self._open.values()):
            if asked.message.source is source and asked.task is not None and not self.state.ending:
                asked.task.cancel(ASKER_ENDED)
        super()._lost(source, last)

    def _take_reply(self, message: Message) -> None:
        asked = self._open.get(id_key(message.id))
        if asked is not None and (at_client := asked.at_client) is not None:
            asked.at_client, at_client.reply = None, message
            at_client.answer(message.result)
        elif asked is None or asked.task is not None:
            # Otherwise a client could answer a question at our desk, past policy and ledger.
            super()._take_reply(message)
        else:
            del self._open[id_key(message.id)]
            self._pass_reply(asked.message, message)

    def _pass_reply(self, asked: Message, reply: Message) -> None:
        """Pass on the reply to a request that is no question."""
        if asked.round is not None and asked.about in self.calls:
            self.run(self._send_on(asked, reply, self._calls_behind(asked)))
            return
        names = {name.casefold() for name in reply.result or {}}
        if asked.method == "tasks/result" and "action" in names:
            # The gateway offers no questions as tasks, so this answer was not judged.
            logger.warning("the client answered a question as a task; it was not passed on")
            reply = error_response(reply.id, -32602, "Questions are not answered as tasks here.")
        self._link.send(reply)

    def _calls_behind(self, message: Message) -> list[RelayedCall]:
        """The calls that a server's request may belong to; one if the transport says which."""
        if message.about is not None and (call := self.calls.get(message.about)) is not None:
            return [call]
        sent = [call for call in self.calls.values() if call.may_ask and call.state != "new"]
        return [call for call in sent if self._is_for(call, message.source)]

    async def _ask(self, message: Message, calls: list[RelayedCall]) -> None:
        """Get the answer to a server's question and send it."""
        try:
            await self._send_on(message, await self._answer(message, calls), calls)
        finally:
            asked = self._open.pop(id_key(message.id))
            if asked.at_client is not None:  # the client's dialog is still open
                self._port_of(calls).send(notice(CANCELLED, {"requestId": message.id}))

    async def _send_on(self, message: Message, answer: Message, calls: list[RelayedCall]) -> None:
        """Send an answer to the server, unless another process took over the call meanwhile."""
        if self._has_others(message) or all([await self.holding.release(call) for call in calls]):
            self._link.send(answer)

    def _has_others(self, message: Message) -> bool:
        """Whether other requests of the same round wait. The server gets all answers of a round together."""
        waiting = [each.message for each in self._open.values() if each.message is not message]
        return message.round is not None and any(each.round is message.round for each in waiting)

    async def _answer(self, message: Message, calls: list[RelayedCall]) -> Message:
        try:
            asking = await self.state.asking()
        except HandraiseError:
            for call in calls:
                call.note(CANNOT_ASK)
            return response(message.id, dump_unasked())
        asker = self._asker(message.source, self.peer)
        try:
            question, revision = asking.parse(message.params, message.source.revision)
        except WireError as error:
            await asking.refuse(error, message.source.revision, asker, calls)
            if error.rule in SIZE_RULES:
                for call in calls:
                    call.note(not_shown(error))
                return response(message.id, dump_unshown(error))
            return error_response(message.id, -32602, f"{error.public} Rule: {error.rule}.")
        here = self.state.is_for_desk(self.peer, question.mode) or not self._can_show(question)
        if here and self.state.options.desk == "none":
            return error_response(message.id, -32602, "The client cannot show this question.")
        await self._keep(calls, message)
        if here:
            with self.holding.hold(calls):
                decision = await asking.decide(question, revision, asker, calls)
        else:
            at_client = ClientDesk(self.state, self.peer, asking.our_desk(asker), self.holding, calls)
            deciding = asyncio.ensure_future(asking.decide(question, revision, asker, calls, at_client))
            try:
                if await at_client.is_shown(deciding):
                    self._show(message, question, at_client, calls)
                decision = await deciding
            finally:
                deciding.cancel()
            if (reply := at_client.reply) is not None and decision.desk == CLIENT:
                if reply.result is None:
                    return reply
                if (result := at_client.own_result(decision)) is not None:
                    return reply.with_(result=result)
        if isinstance(question, UrlQuestion) and isinstance(decision.answer, Accepted):
            self.holding.hold_for_page(calls)
        if (note := note_for_model(decision, asker.upstream.name)) is not None:
            for call in calls:
                call.note(note)
        return response(message.id, dump_as_answer(decision))

    async def _keep(self, calls: list[RelayedCall], message: Message) -> None:
        """Keep the round of a question, so that another process can continue with it."""
        if len(calls) != 1:
            return
        calls[0].round = message.round if message.source.can_go_on else None
        if calls[0].parked is not None and (tickets := self.state.tickets) is not None:
            await tickets.ask(calls[0].parked, calls[0].round)

    def _can_show(self, question: Question) -> bool:
        """Whether the client's revision can show a question: 2025-06-18 has no multiple choice."""
        try:
            return (
                self.peer is None
                or self.peer.revision != JUNE
                or bool(dump_question(question, Revision.JUNE_2025))
            )
        except NotSupported:
            return False

    def _show(
        self, message: Message, question: Question, at_client: ClientDesk, calls: list[RelayedCall]
    ) -> None:
        """Send a question to the client in the form of its revision."""
        assert self.peer is not None
        self._open[id_key(message.id)].at_client = at_client
        if self.peer.revision != message.source.revision and self.peer.revision == JUNE:
            message = message.with_(params=dump_question(question, Revision.JUNE_2025))
        # A client that answers as a task would give the answer to the server later, past policy and ledger.
        params = {name: value for name, value in as_judged(message.params).items() if name != "task"}
        if params != message.params:
            message = message.with_(params=params)
        self._port_of(calls).send(message)

    def _port_of(self, calls: list[RelayedCall]) -> Port:
        """The port for a server's request: that of a call that it may belong to, else the client's."""
        return next((call.port for call in reversed(calls) if call.port is not None), self.port)

    def _finish(self, call: RelayedCall, message: Message) -> None:
        at_desk = self.state.options.desk != "none" and self.state.is_for_desk(self.peer, "url")
        if call.rounds < MOST_TIMES and message.requires_links and at_desk:
            self.run(self._open_links(call, message), call)
        else:
            super()._finish(call, message)

    async def _open_links(self, call: RelayedCall, message: Message) -> None:
        """Show the links of a -32042 at our desk, because the client cannot open links. Then make the call again."""
        try:
            asking = await self.state.asking()
        except HandraiseError:
            self.end(call, text_result(call, CANNOT_ASK, failed=True))
            return
        asker = self._asker(message.source, self.peer)
        with self.holding.hold([call]):
            done = await self._meet(asking, asker, call, message)
        if not done:  # the client does not get the links: the policy may have refused them
            self.end(call, text_result(call, NOT_OPENED, failed=True))
            return
        call.rounds += 1
        self.calls.pop(call.key, None)
        call.key = self._new_key()
        self.forward(call)

    async def _meet(self, asking: QuestionHandler, asker: Asker, call: RelayedCall, message: Message) -> bool:
        """Ask the person to open each link; True when all are done."""
        november = Revision.NOVEMBER_2025
        try:
            questions = parse_url_required(message.error.get("data"), asking.limits)
        except WireError as error:
            await asking.refuse(error, november, asker, [call])
            return False
        for question in questions:
            finished = self._in_browser.setdefault(str(question.elicitation_id), asyncio.Event())
            try:
                decision = await asking.decide(question, november, asker, [call])
                accepted = isinstance(decision.answer, Accepted)
                if not accepted or not await self._is_done(asking, asker, call, question, finished):
                    return False
            finally:
                self._in_browser.pop(str(question.elicitation_id), None)
        return True

    async def _is_done(
        self,
        asking: QuestionHandler,
        asker: Asker,
        call: RelayedCall,
        question: UrlQuestion,
        finished: asyncio.Event,
    ) -> bool:
        """Wait for the server's notice or the person's own "done", whichever comes first."""
        noticed = asyncio.ensure_future(finished.wait())
        said = asyncio.ensure_future(asking.wait_in_browser(question, asker, [call]))
        both: set[asyncio.Future[Any]] = {noticed, said}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return noticed.done() or said.result()
        finally:
            noticed.cancel()
            said.cancel()


def _without_asking_tasks(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of `initialize` without elicitation as a task: the answer of a task is not judged."""
    capabilities = params.get("capabilities")
    match capabilities:
        case {"tasks": {"requests": {"elicitation": _, **kept}, **tasks}, **others}:
            return {**params, "capabilities": {**others, "tasks": {**tasks, "requests": kept}}}
        case _:
            return dict(params)
