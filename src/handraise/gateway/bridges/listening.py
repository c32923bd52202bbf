"""What a client of the revisions before wants to hear of, as the one open request of 2026-07-28 that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final

from handraise.gateway.messages import Id, Message, notice, request

_LISTS: Final = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}


class Listening:
    """All lists that the server tells of, and the resources that the client subscribed to."""

    def __init__(self) -> None:
        self._lists: list[str] = []
        self._subscribed: set[str] = set()
        self._open: Id | None = None
        self._fresh = count(1)

    def offered(self, capabilities: Mapping[str, Any]) -> None:
        """Note which lists the server tells of."""
        self._lists = [
            kind for name, kind in _LISTS.items() if (capabilities.get(name) or {}).get("listChanged")
        ]

    def change(self, uri: str, *, add: bool) -> None:
        """Hear of a resource, or no more."""
        (self._subscribed.add if add else self._subscribed.discard)(uri)

    def renew(self, wrapped: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Iterator[Message]:
        """What to send so that the server knows all of it: an end to the request before, and a new one."""
        wanted: dict[str, Any] = dict.fromkeys(self._lists, True)
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        if self._open is not None:
            yield notice("notifications/cancelled", {"requestId": self._open})
        self._open = f"handraise-listen-{next(self._fresh)}" if wanted else None
        if self._open is not None:
            yield request(self._open, "subscriptions/listen", wrapped({"notifications": wanted}))
