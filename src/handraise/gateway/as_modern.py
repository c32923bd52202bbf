"""A bridge that makes a legacy server look like a 2026-07-28 server.

The call to the server stays open: the server's question ends the client's round, and the client's retry answers it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from handraise.gateway.links import Bridge, Link, TaskSet
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
    links_in,
    notice,
    object_in,
    request,
    response,
)
from handraise.gateway.peers import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    MODERN,
    NOVEMBER,
    PREFIX,
    SERVER_KEY,
    call_identity,
    capabilities_in,
    params_without_round,
)
from handraise.gateway.sentences import NOT_OPENED

logger = logging.getLogger(__name__)

_ID: Final = "handraise-initialize"
_PATIENCE: Final = 25.0
"""Seconds that a retry waits for a browser flow before the call is made again."""


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
        wanted = object_in(message.params, "notifications")
        self._wanted[message.id] = wanted
        for uri in _resources_in(wanted):
            self._tell("resources/subscribe", uri)
        told = {"notifications": wanted, "_meta": {SUBSCRIPTION_KEY: message.id}}
        acknowledged = notice("notifications/subscriptions/acknowledged", told)
        acknowledged.about = message.id
        self._deliver(acknowledged)

    def leave(self, id: Id | None) -> None:
        """Close a request, and unsubscribe from resources that no other request names."""
        left = self._wanted.pop(id if id is not None else "", {})
        still = {uri for wanted in self._wanted.values() for uri in _resources_in(wanted)}
        for uri in _resources_in(left):
            if uri not in still:
                self._tell("resources/unsubscribe", uri)

    def _tell(self, method: str, uri: str) -> None:
        self._link.send(request(f"handraise-l{next(self._fresh)}", method, {"uri": uri}))

    def publish(self, message: Message) -> None:
        """Send a notice about a change to every request that wants it."""
        uri, kind = message.params.get("uri"), _LISTS.get(message.method or "")
        for id, wanted in self._wanted.items():
            if wanted.get(kind) if kind else uri in _resources_in(wanted):
                meta = {**message.meta, SUBSCRIPTION_KEY: id}
                told = message.with_(params={**message.params, "_meta": meta})
                told.about = id
                self._deliver(told)


def _resources_in(wanted: Mapping[str, Any]) -> list[str]:
    """The resources that a `subscriptions/listen` request names."""
    named = wanted.get("resourceSubscriptions")
    return [uri for uri in named if isinstance(uri, str)] if isinstance(named, list) else []


class Browsing:
    """The browser flows that calls wait for, by the ids of their links."""

    def __init__(self) -> None:
        self._finished: dict[str, asyncio.Event] = {}

    def expect(self, ids: Iterable[str]) -> None:
        """Listen for the completion of these flows."""
        for id in ids:
            self._finished.setdefault(id, asyncio.Event())

    def noticed(self, message: Message) -> None:
        """Handle a completion notice."""
        if (finished := self._finished.get(str(message.params.get("elicitationId")))) is not None:
            finished.set()

    def forget(self, ids: Iterable[str]) -> None:
        """Stop listening for these flows."""
        for id in ids:
            self._finished.pop(id, None)

    async def wait(self, ids: Iterable[str]) -> None:
        """Wait for these flows for a limited time. If one is missing then, the server sends a -32042 again."""
        waited = [self._finished[id] for id in ids if id in self._finished]
        try:
            async with asyncio.timeout(_PATIENCE):
                for each in waited:
                    await each.wait()
        except TimeoutError:
            pass
        finally:
            self.forget(ids)


_MOST: Final = 1024
_CACHEABLE: Final = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
)


@dataclass(slots=True, eq=False)
class BridgedCall:
    """A call to the server. A client's request waits for it, or the client has a round of it."""

    first: Message
    key: Id
    waiting: Message | None
    """The request that gets its next outcome; None while the client has a round."""
    last: Id | None = None
    """The id of the last request that got one."""
    outcome: Message | None = None
    """What came while the client had a round."""
    questions: list[Message] = field(default_factory=list)
    """The server's questions that the client has not got yet."""
    token: str | None = None
    logs: bool = False
    """Whether its client wants log messages."""

    @property
    def about(self) -> Id | None:
        """The client's request that gets its messages."""
        return None if self.waiting is None else self.waiting.id

    def begin(self) -> Message:
        """The call for the server, without the members of 2026-07-28."""
        params = params_without_round(self.first)
        meta = params.pop("_meta", None) or {}
        kept = {name: value for name, value in meta.items() if not name.startswith(PREFIX)}
        self.token, self.logs = kept.get("progressToken"), meta.get(LOG_LEVEL_KEY) is not None
        return self.first.with_(id=self.key, params={**params, "_meta": kept} if kept else params)

    def progressed(self, message: Message) -> Message | None:
        """A progress notice for the waiting request; None when there is none, or it wants no notices."""
        token = None if self.waiting is None else self.waiting.meta.get("progressToken")
        if token is None:
            return None
        told = message.with_(params={**message.params, "progressToken": token})
        told.about = self.about
        return told


