"""Links that the person opened and has not finished."""

from __future__ import annotations

import asyncio
from typing import Final

from handraise.client.recording import HostRecord
from handraise.questions import UrlQuestion

_MOST: Final = 64
"""How many links are remembered: some servers never report the end."""


class OpenLinks:
    """The open links."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Event] = {}
        self._recorded: dict[UrlQuestion, HostRecord] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, link: UrlQuestion) -> asyncio.Event:
        """An event that is set when the server reports that this link is finished."""
        return self._expected.setdefault(str(link.elicitation_id), asyncio.Event())

    def noticed(self, elicitation_id: str) -> None:
        """Handle a completion notice; an unknown id is ignored."""
        if (finished := self._expected.get(elicitation_id)) is not None:
            finished.set()

    def forget(self, link: UrlQuestion) -> None:
        """Forget a link."""
        self._expected.pop(str(link.elicitation_id), None)

    def opened(self, link: UrlQuestion, recording: HostRecord) -> None:
        """Remember the record of a link that the person agreed to open, until it is finished."""
        self._recorded[link] = recording
        while len(self._recorded) > _MOST:
            del self._recorded[next(iter(self._recorded))]

    async def completed(self, link: UrlQuestion) -> None:
        """Record that a link is finished."""
        if (recording := self._recorded.pop(link, None)) is not None:
            await recording.completed()
