"""Who wants to hear of changes on 2026-07-28, served from the notices of a server of the revisions before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from handraise.gateway.links import Link
from handraise.gateway.messages import Id, Message, notice, request
from handraise.gateway.peers import SUBSCRIPTION_KEY

_LISTS: Final = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
UPDATED: Final = "notifications/resources/updated"
CHANGES: Final = frozenset({*_LISTS, UPDATED})
"""The notices that a client has to ask for."""


class Listeners:
    """The open `subscriptions/listen` requests of a client."""

    def __init__(self, link: Link, deliver: Callable[[Message], None]) -> None:
        self._link = link
        self._deliver = deliver
        self._wanted: dict[Id, Mapping[str, Any]] = {}
        self._fresh = count(1)

    def listen(self, message: Message) -> None:
        """Open one, and have the server tell of the resources that it names."""
        assert message.id is not None
        wanted = message.params.get("notifications")
        wanted = wanted if isinstance(wanted, dict) else {}
        self._wanted[message.id] = wanted
        for uri in wanted.get("resourceSubscriptions") or ():
            self._tell("resources/subscribe", uri)
        told = {"notifications": wanted, "_meta": {SUBSCRIPTION_KEY: message.id}}
        acknowledged = notice("notifications/subscriptions/acknowledged", told)
        acknowledged.about = message.id
        self._deliver(acknowledged)

    def leave(self, id: Id | None) -> None:
        """Close one; what nobody wants to hear of any more the server is told."""
        left = self._wanted.pop(id if id is not None else "", {})
        still = {uri for wanted in self._wanted.values() for uri in wanted.get("resourceSubscriptions") or ()}
        for uri in left.get("resourceSubscriptions") or ():
            if uri not in still:
                self._tell("resources/unsubscribe", uri)

    def _tell(self, method: str, uri: str) -> None:
        self._link.send(request(f"handraise-l{next(self._fresh)}", method, {"uri": uri}))

    def publish(self, message: Message) -> None:
        """Tell whoever asked for it of a change."""
        uri, kind = message.params.get("uri"), _LISTS.get(message.method or "")
        for id, wanted in self._wanted.items():
            if wanted.get(kind) if kind else uri in (wanted.get("resourceSubscriptions") or ()):
                meta = {**(message.params.get("_meta") or {}), SUBSCRIPTION_KEY: id}
                told = message.with_(params={**message.params, "_meta": meta})
                told.about = id
                self._deliver(told)
