"""A person at the terminal desk, for tests: questions waiting, keys, and what can be read on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from textual import _wait, events
from textual.pilot import Pilot

from handraise.desks import Decision, Queue, Waiting
from handraise.desks.codes import AnswerCode
from handraise.desks.language import ENGLISH, Language
from handraise.desks.terminal.app import DeskApp
from handraise.desks.terminal_session import TerminalSession
from handraise.urls import Inspection, NotOpened, Opened
from handraise.urls.open import Hindrance

_wait.SLEEP_GRANULARITY = 0.004  # look five times as often whether the screen is idle
_wait.SLEEP_IDLE = 0.0004


class Patient:
    """A clock by which a second has gone by whenever somebody looks: nothing is ever too soon."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Stopped:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Browser:
    """Remembers what was opened; or cannot open anything."""

    def __init__(self, hindrance: NotOpened | None = None) -> None:
        self.opened: list[str | None] = []
        self._hindrance = hindrance

    def __call__(self, link: Inspection) -> Opened | NotOpened:
        self.opened.append(link.href)
        return self._hindrance or Opened(link.href or "")


def nothing_known() -> None:
    """Nothing hinders a browser here that could be known before a try."""


class Sitting:
    """One person, one screen."""

    def __init__(
        self, app: DeskApp, pilot: Pilot[None], queue: Queue, asked: list[asyncio.Task[Decision]]
    ) -> None:
        self.app = app
        self.pilot = pilot
        self.queue = queue
        self.asked = asked

    async def press(self, *keys: str) -> None:
        """Press keys, and let the screen follow."""
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        """Type a text, as fast as it goes."""
        for character in text:
            self.app.post_message(events.Key(character, character))
        await self.settle()

    async def type_keys(self, *keys: str) -> None:
        """Press keys all at once, as pasted text arrives at a terminal that does not mark it."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await self.settle()

    async def paste(self, text: str) -> None:
        """Paste a text, as a terminal hands it over that marks what was pasted."""
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def click(self, text: str) -> None:
        """Click on a text on the screen."""
        lines = (await self.sees(text)).split("\n")
        row = next(n for n, line in enumerate(lines) if text in line)
        await self.pilot.click(offset=(lines[row].index(text) + 1, row))
        await self.settle()

    async def settle(self) -> None:
        """Wait until everything that was set off has happened."""
        for _ in range(3):
            await self.pilot.pause()

    def screen(self) -> str:
        """What can be read now."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def sees(self, *texts: str) -> str:
        """What can be read, as soon as all of this is there, however it is broken into lines."""
        return await self._until(lambda screen: all(_flat(text) in _flat(screen) for text in texts), texts)

    async def decision(self, at: int = 0) -> Decision:
        """What was decided about a question."""
        with anyio.fail_after(60):
            return await asyncio.shield(self.asked[at])

    def undecided(self, at: int = 0) -> bool:
        """Whether a question waits still."""
        return not self.asked[at].done()

    async def _until(self, fits: Callable[[str], bool], texts: tuple[str, ...]) -> str:
        for _ in range(1000):
            await self.pilot.pause()
            if fits(screen := self.screen()):
                return screen
        raise AssertionError(f"{texts} not on the screen:\n{screen}")


def _flat(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@asynccontextmanager
async def sitting(
    *questions: Waiting,
    size: tuple[int, int] = (80, 24),
    clock: Callable[[], float] | None = None,
    browser: Browser | None = None,
    hindered: Callable[[], Hindrance | None] = nothing_known,
    queue: Queue | None = None,
    code: AnswerCode | None = None,
    language: Language = ENGLISH,
) -> AsyncIterator[Sitting]:
    """Sit down at a terminal of this size at which these questions wait."""
    clock = clock or Patient()
    queue = queue or Queue(clock)
    asked = [asyncio.create_task(queue.put(question)) for question in questions]
    await asyncio.sleep(0)
    app = DeskApp(
        TerminalSession(
            queue,
            clock=clock,
            opener=browser or Browser(),
            hindered=hindered,
            code=code,
            language=language,
        )
    )
    async with app.run_test(size=size) as pilot:
        here = Sitting(app, pilot, queue, asked)
        asks = "asks" if language is ENGLISH else ""
        await here.sees(asks if questions and not questions[0].browsing else "")
        await here.settle()
        yield here
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
