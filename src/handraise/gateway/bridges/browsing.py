"""A -32042, which 2026-07-28 does not know: the links in it, and the wait for what is done behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from handraise.gateway.messages import Message

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
