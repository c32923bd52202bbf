"""The handshake with a server of the revisions before, for a client that knows none: made by its first message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from handraise.gateway.links import Link
from handraise.gateway.messages import Id, Message, notice, request
from handraise.gateway.peers import CAPABILITIES_KEY, CLIENT_KEY, LOG_LEVEL_KEY, NOVEMBER

_ID: Final = "handraise-initialize"


class Handshake:
    """What the server said of itself, and who waits for it to say so."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting: list[Message] = []
        self._level: object = None
        self.hello: Mapping[str, Any] | None = None
        """The result of `initialize`."""

    def wait(self, message: Message) -> None:
        """Have a message wait for the end of the handshake, which the first one begins."""
        self._waiting.append(message)
        if len(self._waiting) > 1:
            return
        meta = message.params.get("_meta") or {}
        params = {
            "protocolVersion": NOVEMBER,
            "capabilities": meta.get(CAPABILITIES_KEY) or {},
            "clientInfo": meta.get(CLIENT_KEY) or {"name": "unknown", "version": ""},
        }
        self._link.send(request(_ID, "initialize", params))

    def is_answer(self, message: Message) -> bool:
        """Whether this is the server's part of it."""
        return message.id == _ID

    def end(
        self, message: Message, go_on: Callable[[Message], None], refuse: Callable[[Message], None]
    ) -> None:
        """Take the server's part: who waited goes on, or is refused with what the server said."""
        waited, self._waiting = self._waiting, []
        if message.result is None:
            for each in waited:
                if each.id is not None:
                    refuse(message.with_(id=each.id))
            return
        self.hello = message.result
        self._link.send(notice("notifications/initialized", {}))
        for each in waited:
            go_on(each)

    def set_level(self, message: Message, id: Id) -> None:
        """The level of the log comes with each request; the server is told when it changes, under this id."""
        level = (message.params.get("_meta") or {}).get(LOG_LEVEL_KEY)
        has_log = self.hello is not None and "logging" in (self.hello.get("capabilities") or {})
        if has_log and level is not None and level != self._level:
            self._level = level
            self._link.send(request(id, "logging/setLevel", {"level": level}))
