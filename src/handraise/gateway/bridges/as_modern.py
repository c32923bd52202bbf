"""A bridge that makes a legacy server look like a 2026-07-28 server.

The call to the server stays open: the server's question ends the client's round, and the client's retry answers it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from handraise.gateway.bridges.rounds import (
    BridgedCall,
    BridgedRound,
    BridgedRounds,
    Browsing,
    as_discover_result,
    as_modern_result,
    input_request,
    links_in,
)
from handraise.gateway.links import Bridge, Link
from handraise.gateway.messages import (
    CANCELLED,
    COMPLETE,
    ELICIT,
    INVALID_REQUEST,
    MOST_ASKED,
    NAMED,
    PROGRESS,
    SERVER_FAULT,
    SUBSCRIPTION_KEY,
    Id,
    Message,
    cancel_for,
    error_response,
    id_key,
    notice,
    request,
    response,
)
from handraise.gateway.peers import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    MODERN,
    NOVEMBER,
    capabilities_in,
)
from handraise.gateway.sentences import NOT_OPENED
from handraise.gateway.tasks import TaskSet

logger = logging.getLogger(__name__)

_ID: Final = "handraise-initialize"


class Handshake:
    """The handshake with the server, and the messages that wait for it."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting: list[Message] = []
        self._level: object = None
        self.hello: Mapping[str, Any] | None = None
        """The result of `initialize`."""

    def wait(self, message: Message) -> None:
        """Queue a message until the handshake is over. The first one starts the handshake."""
        self._waiting.append(message)
        if len(self._waiting) > 1:
            return
        meta = message.params.get("_meta") or {}
        params = {
            "protocolVersion": NOVEMBER,
            "capabilities": meta.get(CAPABILITIES_KEY) or {},
            "clientInfo": meta.get(CLIENT_KEY) or {"name": "unknown", "version": ""},
        }
        self._link.send(request(_ID, "initialize", params))

    def end(
        self, message: Message, go_on: Callable[[Message], None], refuse: Callable[[Message], None]
    ) -> None:
        """Take the response to `initialize`: pass queued messages to `go_on`, or the server's error to `refuse`."""
        waited, self._waiting = self._waiting, []
        if message.result is None:
            for each in waited:
                if each.id is not None:
                    refuse(message.with_(id=each.id))
            return
        self.hello = message.result
        self._link.send(notice("notifications/initialized", {}))
        for each in waited:
            go_on(each)

    def set_level(self, message: Message, id: Id) -> None:
        """Send `logging/setLevel` with this id when a request wants another log level."""
        level = (message.params.get("_meta") or {}).get(LOG_LEVEL_KEY)
        has_log = self.hello is not None and "logging" in capabilities_in(self.hello)
        if has_log and level is not None and level != self._level:
            self._level = level
            self._link.send(request(id, "logging/setLevel", {"level": level}))


_LISTS: Final = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
UPDATED: Final = "notifications/resources/updated"
CHANGES: Final = frozenset({*_LISTS, UPDATED})
"""The notices that a client gets only on request."""


class Listeners:
    """The open `subscriptions/listen` requests of a client."""

    def __init__(self, link: Link, deliver: Callable[[Message], None]) -> None:
        self._link = link
        self._deliver = deliver
        self._wanted: dict[Id, Mapping[str, Any]] = {}
        self._fresh = count(1)

    def listen(self, message: Message) -> None:
        """Open a `subscriptions/listen` request, and subscribe to the resources that it names."""
        assert message.id is not None
        wanted = message.params.get("notifications")
        wanted = wanted if isinstance(wanted, dict) else {}
        self._wanted[message.id] = wanted
        for uri in wanted.get("resourceSubscriptions") or ():
            self._tell("resources/subscribe", uri)
        told = {"notifications": wanted, "_meta": {SUBSCRIPTION_KEY: message.id}}
        acknowledged = notice("notifications/subscriptions/acknowledged", told)
        acknowledged.about = message.id
        self._deliver(acknowledged)

    def leave(self, id: Id | None) -> None:
        """Close a request, and unsubscribe from resources that no other request names."""
        left = self._wanted.pop(id if id is not None else "", {})
        still = {uri for wanted in self._wanted.values() for uri in wanted.get("resourceSubscriptions") or ()}
        for uri in left.get("resourceSubscriptions") or ():
            if uri not in still:
                self._tell("resources/unsubscribe", uri)

    def _tell(self, method: str, uri: str) -> None:
        self._link.send(request(f"handraise-l{next(self._fresh)}", method, {"uri": uri}))

    def publish(self, message: Message) -> None:
        """Send a notice about a change to every request that wants it."""
        uri, kind = message.params.get("uri"), _LISTS.get(message.method or "")
        for id, wanted in self._wanted.items():
            if wanted.get(kind) if kind else uri in (wanted.get("resourceSubscriptions") or ()):
                meta = {**(message.params.get("_meta") or {}), SUBSCRIPTION_KEY: id}
                told = message.with_(params={**message.params, "_meta": meta})
                told.about = id
                self._deliver(told)


