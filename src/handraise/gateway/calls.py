"""A client's request on its way: whose it is, where its answer goes, and what was asked because of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from handraise.gateway.json_text import plain
from handraise.gateway.links import Port
from handraise.gateway.messages import Id, Message
from handraise.gateway.methods import NAMED
from handraise.gateway.peers import Peer
from handraise.gateway.requests import arguments_of, name_of

if TYPE_CHECKING:
    from handraise.ledger.events import Ended


class Call:
    """One request. `key` is the id by which the server knows it."""

    __slots__ = (
        "amend",
        "began",
        "cause",
        "given",
        "held",
        "key",
        "message",
        "notes",
        "open",
        "parked",
        "peer",
        "port",
        "progress",
        "round",
        "rounds",
        "tasks",
    )

    def __init__(self, message: Message, port: Port | None, peer: Peer | None, key: Id) -> None:
        self.message = message
        self.port = port
        """None when nobody waits for it any more."""
        self.peer = peer
        self.key = key
        self.amend: Callable[[Message], Message] | None = None
        """Changes the response before it goes back."""
        self.began = time.monotonic()
        self.cause: Any = None
        """What a desk is told of it; one object for all its questions."""
        self.notes: list[str] = []
        """Sentences for the model, added to the result."""
        self.open = 0
        """How many questions wait because of it at our desk."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """What goes on because of it; ended when it is withdrawn."""
        self.held: asyncio.Task[None] | None = None
        self.parked: Any = None
        self.round: dict[str, Any] | None = None
        """What the server asked last and the state to give back, where another process could go on with it."""
        self.given: Mapping[str, Any] = {}
        """What the client itself answered of that round, where the rest is asked at our desk."""
        self.rounds = 0
        """How often we repeated it with answers of our desk's."""
        self.progress = 0.0
        """The last progress that its client was told."""

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
    def token(self) -> Id | None:
        """The progress token of the caller."""
        meta = self.message.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return token if isinstance(token, int | str) else None

    def answer(self, message: Message) -> None:
        """Send the response to whoever waits."""
        if self.port is not None:
            same = message.id == self.message.id
            self.port.send(message if same else message.with_(id=self.message.id))

    def end(self, ended: Ended | None) -> None:
        """Join how it ended to what the person said yes to in it; None: nobody knows."""
        if self.cause is not None:
            self.cause.end(ended)

    def withdraw(self, why: str | None = None) -> None:
        """End what goes on because of it."""
        for task in (*self.tasks, *([self.held] if self.held else [])):
            task.cancel(why)
