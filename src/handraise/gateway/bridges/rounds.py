"""The state of `AsModern`: open calls to a legacy server, and the rounds that the client got."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from handraise.gateway.messages import Id, Message
from handraise.gateway.peers import (
    LOG_LEVEL_KEY,
    PREFIX,
    SERVER_KEY,
    call_identity,
    capabilities_in,
    params_without_round,
)

_PATIENCE: Final = 25.0
"""Seconds that a retry waits for a browser flow before the call is made again."""


def links_in(message: Message) -> list[dict[str, Any]]:
    """The links of a -32042; none in any other response."""
    data = message.body["error"].get("data") if message.requires_links else None
    listed = data.get("elicitations") if isinstance(data, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


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
    """A call to the server, and the client's requests that wait for it."""

    first: Message
    key: Id
    waiting: list[Message] = field(default_factory=list)
    """The requests that get its next outcome; none while the client has a round."""
    questions: list[Message] = field(default_factory=list)
    """The server's questions that the client has not got yet."""
    token: str | None = None
    logs: bool = False
    """Whether its client wants log messages."""

    @property
    def about(self) -> Id | None:
        """The client's request that gets its messages."""
        return self.waiting[0].id if self.waiting else None

    def begin(self) -> Message:
        """The call for the server, without the members of 2026-07-28."""
        params = params_without_round(self.first)
        meta = params.pop("_meta", None) or {}
        kept = {name: value for name, value in meta.items() if not name.startswith(PREFIX)}
        self.token, self.logs = kept.get("progressToken"), meta.get(LOG_LEVEL_KEY) is not None
        return self.first.with_(id=self.key, params={**params, "_meta": kept} if kept else params)

    def progressed(self, message: Message) -> Message | None:
        """A progress notice for the waiting request; None when there is none, or it wants no notices."""
        waits = self.waiting[0].params.get("_meta") if self.waiting else None
        token = (waits or {}).get("progressToken")
        if token is None:
            return None
        told = message.with_(params={**message.params, "progressToken": token})
        told.about = self.about
        return told


@dataclass(slots=True, eq=False)
class BridgedRound:
    """A round that the client got: the questions by key, and its outcome."""

    call: BridgedCall
    questions: dict[str, Message]
    links: tuple[str, ...] = ()
    """The elicitation ids of a -32042. After them the call is made again."""
    answers: str | None = None
    """The client's answers in canonical form, once it used the round."""
    outcome: Message | None = None


class BridgedRounds:
    """The client's rounds by their `requestState`."""

    def __init__(self) -> None:
        self._rounds: OrderedDict[str, BridgedRound] = OrderedDict()

    def add(self, round_: BridgedRound) -> str:
        """Add a round; returns its `requestState`."""
        state = secrets.token_urlsafe(18)
        self._rounds[state] = round_
        while len(self._rounds) > _MOST:
            self._rounds.popitem(last=False)
        return state

    def find(self, retry: Message) -> BridgedRound | None:
        """The round that a retry answers, if the retry repeats its call."""
        found = self._rounds.get(str(retry.params.get("requestState")))
        return (
            found if found is not None and call_identity(found.call.first) == call_identity(retry) else None
        )

    def settle(self, call: BridgedCall, outcome: Message) -> None:
        """Keep the outcome for a retry that comes again, or comes after it."""
        asked = (outcome.result or {}).get("requestState")
        for state, each in self._rounds.items():
            if each.call is call and each.outcome is None and state != asked:
                each.outcome = outcome


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
