"""A client's request on its way to a server and back.

A call is in one of these states:

| state      | the server                          | next event                                            |
|------------|-------------------------------------|-------------------------------------------------------|
| `new`      | has not got it                      | `send`, or `end` when a guard refuses it              |
| `sent`     | works on it                         | `answer`                                              |
| `answered` | sent a response, which we judge     | `end`, or `send` with the person's answers to a round |
| `over`     | is done with it                     |                                                       |

A question on a live request (before 2026-07-28) leaves its call `sent`. The client at `port` waits for the outcome, or
a ticket (`parked`) does, or nobody. A call can end in every state: its client cancels it, or its server is gone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from handraise.client.calls import HostCall
from handraise.gateway.json_text import plain
from handraise.gateway.links import Port
from handraise.gateway.messages import NAMED, PROGRESS, SUBSCRIPTION_KEY, Id, Message, notice
from handraise.gateway.peers import Peer, arguments_of, name_of
from handraise.gateway.upstreams import Source
from handraise.questions import Person
from handraise.wire import parse_trace

if TYPE_CHECKING:
    from handraise.gateway.tickets import Parked
    from handraise.ledger.events import CallEnd

State = Literal["new", "sent", "answered", "over"]
Event = Literal["send", "answer", "end"]

_MOST_NOTES: Final = 20

TRANSITIONS: Final[Mapping[State, Mapping[Event, State]]] = {
    "new": {"send": "sent", "end": "over"},
    "sent": {"answer": "answered", "end": "over"},
    "answered": {"send": "sent", "end": "over"},
    "over": {"end": "over"},
}


class Binding(NamedTuple):
    """The identity of a call. Two calls with equal bindings are the same call of the same person."""

    person: str
    server: str
    target: str
    """The server's command or URL: two servers may have the same name in two configurations."""
    method: str
    name: str
    arguments: str
    """Digest of the canonical arguments."""


