"""The screen while questions wait: one at a time, and gone when there is none."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen

from handraise.desks.clerk import Clerk
from handraise.desks.terminal.form import FormScreen
from handraise.desks.terminal.frame import Apart, FrameScreen, Turn
from handraise.desks.terminal.link import LinkScreen
from handraise.desks.terminal.writing import Plain
from handraise.desks.waiting import Waiting
from handraise.questions import FormQuestion

SENT_LINGERS = 0.6
"""Seconds for which the screen stays after an answer: the next question of the same call often follows at once."""
NEWS_LINGERS = 6.0
"""Seconds for which it is said that a question ended elsewhere."""


class ClosingScreen(Screen[None]):
    """Nothing waits any more. Says why, when it was not decided here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,space,ctrl+c,ctrl+q", "close", priority=True)
    ]

    def __init__(self, news: str, farewell: str) -> None:
        super().__init__()
        self._news = news
        self._farewell = farewell

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Plain(self._news or self._farewell, classes="title")
            yield Plain("Nothing else waits for you." + (" Enter closes this." if self._news else ""))

    def on_mount(self) -> None:
        self.set_timer(NEWS_LINGERS if self._news else SENT_LINGERS, self.action_close)

    def action_close(self) -> None:
        self.app.exit()


class DeskApp(App[None]):
    """Follows the queue: shows what waits, moves on when it is decided, here or elsewhere."""

    CSS_PATH = "look.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, clerk: Clerk) -> None:
        super().__init__(ansi_color=True)  # the person's own colours; said here, NO_COLOR leaves none at all
        self.theme = "ansi-dark"
        self.clerk = clerk
        self.shown: tuple[Waiting, ...] = ()

    def on_mount(self) -> None:
        self.run_worker(self._follow())

    async def on_event(self, event: events.Event) -> None:
        """Let no key through that was typed before the question can have been read."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if not self.clerk.quiet.hears():
                return
            if isinstance(event, events.Key) and isinstance(self.screen, FrameScreen):
                self.screen.before_key(event.key)
        await super().on_event(event)

    async def on_turn(self, message: Turn) -> None:
        following = self.clerk.turn(message.shown)
        if following.id != message.shown.id:
            await self._show(following, "")

    async def _follow(self) -> None:
        async for waiting in self.clerk.queue.changes():
            here = {other.id for other in waiting}
            if not self.shown or any(shown.id not in here for shown in self.shown):
                await self._move_on()
            elif len(self.clerk.together(self.shown[0])) > len(self.shown):
                await self._show(self.shown[0], "")  # one more came to what is shown as one
            elif isinstance(self.screen, FrameScreen):
                self.screen.refresh_place()

    async def _move_on(self) -> None:
        news = " ".join(filter(None, map(self.clerk.ended, self.shown)))
        following = self.clerk.next_after(self.shown)
        if following is None:
            self.shown = ()
            await self._replace(ClosingScreen(news, self.clerk.farewell))
        else:
            await self._show(following, news)

    async def on_apart(self, message: Apart) -> None:
        self.clerk.take_apart(message.shown)
        await self._show(message.shown, "")

    async def _show(self, waiting: Waiting, news: str) -> None:
        self.clerk.quiet.begin()
        self.shown = self.clerk.together(waiting)
        screen = self._screen_for(waiting)
        await self._replace(screen)
        self.call_after_refresh(self._appeared, screen, news)

    def _appeared(self, screen: FrameScreen, news: str) -> None:
        """Now it can be seen: from here on its half second runs."""
        for waiting in screen.together:
            self.clerk.queue.show(waiting.id)
        self.clerk.quiet.begin()
        screen.refresh_place()
        screen.say(news)

    def _screen_for(self, waiting: Waiting) -> FrameScreen:
        question = waiting.question
        if isinstance(question, FormQuestion):
            return FormScreen(self.shown, self.clerk)
        return LinkScreen(waiting, self.clerk, question)

    async def _replace(self, screen: Screen[None]) -> None:
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        await self.push_screen(screen)
