"""A bridge that makes a 2026-07-28 server look like a legacy server.

The questions of a round become requests on the live call, the retry carries the answers, and `requestState` goes back
unchanged.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from handraise.gateway.links import Bridge, Link
from handraise.gateway.messages import (
    CANCELLED,
    INVALID_REQUEST,
    MOST_ROUNDS,
    SERVER_FAULT,
    SUBSCRIPTION_KEY,
    Id,
    Message,
    cancel_for,
    error_response,
    id_key,
    notice,
    object_in,
    request,
    response,
    too_many_rounds,
)
from handraise.gateway.peers import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LEGACY,
    LOG_LEVEL_KEY,
    MODERN,
    NOVEMBER,
    VERSION_KEY,
    capabilities_in,
    is_modern_server,
    says_it_resumes,
    server_info_in,
)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RoundCall:
    """A request with all its rounds."""

    message: Message
    key: Id
    state: str | None = None
    missing: dict[Id, str] = field(default_factory=dict)
    """The keys of unanswered questions, by the id that the client knows."""
    answers: dict[str, Any] = field(default_factory=dict)
    idle: int = 0
    """How many rounds in a row asked nothing."""
    rounds: int = 0
    """How many rounds asked something."""


def hello(discovered: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The result of `server/discover` as a result of `initialize`."""
    told = {
        "protocolVersion": version,
        "capabilities": {"logging": {}, **capabilities_in(discovered)},
        "serverInfo": server_info_in(discovered) or {"name": "unknown", "version": ""},
    }
    return {**told, "instructions": discovered["instructions"]} if "instructions" in discovered else told


_LISTS: Final = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}


_MOST_SUBSCRIBED: Final = 1000
_LONGEST_URI: Final = 8000