@dataclass(slots=True, eq=False)
class BridgedRound:
    """A round that the client got: the questions by key."""

    call: BridgedCall
    questions: dict[str, Message]
    links: tuple[str, ...] = ()
    """The elicitation ids of a -32042. After them the call is made again."""


_INPUTS: Final = (ELICIT, "sampling/createMessage", "roots/list")


class AsModern(Bridge):
    """The bridge for a client that sends no `initialize`."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._hello: Mapping[str, Any] | None = None
        """The server's result of `initialize`."""
        self._early: list[Message] = []
        """Messages that wait for it."""
        self._level: object = None
        self._calls: dict[Id, BridgedCall] = {}
        self._rounds: OrderedDict[str, BridgedRound] = OrderedDict()
        """The client's rounds by their `requestState`. Each is used once: the relay repeats no retry."""
        self._listeners = Listeners(link, lambda message: self.on_message(message))
        self._browsing = Browsing()
        self._fresh = count(1)
        self._tasks = TaskSet()
        link.on_message = self._from_server

    async def aclose(self) -> None:
        await self._tasks.aclose()
        await super().aclose()

    def send(self, message: Message) -> None:
        if self._hello is None:
            self._early.append(message)
            if len(self._early) == 1:
                self._initialize(message)
            return
        match message.method:
            case "server/discover":
                self._answer(message, {"supportedVersions": [MODERN], **as_discover_result(self._hello)})
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
                self._set_level(message)
                self._call(BridgedCall(message, message.id, message))

    def _initialize(self, message: Message) -> None:
        """Begin the handshake with what the client says of itself in its first message."""
        params = {
            "protocolVersion": NOVEMBER,
            "capabilities": message.meta.get(CAPABILITIES_KEY) or {},
            "clientInfo": message.meta.get(CLIENT_KEY) or {"name": "unknown", "version": ""},
        }
        self._link.send(request(_ID, "initialize", params))

    def _initialized(self, message: Message) -> None:
        """Send what waited for the handshake, or answer it with the server's error."""
        waited, self._early = self._early, []
        if message.result is not None:
            self._hello = message.result
            self._link.send(notice("notifications/initialized", {}))
        for each in waited:
            if self._hello is not None:
                self.send(each)
            elif each.id is not None:
                self.on_message(message.with_(id=each.id))

    def _set_level(self, message: Message) -> None:
        """Send `logging/setLevel` when a request wants another log level."""
        level = message.meta.get(LOG_LEVEL_KEY)
        if level not in (None, self._level) and "logging" in capabilities_in(self._hello or {}):
            self._level = level
            self._link.send(request(self._new_key(), "logging/setLevel", {"level": level}))

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
            self._initialized(message)
        elif (call := self._calls.pop(id_key(message.id), None)) is not None:
            try:
                self._finish(call, message)
            except Exception:
                logger.exception("an answer of a server could not be translated")
                self._outcome(call, error_response(None, SERVER_FAULT, "The answer could not be translated."))

    def _finish(self, call: BridgedCall, message: Message) -> None:
        if message.requires_links and (links := links_in(message.error)):
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
        """Send the outcome of a call (result, error or next round) to the request that waits for it, now or later.

        If the server is gone, the last request gets it at once, too: the relay may be asking our desk for its retry.
        """
        if call.waiting is None:
            call.outcome = message
            if message.lost:
                self.on_message(message.with_(id=call.last))
            return
        waiting, call.waiting = call.waiting, None
        call.last = waiting.id
        self.on_message(message.with_(id=waiting.id))

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
        if not call.questions or call.waiting is None:
            return
        questions = {f"q{number}": each for number, each in enumerate(call.questions, 1)}
        call.questions = []
        self._end_round(call, BridgedRound(call, questions))

    def _end_round(self, call: BridgedCall, round_: BridgedRound) -> None:
        requests = {key: input_request(each) for key, each in round_.questions.items()}
        state = secrets.token_urlsafe(18)
        self._rounds[state] = round_
        while len(self._rounds) > _MOST:
            self._abandon(self._rounds.popitem(last=False)[1])
        asks = {"resultType": "input_required", "inputRequests": requests, "requestState": state}
        ended = response(call.about, asks)
        asking = next((each.source for each in round_.questions.values() if each.source is not None), None)
        ended.source, ended.bridged = asking or self._link.source_of(call.first), True
        ended.among = next((each.among for each in round_.questions.values() if each.among), ())
        self._outcome(call, ended)

    def _abandon(self, round_: BridgedRound) -> None:
        """Cancel the call of a round that the client never answered. Otherwise it waits for ever."""
        self._browsing.forget(round_.links)
        if self._calls.pop(round_.call.key, None) is not None:
            self._link.send(notice(CANCELLED, {"requestId": round_.call.key}))

    def _take_retry(self, message: Message) -> None:
        """Send the answers of a retry to the server, if it repeats the call of its round."""
        state = str(message.params.get("requestState"))
        round_ = self._rounds.get(state)
        if round_ is None or call_identity(round_.call.first) != call_identity(message):
            self.on_message(error_response(message.id, -32602, "Invalid or expired requestState."))
            return
        del self._rounds[state]
        call = round_.call
        call.waiting = message
        if call.outcome is None:
            self._pass_on(round_, object_in(message.params, "inputResponses"))
        else:
            outcome, call.outcome = call.outcome, None
            self._outcome(call, outcome)

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
        self._calls[call.key] = call  # meanwhile its client may cancel it
        await self._browsing.wait(round_.links)
        if self._calls.pop(call.key, None) is call:
            self._call(BridgedCall(call.first, self._new_key(), call.waiting))

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
            if call.waiting is not None and call.waiting.id == wanted:
                del self._calls[call.key]
                self._link.send(cancel_for(message, call.key))


def _accepts(answer: object) -> bool:
    return isinstance(answer, dict) and answer.get("action") == "accept"


def input_request(question: Message) -> dict[str, Any]:
    """A question as an input request of a round."""
    params = {name: value for name, value in question.params.items() if name != "task"}
    return {"method": question.method, "params": params} if params else {"method": question.method}


def as_modern_result(method: str | None, result: Mapping[str, Any]) -> dict[str, Any]:
    """A result with the members of 2026-07-28. It may not be cached, because the server did not allow that."""
    kept = {"ttlMs": 0, "cacheScope": "private"} if method in _CACHEABLE else {}
    return {"resultType": "complete", **kept, **result}


def as_discover_result(hello: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `initialize` as a result of `server/discover`."""
    told: dict[str, Any] = {"capabilities": capabilities_in(hello)}
    if "instructions" in hello:
        told["instructions"] = hello["instructions"]
    if "serverInfo" in hello:
        told["serverInfo"] = hello["serverInfo"]
        told["_meta"] = {SERVER_KEY: hello["serverInfo"]}
    return told
