"""A client's request on its way to a server and back.

A call is in one of these states:

| state      | the server                                 | it leaves by                                      |
|------------|--------------------------------------------|---------------------------------------------------|
| `new`      | has not heard of it                        | `send`, or `end` when a guard keeps it back       |
| `sent`     | works on it                                | `answer`                                          |
| `answered` | said something that is being judged: a     | `end`, or `send` with the answers of the person   |
|            | result, or a round that asks for input     |                                                   |
| `over`     | is done with it                            |                                                   |

A question on a live request (the revisions before 2026-07-28) leaves its call `sent`. The client at `port` waits for
the outcome, or a ticket (`parked`) does, or nobody. A call may end in every state: its client cancels it, or its server
is gone.
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

TRANSITIONS: Final[Mapping[State, Mapping[Event, State]]] = {
    "new": {"send": "sent", "end": "over"},
    "sent": {"answer": "answered", "end": "over"},
    "answered": {"send": "sent", "end": "over"},
    "over": {"end": "over"},
}


class Binding(NamedTuple):
    """What makes two calls the same call of the same person."""

    person: str
    server: str
    target: str
    """What the server is: two may have the same name in two configurations."""
    method: str
    name: str
    arguments: str
    """Digest of the canonical arguments."""


def binding_of(message: Message, person: str, server: str, target: str) -> Binding:
    """What makes this call the same as another one."""
    told = json.dumps(arguments_of(message), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(told.encode()).hexdigest()
    return Binding(person, server, target, message.method or "", name_of(message), digest)


class RelayedCall:
    """One request. `key` is the id by which the server knows it."""

    def __init__(
        self, message: Message, port: Port | None, peer: Peer | None, key: Id, person: Person, source: Source
    ) -> None:
        self.message = message
        self.port = port
        """None when its client does not wait any more."""
        self.peer = peer
        self.key = key
        self.person = person
        self.source = source
        """The server that it is for, as far as that is known yet."""
        self.state: State = "new"
        self.amend: Callable[[Message], Message] | None = None
        """Changes the response before it goes back."""
        self.began = time.monotonic()
        self.notes: list[str] = []
        """Sentences for the model, added to the result."""
        self.open = 0
        """How many questions wait because of it at our desk; a page counts as one."""
        self.browsing = False
        """Whether the person opened a link at our desk, and it did not end or ask again since."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """What goes on because of it; ended when it is withdrawn."""
        self.held: asyncio.Task[None] | None = None
        self.parked: Parked | None = None
        self.round: dict[str, Any] | None = None
        """What the server asked last and the state to give back, where another process could go on with it."""
        self.given: Mapping[str, Any] = {}
        """What the client itself answered of that round, where the rest is asked at our desk."""
        self.rounds = 0
        """How often we repeated it with answers of our desk's."""
        self.reported: HostCall | None = None
        """What a desk is told of it; one object for all its questions."""
        self.outcome: asyncio.Future[Message] | None = None
        """What its client is told, for those who wait for the same."""
        self.sign: str | None = None
        """What its client was told last that it waits for."""
        self._progress: float = 0
        self._offset = 0
        """What the server's progress lacks to the client's, which counts our signs of life, too."""

    def move(self, event: Event) -> None:
        """Go to the next state. A KeyError is a mistake of ours."""
        self.state = TRANSITIONS[self.state][event]

    @property
    def may_ask(self) -> bool:
        """Whether a server may ask because of it."""
        return self.message.method in NAMED

    @property
    def name(self) -> str:
        """Which tool, prompt or resource is called."""
        return name_of(self.message)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the tool or prompt."""
        arguments: Mapping[str, Any] = plain(arguments_of(self.message))
        return arguments

    @property
    def binding(self) -> Binding:
        """What it has in common with the same call, made again."""
        upstream = self.source.upstream
        return binding_of(self.message, self.person.key, upstream.name, upstream.target)

    @property
    def token(self) -> Id | None:
        """The progress token of the caller."""
        meta = self.message.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return token if isinstance(token, int | str) else None

    @property
    def token_at_server(self) -> Id | None:
        """The progress token that the server knows."""
        return self.token if self.key == self.message.id else self.key

    @property
    def host_call(self) -> HostCall:
        """What a desk and the ledger are told of it."""
        if self.reported is None:
            trace = parse_trace(self.message.params.get("_meta"))
            self.reported = HostCall(self.name, self.arguments, self.message.method or "tools/call", trace)
        return self.reported

    def as_sent(self, message: Message) -> Message:
        """The request under the id by which its server knows it, and with it its progress token."""
        if message.id == self.key:
            return message
        params = message.params
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            params = {**params, "_meta": {**meta, "progressToken": self.key}}
            return message.with_(id=self.key, params=params)
        return message.with_(id=self.key)

    def as_known(self, message: Message) -> Message:
        """A notice of the server's under the token or the id that the client knows."""
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
        meta = params.get("_meta")
        if (
            self.key == self.message.id
            or not isinstance(meta, dict)
            or meta.get(SUBSCRIPTION_KEY) != self.key
        ):
            return message
        return message.with_(params={**params, "_meta": {**meta, SUBSCRIPTION_KEY: self.message.id}})

    def _advance(self, progress: float) -> float:
        """A progress above the last one: our signs of life and the server's own notices share one token."""
        told = self._moved(progress)
        if told <= self._progress:
            self._offset = math.floor(self._progress) + 1 - math.floor(progress)
            told = self._moved(progress)
        self._progress = told
        return told

    def _moved(self, value: float) -> float:
        """A number of the server's as the client is told it, without the noise of adding fractions."""
        return round(value + self._offset, 6) if self._offset else value

    def show_life(self, sentence: str) -> None:
        """Tell the client, on the caller's own token, what its call waits for: one whole step further."""
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

    def finished(self, message: Message) -> Message:
        """The response as the client gets it: with what we change in it, and sentences of ours."""
        if self.amend is not None and message.result is not None:
            message = self.amend(message)
        content = (message.result or {}).get("content")
        if not self.notes or not isinstance(content, list):
            return message
        ours = [{"type": "text", "text": note} for note in self.notes]
        return message.with_(result={**message.body["result"], "content": [*content, *ours]})

    def end(self, ended: CallEnd | None) -> None:
        """It is over. Join how it ended to what the person said yes to in it; None: nobody knows."""
        self.move("end")
        if self.outcome is not None:
            self.outcome.cancel()
        if self.reported is not None:
            self.reported.end(ended)

    def stop(self, why: str | None = None) -> None:
        """End what goes on because of it."""
        for task in (*self.tasks, *([self.held] if self.held else [])):
            task.cancel(why)


def find_waiting(calls: Mapping[Id, RelayedCall], id: object) -> RelayedCall | None:
    """The call that its client knows by this id and waits for. One that got a ticket was answered."""
    return next((call for call in calls.values() if call.message.id == id and call.port is not None), None)


def find_call_of(calls: Mapping[Id, RelayedCall], message: Message) -> RelayedCall | None:
    """The call to which a notice of the server's belongs, where that can be told."""
    if message.about is not None:
        return calls.get(message.about)
    if message.method == PROGRESS:
        token = message.params.get("progressToken")
        return next((call for call in calls.values() if call.token_at_server == token), None)
    meta = message.params.get("_meta")
    return calls.get(meta.get(SUBSCRIPTION_KEY, "")) if isinstance(meta, dict) else None
