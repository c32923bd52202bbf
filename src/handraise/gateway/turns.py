"""The state of a bridge from 2026-07-28 to the revisions before: calls that stay alive, and whose turn it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.gateway.messages import Id, Message

_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
ROUND: Final = ("inputResponses", "requestState")


@dataclass(slots=True, eq=False)
class BridgedCall:
    """An upstream call, and the request of the client's that waits for it now."""

    first: Message
    key: Id
    waiting: list[Message] = field(default_factory=list)
    """The requests that get its next outcome; none while the client has the turn."""
    questions: list[Message] = field(default_factory=list)
    """What the server asks and the client was not told yet."""
    token: str | None = None
    logs: bool = False
    """Whether its client wants the log with it."""

    @property
    def about(self) -> Id | None:
        return self.waiting[0].id if self.waiting else None


@dataclass(slots=True, eq=False)
class Turn:
    """A round that the client has: the questions by key, and how it went on."""

    call: BridgedCall
    questions: dict[str, Message]
    links: tuple[str, ...] = ()
    """The elicitation ids of a -32042: after them the call is made anew."""
    answers: str | None = None
    """The canonical answers with which it was used up."""
    outcome: Message | None = None


def is_same_call(first: Message, again: Message) -> bool:
    """Whether a retry repeats the call that it claims to."""
    names = ("name", "uri", "arguments")
    return first.method == again.method and all(first.params.get(n) == again.params.get(n) for n in names)


def input_request(question: Message) -> dict[str, Any]:
    params = {
        name: value
        for name, value in question.params.items()
        if name not in ("elicitationId", "_meta", "task")
    }
    return {"method": question.method, "params": params} if params else {"method": question.method}


def discovery(hello: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"capabilities": hello.get("capabilities") or {}}
    if "instructions" in hello:
        told["instructions"] = hello["instructions"]
    if "serverInfo" in hello:
        told["serverInfo"] = hello["serverInfo"]
        told["_meta"] = {_SERVER_INFO: hello["serverInfo"]}
    return told
