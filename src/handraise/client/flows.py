"""The browser flows of a host: links that its person went to, and who is told that one is finished."""

from __future__ import annotations

import asyncio
from typing import Final

from handraise.client.recording import HostRecord
from handraise.questions import UrlQuestion

_MOST: Final = 64
"""How many links are remembered: a server may never say that one is finished."""


class OpenLinks:
    """The links that are open."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Event] = {}
        self._recorded: dict[UrlQuestion, HostRecord] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, link: UrlQuestion) -> asyncio.Event:
        """Set when the server says that what is done behind this link is finished."""
        return self._expected.setdefault(str(link.elicitation_id), asyncio.Event())

    def noticed(self, elicitation_id: str) -> None:
        """Hear a completion notice; an id that nobody here was asked about is ignored."""
        if (finished := self._expected.get(elicitation_id)) is not None:
            finished.set()

    def forget(self, link: UrlQuestion) -> None:
        """Nobody waits for this one any more."""
        self._expected.pop(str(link.elicitation_id), None)

    def opened(self, link: UrlQuestion, recording: HostRecord) -> None:
        """The person agreed to open a link; its record goes on when it is finished."""
        self._recorded[link] = recording
        while len(self._recorded) > _MOST:
            del self._recorded[next(iter(self._recorded))]

    async def completed(self, link: UrlQuestion) -> None:
        """What a link led to is finished, by the server's word or the person's."""
        if (recording := self._recorded.pop(link, None)) is not None:
            await recording.completed()