class Subscriptions:
    """The lists and resources whose changes the client wants to know."""

    def __init__(self) -> None:
        self._lists: list[str] = []
        self._subscribed: set[str] = set()
        self._open: Id | None = None
        self._fresh = count(1)

    def offered(self, capabilities: Mapping[str, Mapping[str, Any]]) -> None:
        """Note for which lists the server announces changes."""
        self._lists = [kind for name, kind in _LISTS.items() if capabilities.get(name, {}).get("listChanged")]

    def change(self, uri: str, *, add: bool) -> bool:
        """Subscribe to a resource, or unsubscribe; False when that would be too much to remember."""
        if add and (len(uri) > _LONGEST_URI or len(self._subscribed) >= _MOST_SUBSCRIBED):
            return False
        (self._subscribed.add if add else self._subscribed.discard)(uri)
        return True

    def renew(self, wrapped: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Iterator[Message]:
        """The messages that replace the `subscriptions/listen` request: a cancel, and a new request."""
        wanted: dict[str, Any] = dict.fromkeys(self._lists, True)
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        if self._open is not None:
            yield notice("notifications/cancelled", {"requestId": self._open})
        self._open = f"handraise-listen-{next(self._fresh)}" if wanted else None
        if self._open is not None:
            yield request(self._open, "subscriptions/listen", wrapped({"notifications": wanted}))


_ENDED_HERE: Final = (
    "notifications/initialized",
    "notifications/roots/list_changed",
    "notifications/progress",
)
_PAUSES: Final = (0.05, 0.1, 0.25, 0.5, 1.0)


class AsLegacy(Bridge):
    """The bridge for a client that sent `initialize`."""

    def __init__(self, link: Link, refusal: Message) -> None:
        super().__init__(link)
        self._refusal = refusal
        """The server's response to `initialize`. The client gets it if the server is not modern either."""
        self._envelope: dict[str, Any] = {VERSION_KEY: MODERN}
        self._version = NOVEMBER
        self._calls: dict[Id, RoundCall] = {}
        self._asked: dict[Id, RoundCall] = {}
        self._paused: dict[Id, RoundCall] = {}
        """Calls whose server asked nothing and is not done, until they are repeated."""
        self._listening = Subscriptions()
        self._fresh = count(1)
        link.on_message = self._from_server

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        assert message.id is not None
        asks = {name: value for name, value in round.items() if name != "inputResponses"}
        asked = response(message.id, {"resultType": "input_required", **asks})
        asked.source = self.source_of(message)
        self._ask(RoundCall(message, message.id), asked, round.get("inputResponses"))
        return True

    def send(self, message: Message) -> None:
        match message.method:
            case "initialize":
                self._initialize(message)
            case "ping":
                self.on_message(response(message.id, {}))
            case "logging/setLevel":
                self._envelope[LOG_LEVEL_KEY] = message.params.get("level")
                self.on_message(response(message.id, {}))
            case "resources/subscribe" | "resources/unsubscribe":
                self._subscribe(message)
            case "notifications/cancelled":
                self._cancel(message)
            case "notifications/initialized":
                self._listen()
            case None:
                self._take_answer(message)
            case method if method not in _ENDED_HERE:
                self._forward(message)

    def _initialize(self, message: Message) -> None:
        params = message.params
        offered = str(params.get("protocolVersion"))
        self._version = offered if offered in LEGACY else NOVEMBER
        self._envelope[CAPABILITIES_KEY] = params.get("capabilities", {})
        self._envelope[CLIENT_KEY] = params.get("clientInfo", {"name": "unknown", "version": ""})
        self._forward(message.with_(method="server/discover", params={}))

    def _forward(self, message: Message) -> None:
        assert message.method is not None
        if message.id is None:
            self._link.send(message)
            return
        call = RoundCall(message, message.id)
        self._calls[call.key] = call
        self._link.send(message.with_(params=self._wrapped(message.params)))

    def _wrapped(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {**params, "_meta": {**object_in(params, "_meta"), **self._envelope}}

    def _from_server(self, message: Message) -> None:
        if message.method is not None:
            self._from_server_by_itself(message)
            return
        call = self._calls.pop(message.id, None) if message.id is not None else None
        if call is None:
            return
        try:
            self._go_on(call, message)
        except Exception:
            logger.exception("an answer of a server could not be translated")
            self._forget(call)
            self.on_message(
                error_response(call.message.id, SERVER_FAULT, "The answer could not be translated.")
            )

    def _go_on(self, call: RoundCall, message: Message) -> None:
        if message.asks:
            self._ask(call, message)
        elif call.message.method == "server/discover":
            self._discovered(call, message)
        else:
            self._finish(call, message)

    def _finish(self, call: RoundCall, message: Message) -> None:
        changes: dict[str, Any] = {"id": call.message.id}
        if message.result is not None and "resultType" in message.result:
            changes["result"] = {
                name: value for name, value in message.result.items() if name != "resultType"
            }
        self.on_message(
            message.with_(**changes) if len(changes) > 1 or message.id != call.message.id else message
        )

    def _discovered(self, call: RoundCall, message: Message) -> None:
        result = message.result
        if result is None or not is_modern_server(message):
            self.on_message(self._refusal.with_(id=call.message.id))
            return
        self._listening.offered(capabilities_in(result))
        told = hello(result, self._version)
        answer = response(call.message.id, told)
        answer.source = message.source
        message.source.resumes, message.source.asks_in_rounds = says_it_resumes(result), True
        self.on_message(answer)

    def _ask(self, call: RoundCall, message: Message, given: Mapping[str, Any] | None = None) -> None:
        """Send the requests of a round to the client. `given`: answers from a process that is gone."""
        result = message.result or {}
        requests = result.get("inputRequests") or {}
        call.state, call.answers = result.get("requestState"), dict(given or {})
        call.missing = {f"handraise-q{next(self._fresh)}": key for key in requests}
        if not requests:
            pause = _PAUSES[min(call.idle, len(_PAUSES) - 1)]
            call.idle += 1
            self._paused[id_key(call.message.id)] = call
            asyncio.get_running_loop().call_later(pause, self._retry_after_pause, call)
            return
        call.idle, call.rounds = 0, call.rounds + 1
        if call.rounds > MOST_ROUNDS:
            call.missing.clear()
            self.on_message(too_many_rounds(call.message.id))
            return
        round = {"inputRequests": requests, "requestState": call.state}
        for id, key in call.missing.items():
            self._asked[id] = call
            wanted = requests[key]
            asked = request(id, wanted["method"], self._question(object_in(wanted, "params")))
            asked.about, asked.source, asked.round = call.message.id, message.source, round
            self.on_message(asked)

    def _question(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Add the id that a link needs on 2025-11-25."""
        if params.get("mode") == "url" and self._version == NOVEMBER:
            return {"elicitationId": secrets.token_urlsafe(12), **params}
        return dict(params)

    def _take_answer(self, message: Message) -> None:
        call = self._asked.pop(message.id, None) if message.id is not None else None
        if call is None or message.id is None:
            if message.result is None:  # we refused a request that the server made outside a round
                self._link.send(message)
            return
        key = call.missing.pop(message.id)
        if message.result is None:
            self._give_up(call, message)
            return
        call.answers[key] = message.result
        if not call.missing:
            self._retry(call)

    def _give_up(self, call: RoundCall, message: Message) -> None:
        """End a call with the client's error, and cancel the other questions of its round."""
        for id in call.missing:
            cancelled = notice(CANCELLED, {"requestId": id})
            cancelled.source = self.source_of(call.message)
            self.on_message(cancelled)
        self._forget(call)
        error = message.error
        text = f"The client could not be asked: {error.get('message', '')}"
        self.on_message(error_response(call.message.id, error.get("code", -32603), text, error.get("data")))

    def _retry_after_pause(self, call: RoundCall) -> None:
        """Repeat a call whose server had neither a question nor a result, unless its client cancelled it."""
        if self._paused.pop(id_key(call.message.id), None) is call:
            self._retry(call)

    def _retry(self, call: RoundCall) -> None:
        params = self._wrapped(call.message.params)
        params["inputResponses"] = call.answers
        if call.state is not None:
            params["requestState"] = call.state
        call.key = f"handraise-b{next(self._fresh)}"
        self._calls[call.key] = call
        self._link.send(call.message.with_(id=call.key, params=params))

    def _cancel(self, message: Message) -> None:
        wanted = message.params.get("requestId")
        open_calls = (*self._calls.values(), *self._asked.values(), *self._paused.values())
        for call in {id(each): each for each in open_calls}.values():
            if call.message.id == wanted:
                self._forget(call)
                self._link.send(cancel_for(message, call.key))

    def _forget(self, call: RoundCall) -> None:
        self._calls.pop(call.key, None)
        self._paused.pop(id_key(call.message.id), None)
        for id in call.missing:
            self._asked.pop(id, None)

    def _subscribe(self, message: Message) -> None:
        uri, add = str(message.params.get("uri", "")), message.method == "resources/subscribe"
        if self._listening.change(uri, add=add):
            self._listen()
            self.on_message(response(message.id, {}))
        else:
            text = f"A client subscribes to at most {_MOST_SUBSCRIBED} resources."
            self.on_message(error_response(message.id, INVALID_REQUEST, text))

    def _listen(self) -> None:
        """Renew the request for notices about changes."""
        for message in self._listening.renew(self._wrapped):
            self._link.send(message)

    def _from_server_by_itself(self, message: Message) -> None:
        if message.method == "notifications/subscriptions/acknowledged":
            return
        if SUBSCRIPTION_KEY in message.meta:
            rest = {name: value for name, value in message.meta.items() if name != SUBSCRIPTION_KEY}
            params = {name: value for name, value in message.params.items() if name != "_meta"}
            message = message.with_(params={**params, "_meta": rest} if rest else params)
            message.about = None
        elif (call := self._calls.get(id_key(message.about))) is not None:
            message.about = call.message.id
        self.on_message(message)
