"""What a message is: which way it goes, what it answers, on which revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from handraise.trace.masks import Masks

Direction = Literal["to server", "to client"]
"""Which way a message crosses."""
Kind = Literal["request", "result", "input required", "error", "notice", "unreadable"]

_VERSION_META: Final = "io.modelcontextprotocol/protocolVersion"
_MAX_OPEN: Final = 10_000

ASKING: Final = frozenset(
    {
        "initialize",
        "server/discover",
        "tools/call",
        "prompts/get",
        "resources/read",
        "elicitation/create",
        "roots/list",
        "sampling/createMessage",
        "notifications/elicitation/complete",
        "notifications/cancelled",
        "notifications/roots/list_changed",
    }
)
"""The methods that have to do with asking: the others are traced by name only, unless all is wanted."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """One message as it crosses, fit to be shown."""

    at: float
    """Seconds since the trace began."""
    direction: Direction
    kind: Kind
    method: str
    """What is asked, or what is being answered; empty when that is not known."""
    id: str | int | None
    revision: str | None
    """As far as it is known by then."""
    message: Mapping[str, Any] | None
    """With its secrets masked; None for what could not be read."""
    detail: str = ""
    """The code of an error, or the number of questions."""

    @property
    def about_asking(self) -> bool:
        """Whether the message has to do with asking somebody."""
        return self.method in ASKING or self.kind == "unreadable" or not self.method


class Reader:
    """Reads the messages of one connection, both ways, in the order in which they cross."""

    def __init__(self) -> None:
        self._masks = Masks()
        self._open: dict[tuple[Direction, str | int], str] = {}
        self._revision: str | None = None

    def read(self, direction: Direction, message: Any, at: float) -> Crossing:
        """Say what a message is."""
        if not isinstance(message, dict):
            return Crossing(at, direction, "unreadable", "", None, self._revision, None)
        method, name = message.get("method"), _id(message.get("id"))
        if isinstance(method, str):
            self._learn(_at(message, "params", "_meta").get(_VERSION_META))
            if name is None:
                return self._crossing(at, direction, "notice", method, None, message)
            if len(self._open) < _MAX_OPEN:
                self._open[direction, name] = method
            return self._crossing(at, direction, "request", method, name, message)
        answered = self._open.pop((_other(direction), name), "") if name is not None else ""
        if answered == "initialize":
            self._learn(_at(message, "result").get("protocolVersion"))
        kind, detail = _outcome(message)
        return self._crossing(at, direction, kind, answered, name, message, detail)

    def _crossing(
        self,
        at: float,
        direction: Direction,
        kind: Kind,
        method: str,
        name: str | int | None,
        message: Mapping[str, Any],
        detail: str = "",
    ) -> Crossing:
        masked = self._masks.mask(message)
        return Crossing(at, direction, kind, method, name, self._revision, masked, detail)

    def _learn(self, version: object) -> None:
        if isinstance(version, str):
            self._revision = version


def _outcome(message: Mapping[str, Any]) -> tuple[Kind, str]:
    if "error" in message:
        return "error", f" {_at(message, 'error').get('code', '')}"
    result = _at(message, "result")
    if result.get("resultType") == "input_required":
        asked = len(_at(result, "inputRequests"))
        return "input required", f", {asked} question" + ("" if asked == 1 else "s")
    return "result", ""


def _at(message: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    found: Any = message
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _id(value: object) -> str | int | None:
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _other(direction: Direction) -> Direction:
    return "to client" if direction == "to server" else "to server"