_INPUTS: Final = (ELICIT, "sampling/createMessage", "roots/list")


class AsModern(Bridge):
    """The bridge for a client that sends no `initialize`."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._handshake = Handshake(link)
        self._calls: dict[Id, BridgedCall] = {}
        self._rounds = BridgedRounds()
        self._listeners = Listeners(link, lambda message: self.on_message(message))
        self._browsing = Browsing()
        self._fresh = count(1)
        self._tasks = TaskSet()
        link.on_message = self._from_server

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        return False

    async def aclose(self) -> None:
        await self._tasks.aclose()
        await self._link.aclose()

    def send(self, message: Message) -> None:
        if self._handshake.hello is None:
            self._handshake.wait(message)
            return
        match message.method:
            case "server/discover":
                self._answer(
                    message, {"supportedVersions": [MODERN], **as_discover_result(self._handshake.hello)}
                )
            case "subscriptions/listen":
                self._listeners.listen(message)
            case "notifications/cancelled":
                self._cancel(message)
            case None:
                pass  # a 2026-07-28 client gets no requests, so this answers none
            case _ if message.id is None:
                self._link.send(message)
            case _ if "requestState" in message.params:
                self._take_retry(message)
            case _:
                self._handshake.set_level(message, self._new_key())
                self._call(BridgedCall(message, message.id, [message]))

    def _new_key(self) -> Id:
        return f"handraise-m{next(self._fresh)}"

    def _call(self, call: BridgedCall) -> None:
        self._calls[call.key] = call
        self._link.send(call.begin())

    def _from_server(self, message: Message) -> None:
        if message.is_request:
            self._asked(message)
        elif message.is_notice:
            self._noticed(message)
        elif message.id == _ID:
            self._handshake.end(message, self.send, self.on_message)
        elif (call := self._calls.pop(id_key(message.id), None)) is not None:
            try:
                self._finish(call, message)
            except Exception:
                logger.exception("an answer of a server could not be translated")
                self._outcome(call, error_response(None, SERVER_FAULT, "The answer could not be translated."))

    def _finish(self, call: BridgedCall, message: Message) -> None:
        if links := links_in(message):
            self._require(call, links)
        elif message.result is not None:
            self._outcome(call, message.with_(result=as_modern_result(call.first.method, message.result)))
        else:
            self._outcome(call, message)

    def _answer(self, message: Message, result: Mapping[str, Any]) -> None:
        answer = response(message.id, as_modern_result(message.method, result))
        answer.source = self.source_of(message)
        self.on_message(answer)

    def _outcome(self, call: BridgedCall, message: Message) -> None:
        """Send the outcome of a call (result, error or next round) to all requests that wait for it."""
        waiting, call.waiting = call.waiting, []
        self._rounds.settle(call, message)
        for each in waiting:
            self.on_message(message.with_(id=each.id))

    def _asked(self, message: Message) -> None:
        """Handle a request from the server. A pipe does not say which call it belongs to; the newest gets it."""
        if message.method == "ping":
            self._link.send(response(message.id, {}))
            return
        if message.method not in _INPUTS:
            self._link.send(error_response(message.id, -32601, "Method not found"))
            return
        calls = [call for call in self._calls.values() if call.first.method in NAMED]
        call = self._calls.get(id_key(message.about)) or (calls[-1] if calls else None)
        if call is None:
            self._link.send(error_response(message.id, -32600, "Nobody can be asked outside a call."))
            return
        if len(call.questions) >= MOST_ASKED:  # the attack: while the client answers one, a million more
            text = f"{MOST_ASKED} requests of this call wait already."
            self._link.send(error_response(message.id, INVALID_REQUEST, text))
            return
        if message.about is None and len(calls) > 1:
            message.among = tuple(each.about for each in calls if each.about is not None)
        call.questions.append(message)
        self._tell(call)

    def _tell(self, call: BridgedCall) -> None:
        """End the client's round with the server's questions, if a request of the client waits."""
        if not call.questions or not call.waiting:
            return
        questions = {f"q{number}": each for number, each in enumerate(call.questions, 1)}
        call.questions = []
        self._end_round(call, BridgedRound(call, questions))

    def _end_round(self, call: BridgedCall, round_: BridgedRound) -> None:
        requests = {key: input_request(each) for key, each in round_.questions.items()}
        asks = {
            "resultType": "input_required",
            "inputRequests": requests,
            "requestState": self._rounds.add(round_),
        }
        ended = response(call.about, asks)
        asking = next((each.source for each in round_.questions.values() if each.source is not None), None)
        ended.source, ended.bridged = asking or self._link.source_of(call.first), True
        ended.among = next((each.among for each in round_.questions.values() if each.among), ())
        self._outcome(call, ended)

    def _take_retry(self, message: Message) -> None:
        """Send the answers of a retry to the server once. The same retry again gets the same outcome."""
        round_ = self._rounds.find(message)
        given = message.params.get("inputResponses")
        answers = given if isinstance(given, dict) else {}
        canonical = json.dumps(answers, sort_keys=True)
        if round_ is None or round_.answers not in (None, canonical):
            self.on_message(error_response(message.id, -32602, "Invalid or expired requestState."))
        elif round_.outcome is not None:
            self.on_message(round_.outcome.with_(id=message.id))
        elif round_.answers is not None:
            round_.call.waiting.append(message)
        else:
            round_.answers = canonical
            round_.call.waiting.append(message)
            self._pass_on(round_, answers)

    def _pass_on(self, round_: BridgedRound, answers: Mapping[str, Any]) -> None:
        call = round_.call
        if round_.links:
            self._tasks.run(self._after_links(round_, answers))
            return
        for key, question in round_.questions.items():
            if isinstance(answer := answers.get(key), dict):
                self._link.send(response(question.id, answer))
            else:
                call.questions.append(question)  # unanswered questions are asked again
        self._tell(call)

    def _require(self, call: BridgedCall, links: list[dict[str, Any]]) -> None:
        """Turn the links of a -32042 into a round. After it the call is made again."""
        ids = tuple(str(each.get("elicitationId")) for each in links)
        self._browsing.expect(ids)
        questions = {f"q{number}": request(0, ELICIT, each) for number, each in enumerate(links, 1)}
        self._end_round(call, BridgedRound(call, questions, ids))

    async def _after_links(self, round_: BridgedRound, answers: Mapping[str, Any]) -> None:
        call = round_.call
        if not all(_accepts(answers.get(key)) for key in round_.questions):
            self._browsing.forget(round_.links)
            self._outcome(call, error_response(call.about, -32603, NOT_OPENED))
            return
        await self._browsing.wait(round_.links)
        again = BridgedCall(call.first, self._new_key(), call.waiting)
        call.waiting = []
        round_.call = again
        self._call(again)

    def _noticed(self, message: Message) -> None:
        method = message.method or ""
        if method == COMPLETE:
            self._browsing.noticed(message)
        elif method in CHANGES:
            self._listeners.publish(message)
        elif method == PROGRESS:
            self._progress(message)
        elif method == CANCELLED:
            self._drop(message.params.get("requestId"))
        elif method == "notifications/message" and not self._logs(message):
            pass  # nobody asked for the log
        else:
            if (call := self._calls.get(id_key(message.about))) is not None:
                message.about = call.about
            self.on_message(message)

    def _logs(self, message: Message) -> bool:
        """Whether a call wants log messages: the call that this one belongs to, or any if that is unknown."""
        call = self._calls.get(id_key(message.about))
        return call.logs if call is not None else any(each.logs for each in self._calls.values())

    def _drop(self, id: object) -> None:
        """Forget a question that the server cancelled before the client got it."""
        for call in self._calls.values():
            call.questions = [each for each in call.questions if each.id != id]

    def _progress(self, message: Message) -> None:
        token = message.params.get("progressToken")
        call = next((each for each in self._calls.values() if each.token == token), None)
        if call is not None and (told := call.progressed(message)) is not None:
            self.on_message(told)

    def _cancel(self, message: Message) -> None:
        wanted = message.params.get("requestId")
        self._listeners.leave(wanted)
        for call in list(self._calls.values()):
            if any(each.id == wanted for each in call.waiting):
                del self._calls[call.key]
                self._link.send(cancel_for(message, call.key))


def _accepts(answer: object) -> bool:
    return isinstance(answer, dict) and answer.get("action") == "accept"
