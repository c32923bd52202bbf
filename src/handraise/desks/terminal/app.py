"""The screen while questions wait: one at a time, and gone when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message_pump import MessagePump
from textual.screen import Screen

from handraise.desks.present import kind_of
from handraise.desks.terminal.fields import LineInput
from handraise.desks.terminal.screens import (
    Apart,
    ConfirmScreen,
    FormScreen,
    LinkScreen,
    NextFirst,
    QuestionScreen,
)
from handraise.desks.terminal.widgets import Plain
from handraise.desks.terminal_session import TerminalSession
from handraise.desks.waiting import Waiting

SENT_LINGERS = 0.6
"""Seconds for which the screen stays after an answer: the next question of the same call often follows at once."""
NEWS_LINGERS = 6.0
"""Seconds for which it is said that a question ended elsewhere."""
_PATIENCE = 0.5
"""Seconds after which the next key is not held back any longer for a screen that is busy."""


class ClosingScreen(Screen[None]):
    """Nothing waits any more. Says why, when it was not decided here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,space,ctrl+c,ctrl+q", "close", priority=True)
    ]

    def __init__(self, news: str, session: TerminalSession) -> None:
        super().__init__()
        self._news = news
        self._session = session

    def compose(self) -> ComposeResult:
        language = self._session.language
        more = f" {language('enter_closes')}" if self._news else ""
        with Vertical(id="box"):
            yield Plain(self._news or self._session.farewell, classes="title")
            yield Plain(f"{language('nothing_else')}{more}")

    def on_mount(self) -> None:
        self.set_timer(NEWS_LINGERS if self._news else SENT_LINGERS, self.action_close)

    def action_close(self) -> None:
        self.app.exit()


def _at_tabs(text: str) -> list[events.Event]:
    """Pasted text for several fields, as a row of a spreadsheet is: a Tab goes to the next one."""
    parts: list[events.Event] = []
    for piece in text.split("\t"):
        parts += [events.Key("tab", "\t"), events.Paste(piece)]
    return parts[1:]


class DeskApp(App[None]):
    """Follows the queue: shows what waits, moves on when it is decided, here or elsewhere."""

    CSS_PATH = "look.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, session: TerminalSession, printed: Callable[[str], None] | None = None) -> None:
        super().__init__(ansi_color=True)  # the person's own colours; said here, NO_COLOR leaves none at all
        self.theme = "ansi-dark"
        self.session = session
        self.shown: tuple[Waiting, ...] = ()
        self._printed = printed
        self._typed: asyncio.Queue[events.Event] = asyncio.Queue()

    def on_mount(self) -> None:
        if self._printed is not None:
            self.begin_capture_print(self)
        self.run_worker(self._follow())
        self.run_worker(self._type())

    def on_print(self, event: events.Print) -> None:
        """Something was printed while the desk has the screen: it is kept, and given back afterwards."""
        if self._printed is not None:
            self._printed(event.text)

    async def on_event(self, event: events.Event) -> None:
        """Let no key or click through that came before the question can have been read, and keys one by one."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed.put_nowait(event)
        elif (
            isinstance(event, events.MouseDown)
            and not event.is_forwarded
            and self.session.type_ahead.left() > 0
        ):
            return
        else:
            await super().on_event(event)

    async def _type(self) -> None:
        """Hand over keys one by one, each when the one before it has done what it does.

        Keys that arrive together, as pasted ones do, would otherwise all go to the field that has the focus now,
        although a Tab is among them.
        """
        while True:
            event = await self._typed.get()
            if not self.session.type_ahead.counts_now():
                continue
            parts = [event]
            if isinstance(event, events.Paste) and isinstance(self.screen.focused, LineInput):
                parts = _at_tabs(event.text)
            for part in parts:
                await self._hand_over(part)

    async def _hand_over(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and isinstance(self.screen, QuestionScreen):
            self.screen.before_key(event.key)
        focused = self.screen.focused
        await super().on_event(event)
        await self._settled([*(focused.ancestors_with_self if focused is not None else [self.screen]), self])

    async def _settled(self, pumps: list[MessagePump]) -> None:
        """Wait until the key has gone all its way: from where it was typed up to the screen and the application."""
        for pump in pumps:
            done = asyncio.Event()
            if pump.call_later(done.set):
                try:
                    async with asyncio.timeout(_PATIENCE):
                        await done.wait()
                except TimeoutError:
                    return

    async def on_next_first(self, message: NextFirst) -> None:
        following = self.session.turn(message.shown)
        if following.id != message.shown.id:
            await self._show(following, "")

    async def _follow(self) -> None:
        async for waiting in self.session.queue.changes():
            here = {other.id for other in waiting}
            if not self.shown or any(shown.id not in here for shown in self.shown):
                await self._move_on()
            elif len(self.session.together(self.shown[0])) > len(self.shown):
                await self._show(self.shown[0], "")  # one more came to what is shown as one
            elif isinstance(self.screen, QuestionScreen):
                self.screen.refresh_place()

    async def _move_on(self) -> None:
        news = " ".join(filter(None, map(self.session.ended, self.shown)))
        following = self.session.next_after(self.shown)
        if following is None:
            self.shown = ()
            await self._replace(ClosingScreen(news, self.session))
        else:
            await self._show(following, news)

    async def on_apart(self, message: Apart) -> None:
        self.session.take_apart(message.shown)
        await self._show(message.shown, "")

    async def _show(self, waiting: Waiting, news: str) -> None:
        self.session.type_ahead.begin()
        self.shown = self.session.together(waiting)
        screen = self._screen()
        await self._replace(screen)
        self.call_after_refresh(self._appeared, screen, news)

    def _appeared(self, screen: QuestionScreen, news: str) -> None:
        """Now it can be seen: from here on its half second runs."""
        for waiting in screen.together:
            self.session.queue.show(waiting.id)
        self.session.type_ahead.begin()
        screen.refresh_place()
        screen.say(news)

    def _screen(self) -> QuestionScreen:
        kind = kind_of(self.shown[0])
        if kind in ("link", "browsing"):
            return LinkScreen(self.shown, self.session)
        if kind in ("confirm", "plain") and len(self.shown) == 1:
            return ConfirmScreen(self.shown, self.session)
        return FormScreen(self.shown, self.session)

    async def _replace(self, screen: Screen[None]) -> None:
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        await self.push_screen(screen)