def binding_of(message: Message, person: str, server: str, target: str) -> Binding:
    """The binding of a request."""
    canonical = json.dumps(arguments_of(message), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return Binding(person, server, target, message.method or "", name_of(message), digest)


class RelayedCall:
    """One request. `key` is the id by which the server knows it."""

    def __init__(
        self, message: Message, port: Port | None, peer: Peer | None, key: Id, person: Person, source: Source
    ) -> None:
        self.message = message
        self.port = port
        """None when its client no longer waits."""
        self.left = False
        """Whether its client hung up without cancelling it, as on older revisions over HTTP."""
        self.peer = peer
        self.key = key
        self.person = person
        self.source = source
        """The server that it is for, as far as it is known."""
        self.state: State = "new"
        self.amend: Callable[[Message], Message] | None = None
        """Changes the response before it goes back."""
        self.began = time.monotonic()
        self._notes: dict[str, None] = {}
        self.open = 0
        """How many of its questions wait at our desk. An open page counts as one."""
        self.browsing = False
        """Whether the person opened a link at our desk, and the call has not ended or asked again since."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """Its tasks, cancelled with it."""
        self.held: asyncio.Task[None] | None = None
        self.parked: Parked | None = None
        self.round: dict[str, Any] | None = None
        """The server's last questions and its state, if another process can continue with them."""
        self.given: Mapping[str, Any] = {}
        """The client's own answers to that round, while the rest is asked at our desk."""
        self.rounds = 0
        """How often we repeated it with answers from our desk."""
        self.reported: HostCall | None = None
        """The call as desks and the ledger know it; None until it asks."""
        self.outcome: asyncio.Future[Message] | None = None
        """The response, for retries that wait for the same."""
        self.sign: str | None = None
        """The last progress message that we sent."""
        self._progress: float = 0
        self._offset = 0
        """Added to the server's progress, because our own progress notices count too."""

    def move(self, event: Event) -> None:
        """Go to the next state. KeyError for an event that the state does not allow: a bug."""
        self.state = TRANSITIONS[self.state][event]

    @property
    def may_ask(self) -> bool:
        """Whether a server may ask during it."""
        return self.message.method in NAMED

    @property
    def name(self) -> str:
        """The tool, prompt or resource."""
        return name_of(self.message)

    @property
    def arguments(self) -> Mapping[str, Any]:
        arguments: Mapping[str, Any] = plain(arguments_of(self.message))
        return arguments

    @property
    def binding(self) -> Binding:
        upstream = self.source.upstream
        return binding_of(self.message, self.person.key, upstream.name, upstream.target)

    @property
    def token(self) -> Id | None:
        """The client's progress token."""
        token = self.message.meta.get("progressToken")
        return token if isinstance(token, int | str) else None

    @property
    def token_at_server(self) -> Id | None:
        """The progress token that the server knows."""
        return self.token if self.key == self.message.id else self.key

    @property
    def host_call(self) -> HostCall:
        """The call as desks and the ledger know it: one object for all its questions."""
        if self.reported is None:
            trace = parse_trace(self.message.params.get("_meta"))
            self.reported = HostCall(self.name, self.arguments, self.message.method or "tools/call", trace)
        return self.reported

    def as_sent(self, message: Message) -> Message:
        """The request with the id and the progress token that the server knows."""
        if message.id == self.key:
            return message
        if "progressToken" not in message.meta:
            return message.with_(id=self.key)
        params = {**message.params, "_meta": {**message.meta, "progressToken": self.key}}
        return message.with_(id=self.key, params=params)

    def as_known(self, message: Message) -> Message:
        """A server's notice with the token or the id that the client knows."""
        params = message.params
        if message.method == PROGRESS:
            changed = {**params, "progressToken": params.get("progressToken")}
            if self.key != self.message.id and self.token is not None:
                changed["progressToken"] = self.token
            if isinstance(progress := params.get("progress"), int | float):
                changed["progress"] = self._advance(progress)
                if self._offset and isinstance(total := params.get("total"), int | float):
                    changed["total"] = self._moved(total)
            if self.held is not None and self.sign is not None:
                changed["message"] = self.sign
            return message if changed == params else message.with_(params=changed)
        if self.key == self.message.id or message.meta.get(SUBSCRIPTION_KEY) != self.key:
            return message
        return message.with_(params={**params, "_meta": {**message.meta, SUBSCRIPTION_KEY: self.message.id}})

    def _advance(self, progress: float) -> float:
        """A progress above the last one. Our progress notices and the server's share one token."""
        told = self._moved(progress)
        if told <= self._progress:
            self._offset = math.floor(self._progress) + 1 - math.floor(progress)
            told = self._moved(progress)
        self._progress = told
        return told

    def _moved(self, value: float) -> float:
        """A server's number plus our offset, rounded."""
        return round(value + self._offset, 6) if self._offset else value

    def show_life(self, sentence: str) -> None:
        """Send the client a progress notice that says what its call waits for."""
        self.sign = sentence
        if self.token is not None and self.port is not None:
            self._progress = math.floor(self._progress) + 1
            told = {"progressToken": self.token, "progress": self._progress, "message": sentence}
            self.port.send(notice(PROGRESS, told))

    def answer(self, message: Message) -> None:
        """Send the response to the client, if it waits."""
        if self.outcome is not None and not self.outcome.done():
            self.outcome.set_result(message)
        if self.port is not None:
            same = message.id == self.message.id
            self.port.send(message if same else message.with_(id=self.message.id))

    def note(self, *notes: str) -> None:
        """Add sentences for the model to the result, each once.

        The attack: a server asks a million questions that the rules refuse, and each refusal has its sentence.
        """
        for note in notes:
            if len(self._notes) < _MOST_NOTES:
                self._notes[note] = None

    def finished(self, message: Message) -> Message:
        """The response for the client, with our changes and notes."""
        if self.amend is not None and message.result is not None:
            message = self.amend(message)
        content = (message.result or {}).get("content")
        if not self._notes or not isinstance(content, list):
            return message
        ours = [{"type": "text", "text": note} for note in self._notes]
        return message.with_(result={**message.body["result"], "content": [*content, *ours]})

    def end(self, ended: CallEnd | None) -> None:
        """End the call. The ledger joins `ended` to the approvals in it; None means unknown."""
        self.move("end")
        if self.outcome is not None:
            self.outcome.cancel()
        if self.reported is not None:
            self.reported.end(ended)

    def stop(self, why: str | None = None) -> None:
        """Cancel its tasks."""
        for task in (*self.tasks, *([self.held] if self.held else [])):
            task.cancel(why)


def find_waiting(calls: Mapping[Id, RelayedCall], id: object) -> RelayedCall | None:
    """The call with this client id, if its client still waits. A parked call was answered with a ticket."""
    return next((call for call in calls.values() if call.message.id == id and call.port is not None), None)


def find_call_of(calls: Mapping[Id, RelayedCall], message: Message) -> RelayedCall | None:
    """The call that a server's notice belongs to; None if that is unknown."""
    if message.about is not None:
        return calls.get(message.about)
    if message.method == PROGRESS:
        token = message.params.get("progressToken")
        return next((call for call in calls.values() if call.token_at_server == token), None)
    return calls.get(message.meta.get(SUBSCRIPTION_KEY, ""))
