"""Find out a server's era with the client's first message, and bridge it if necessary."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from handraise.gateway.as_legacy import AsLegacy
from handraise.gateway.as_modern import AsModern
from handraise.gateway.links import Bridge, Link
from handraise.gateway.messages import ACCOUNT_NEEDED, Message, error_response, request
from handraise.gateway.peers import is_modern, is_modern_server, says_it_resumes

DISCOVER: Final = "server/discover"
PATIENCE: Final = 15.0
"""Seconds after which a server that does not answer `server/discover` counts as legacy."""
_PROBE: Final = "handraise-probe"
_UNSUPPORTED: Final = error_response(None, -32022, "Unsupported protocol version")


class EraLink(Bridge):
    """A link that speaks its client's era, whatever the server speaks.

    A legacy client's `initialize` shows the server's era. Before a modern client's first call we send
    `server/discover`, because a call must not be made twice.

    A client that waits too long for `server/discover`, as for a server that starts slowly, may send `initialize` then
    and go on as a legacy client.
    """

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._to: Link | None = None
        """The link itself or a bridge over it; None until the server's era is known."""
        self._first: Message | None = None
        self._probe: Message | None = None
        self._client_is_modern = False
        self._waiting: list[Message] = []
        self._patience: asyncio.TimerHandle | None = None
        link.on_message = self._probed

    def send(self, message: Message) -> None:
        if self._to is not None:
            self._to.send(message)
        elif self._client_is_modern and message.method == "initialize":
            self._first, self._client_is_modern = message, False
        elif self._first is not None:
            self._waiting.append(message)
        else:
            self._begin(message)

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        return self._to is not None and self._to.reissue(message, round)

    async def aclose(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        await (self._to or self._link).aclose()

    def _begin(self, message: Message) -> None:
        self._client_is_modern = modern = is_modern(message)
        if not modern and message.method != "initialize":
            self._go_on(self._link, message)
            return
        self._first = self._probe = message
        if modern and message.method != DISCOVER:
            self._probe = request(_PROBE, DISCOVER, {"_meta": message.params["_meta"]})
        if modern:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(PATIENCE, self._take_for_legacy)
        self._link.send(self._probe)

    def _probed(self, message: Message) -> None:
        probe, first = self._probe, self._first
        if probe is None or first is None or message.id != probe.id or message.method is not None:
            self.on_message(message)
            return
        if message.source is not None:
            message.source.resumes = says_it_resumes(message.result or {})
        if message.result is None and message.error.get("code") == ACCOUNT_NEEDED:
            self._begin_again(message)
            return
        needs: Link
        if probe.method != DISCOVER:
            needs = AsLegacy(self._link, message) if message.result is None else self._link
        elif self._client_is_modern:
            needs = self._link if is_modern_server(message) else AsModern(self._link)
        else:  # it fell back meanwhile
            needs = AsLegacy(self._link, _UNSUPPORTED) if is_modern_server(message) else self._link
        if needs is self._link and probe is first:
            self._go_on(needs)
            self.on_message(message)
        else:
            self._go_on(needs, first)

    def _take_for_legacy(self) -> None:
        """The server did not answer `server/discover` in time."""
        if self._first is not None:
            self._go_on(AsModern(self._link) if self._client_is_modern else self._link, self._first)

    def _begin_again(self, message: Message) -> None:
        """The server wants an account first: answer all that waits with that, and probe again with the next message."""
        waiting = [each for each in (self._first, *self._waiting) if each is not None and each.is_request]
        if self._patience is not None:
            self._patience.cancel()
        self._waiting, self._first, self._probe, self._client_is_modern = [], None, None, False
        for each in waiting:
            self.on_message(message.with_(id=each.id))

    def _go_on(self, to: Link, *messages: Message) -> None:
        """Send what waited: the era is known."""
        self._to = to
        if self._patience is not None:
            self._patience.cancel()
        to.on_message = lambda message: self.on_message(message)
        to.on_closed = lambda source, last: self.on_closed(source, last)
        waiting, self._waiting, self._first, self._probe = self._waiting, [], None, None
        for message in (*messages, *waiting):
            to.send(message)
