"""The state of a bridge from 2026-07-28 to the revisions before: calls that stay alive, and whose turn it is."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.gateway.messages import Id, Message
from handraise.gateway.peers import LOG_LEVEL_KEY, PREFIX, SERVER_KEY, call_identity, params_without_round

_PATIENCE: Final = 25.0
"""Seconds for which a retry waits for a browser flow before the call is tried again."""


def links_in(message: Message) -> list[dict[str, Any]]:
    """The links that have to be opened before a call can be made; none in any other response."""
    data = message.body["error"].get("data") if message.requires_links else None
    listed = data.get("elicitations") if isinstance(data, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


class Browsing:
    """The browser flows that calls wait for, by the ids of their links."""

    def __init__(self) -> None:
        self._finished: dict[str, asyncio.Event] = {}

    def expect(self, ids: Iterable[str]) -> None:
        """Listen for the ends of these."""
        for id in ids:
            self._finished.setdefault(id, asyncio.Event())

    def noticed(self, message: Message) -> None:
        """Hear a completion notice."""
        if (finished := self._finished.get(str(message.params.get("elicitationId")))) is not None:
            finished.set()

    def forget(self, ids: Iterable[str]) -> None:
        """Nobody waits for these any more."""
        for id in ids:
            self._finished.pop(id, None)

    async def wait(self, ids: Iterable[str]) -> None:
        """Wait for all of these, for a while: the server says again what is missing, if anything is."""
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
        """The request of the client's that is told of it."""
        return self.waiting[0].id if self.waiting else None

    def begin(self) -> Message:
        """The call as the server gets it, without what came with 2026-07-28."""
        params = params_without_round(self.first)
        meta = params.pop("_meta", None) or {}
        kept = {name: value for name, value in meta.items() if not name.startswith(PREFIX)}
        self.token, self.logs = kept.get("progressToken"), meta.get(LOG_LEVEL_KEY) is not None
        return self.first.with_(id=self.key, params={**params, "_meta": kept} if kept else params)

    def progressed(self, message: Message) -> Message | None:
        """A notice of its progress for the request that waits; None when there is none, or it wants no notices."""
        waits = self.waiting[0].params.get("_meta") if self.waiting else None
        token = (waits or {}).get("progressToken")
        if token is None:
            return None
        told = message.with_(params={**message.params, "progressToken": token})
        told.about = self.about
        return told


@dataclass(slots=True, eq=False)
class BridgedRound:
    """A round that the client has: the questions by key, and how it went on."""

    call: BridgedCall
    questions: dict[str, Message]
    links: tuple[str, ...] = ()
    """The elicitation ids of a -32042: after them the call is made anew."""
    answers: str | None = None
    """The canonical answers with which it was used up."""
    outcome: Message | None = None


class BridgedRounds:
    """The rounds that the client was given, by the state under which it comes back."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, BridgedRound] = OrderedDict()

    def give(self, turn: BridgedRound) -> str:
        """Have the client go on; the state for it."""
        state = secrets.token_urlsafe(18)
        self._turns[state] = turn
        while len(self._turns) > _MOST:
            self._turns.popitem(last=False)
        return state

    def taken_by(self, retry: Message) -> BridgedRound | None:
        """The turn that a retry takes, if it repeats the call that it claims to."""
        turn = self._turns.get(str(retry.params.get("requestState")))
        return turn if turn is not None and call_identity(turn.call.first) == call_identity(retry) else None

    def went_on(self, call: BridgedCall, outcome: Message) -> None:
        """How a call went on, for the same retry when it comes again, or for one that comes after the call's end."""
        for turn in self._turns.values():
            if turn.call is call and turn.outcome is None and (turn.answers is not None or not outcome.asks):
                turn.outcome = outcome


def input_request(question: Message) -> dict[str, Any]:
    """A question as a round has it."""
    params = {name: value for name, value in question.params.items() if name != "task"}
    return {"method": question.method, "params": params} if params else {"method": question.method}


def as_modern_result(method: str | None, result: Mapping[str, Any]) -> dict[str, Any]:
    """A result with what every one has on 2026-07-28. Whether it may be kept nobody said, so that it may not."""
    kept = {"ttlMs": 0, "cacheScope": "private"} if method in _CACHEABLE else {}
    return {"resultType": "complete", **kept, **result}


def as_discover_result(hello: Mapping[str, Any]) -> dict[str, Any]:
    """What a server said to `initialize`, as an answer to `server/discover`."""
    told: dict[str, Any] = {"capabilities": hello.get("capabilities") or {}}
    if "instructions" in hello:
        told["instructions"] = hello["instructions"]
    if "serverInfo" in hello:
        told["serverInfo"] = hello["serverInfo"]
        told["_meta"] = {SERVER_KEY: hello["serverInfo"]}
    return told
