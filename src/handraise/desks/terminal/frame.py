"""What every screen of a question has: who asks, the ways out, and one line that says what the keys do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from handraise.desks.clerk import Block, Clerk
from handraise.desks.queue import Verdict
from handraise.desks.sheet import lay_out
from handraise.desks.terminal.block import BlockScreen
from handraise.desks.terminal.writing import Bar, Plain
from handraise.desks.waiting import DeskAnswer, Waiting
from handraise.display import for_line
from handraise.questions import Cancelled, Declined

TOO_SOON = "That came before you can have read this. Nothing was sent; look, then press it again."
JUST_APPEARED = "This has just appeared. Keys count after half a second without typing."
DROP = "Esc again cancels and drops what you entered; any other key goes on."


class Act(NamedTuple):
    """A way to go on: its key, our word for it, and the action of the screen."""

    key: str
    word: str
    action: str


DECLINE = Act("F3", "Decline", "decline")
CANCEL = Act("Esc", "Cancel", "cancel")
BLOCK = Act("F4", "Block…", "block")
DECLINE_ALL = DECLINE._replace(word="Decline all")
CANCEL_ALL = CANCEL._replace(word="Cancel all")
APART = Act("F8", "One by one", "take_apart")
TOGETHER = APART._replace(word="Together")


class ActButton(Plain, can_focus=True):
    """An act as a button, for those who go there with Tab."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "press", show=False)]

    def __init__(self, act: Act) -> None:
        super().__init__(f"{act.key} {act.word}", classes="act")
        self._act = act

    async def action_press(self) -> None:
        await self.screen.run_action(f"screen.{self._act.action}")


class FrameScreen(Screen[None]):
    """A question, or a stage of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "decline", priority=True),
        Binding("f4", "block", priority=True),
        Binding("escape,ctrl+c,ctrl+q", "cancel", priority=True),
        Binding("f7", "turn", priority=True),
        Binding("f8", "take_apart", priority=True),
        Binding("enter,down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("pagedown", "scroll_body(1)", show=False),
        Binding("pageup", "scroll_body(-1)", show=False),
    ]

    def __init__(self, together: tuple[Waiting, ...], clerk: Clerk) -> None:
        super().__init__()
        self.together = together
        """The questions on this screen; mostly one."""
        self.waiting = together[0]
        self.clerk = clerk
        self.sheet = lay_out(self.waiting)
        self._said = ""
        self._cancel_asked = False

    def compose(self) -> ComposeResult:
        yield Bar(self.heading(), self.clerk.place(self.waiting, as_one=True))
        with VerticalScroll(id="body"):
            yield from self.content()
        yield Plain(id="notice")
        with Horizontal(id="acts"):
            for act in self.acts():
                yield ActButton(act)

    def on_mount(self) -> None:
        self.set_interval(1.0, self.refresh_place)

    def heading(self) -> str:
        """The first line: who asks, by the name that the user gave."""
        return f"{for_line(self.sheet.asker)} asks"

    def content(self) -> Iterator[Widget]:
        """What stands between the first line and the keys."""
        raise NotImplementedError

    def acts(self) -> tuple[Act, ...]:
        """The ways to go on, the same ones in the same order on every screen."""
        if len(self.together) > 1:
            return (DECLINE_ALL, CANCEL_ALL, BLOCK, APART)
        return (DECLINE, CANCEL, BLOCK, *((TOGETHER,) if self.clerk.is_apart(self.waiting) else ()))

    def focus_hint(self) -> str:
        """What the keys do where the focus is."""
        if isinstance(self.focused, ActButton):
            return "Enter presses this · Tab goes on"
        return "Tab to go on · PgUp PgDn to read"

    def has_work(self) -> bool:
        """Whether something was entered that cancelling would lose."""
        return False

    def refresh_place(self) -> None:
        """Bring up to date how many wait, and for how long."""
        if self.is_mounted:
            place = self.clerk.place(self.waiting, as_one=True)
            more = self.clerk.turn(self.waiting).id != self.waiting.id
            self.query_one(Bar).right = f"{place} · F7 next" if more else place

    def say(self, text: str) -> None:
        """Say something until the next key."""
        self._said = text
        self.refresh_notice()

    def refresh_notice(self) -> None:
        """Show what there is to say: what was just said, or what the keys do here."""
        if not self.is_mounted:
            return
        deaf = self.clerk.quiet.left()
        notice = self.query_one("#notice", Plain)
        notice.set_class(bool(self._said) or deaf > 0, "said")
        notice.say(self._said or (JUST_APPEARED if deaf > 0 else self.focus_hint()))
        if deaf > 0:
            self.set_timer(deaf + 0.01, self.refresh_notice)

    def before_key(self, key: str) -> None:
        """A key was pressed that counts: what was said is over, and so is a cancel that was not confirmed."""
        if key not in ("escape", "ctrl+c", "ctrl+q"):
            self._cancel_asked = False
        if self._said:
            self.say("")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.refresh_notice()

    def decide(self, answer: DeskAnswer, *, block: Block | None = None, edited: tuple[str, ...] = ()) -> None:
        """Decide what is on the screen. What comes too late is told when the screen moves on."""
        for waiting in self.together:
            self.say_why_not(self.clerk.decide(waiting, answer, block=block, edited=edited))
            block = None  # one rule is enough

    def say_why_not(self, verdict: Verdict) -> None:
        """Say why a decision was not taken, where the question still waits."""
        if verdict == "too soon":
            self.say(TOO_SOON)
        elif verdict == "needs passkey":
            self.say(self.clerk.queue.needs_passkey)

    def action_decline(self) -> None:
        self.decide(Declined())

    def action_cancel(self) -> None:
        if self.has_work() and not self._cancel_asked:
            self._cancel_asked = True
            self.say(DROP)
        else:
            self.decide(Cancelled())

    def action_block(self) -> None:
        def chosen(block: Block | None) -> None:
            if block is not None:
                self.decide(Declined(), block=block)

        self.app.push_screen(BlockScreen(for_line(self.sheet.asker)), chosen)

    def action_turn(self) -> None:
        """Show the next of the questions that wait; what was entered here is kept."""
        self.post_message(Turn(self.waiting))

    def action_take_apart(self) -> None:
        """Show what came together one by one, or as one again; what was entered here is kept."""
        if len(self.together) > 1 or self.clerk.is_apart(self.waiting):
            self.post_message(Apart(self.waiting))

    def action_scroll_body(self, way: int) -> None:
        body = self.query_one("#body", VerticalScroll)
        body.scroll_relative(y=way * max(1, body.size.height - 2), animate=False)


class Apart(Message):
    """The person wants to see what came together one by one, or as one again."""

    def __init__(self, shown: Waiting) -> None:
        super().__init__()
        self.shown = shown


class Turn(Message):
    """The person wants to see the next question first."""

    def __init__(self, shown: Waiting) -> None:
        super().__init__()
        self.shown = shown
