"""The screens of the terminal desk: a question stays on top, who asks and every way to decide at the bottom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from handraise.desks.fill import Entries, Filled, draft_of, edited, fill, suggest, take_draft
from handraise.desks.present import Button, Presentation, odd_reasons, present, wrong_with
from handraise.desks.queue import Verdict
from handraise.desks.terminal.fields import DateInput, FieldBlock, LineInput, LinesInput, Picker
from handraise.desks.terminal.widgets import LONGEST, Bar, Plain, Quoted, Row
from handraise.desks.terminal_session import Block, TerminalSession
from handraise.desks.waiting import DeskAnswer, Waiting
from handraise.display import UntrustedText, for_line
from handraise.forms import Form
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.urls import Inspection

KEYS = {"send": "F5", "accept": "F5", "open": "F5", "done": "F5", "decline": "F3", "cancel": "Esc"}


class ActButton(Plain, can_focus=True):
    """A way to decide, for the mouse and for those who go there with Tab."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", show=False)]

    def __init__(self, key: str, label: str, action: str, *, main: bool = False) -> None:
        super().__init__(_act_text(key, label), classes="act main" if main else "act")
        self.key = key
        self.cells = cell_len(_act_text(key, label).plain)
        """How wide it is."""
        if action.startswith("answer"):
            self.add_class("answer")
        self._action = action

    async def action_press(self) -> None:
        await self.screen.run_action(f"screen.{self._action}")

    async def on_click(self) -> None:
        await self.action_press()

    def relabel(self, label: str) -> None:
        """Say something else."""
        self.say(_act_text(self.key, label))


def _act_text(key: str, label: str) -> Text:
    return Text.assemble((f" {label} ", "bold reverse"), (f" {key}" if key else "", "dim"))


class Body(VerticalScroll, inherit_bindings=False):
    """Everything between the question and the buttons. Its screen says what the arrow keys do in it."""


class QuestionScreen(Screen[None]):
    """A question, or all forms that came together."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "decline", priority=True),
        Binding("f4", "block", priority=True),
        Binding("f5", "accept", priority=True),
        Binding("f6", "clear", priority=True),
        Binding("f7", "turn", priority=True),
        Binding("f8", "take_apart", priority=True),
        Binding("f9", "details", priority=True),
        Binding("f10", "logs", priority=True),
        Binding("escape,ctrl+c,ctrl+q", "cancel", priority=True),
        Binding("tab", "go(1)", priority=True),
        Binding("shift+tab", "go(-1)", priority=True),
        Binding("enter", "enter", priority=True),
        Binding("down", "arrow(1)", show=False),
        Binding("up", "arrow(-1)", show=False),
        Binding("pagedown", "scroll_body(1)", priority=True),
        Binding("pageup", "scroll_body(-1)", show=False),
    ]

    def __init__(self, together: tuple[Waiting, ...], session: TerminalSession) -> None:
        super().__init__()
        self.together = together
        """The questions on this screen; mostly one."""
        self.waiting = together[0]
        self.session = session
        self.language = session.language
        self.shown: Presentation = present(self.waiting, self.language)
        self._said = ""
        self._cancel_asked = False

    def compose(self) -> ComposeResult:
        alone = self.shown.kind in ("confirm", "plain") and len(self.together) == 1
        with VerticalScroll(id="question", classes="alone" if alone else ""):
            yield from self._words(self.shown)
        yield Plain(id="unread")
        with Body(id="body"):
            yield from self.content()
            yield Vertical(*self._details(), id="details")
        yield Bar(for_line(self.shown.who), self.session.place(self.waiting, as_one=True))
        yield Plain(id="notice")
        acts = list(self.acts())
        answers = [act for act in acts if act.has_class("main") or act.has_class("answer")]
        if sum(act.cells + 1 for act in acts) <= 78:
            yield Horizontal(*acts, classes="acts")
        else:
            yield Horizontal(*answers, classes="acts")
            yield Horizontal(*(act for act in acts if act not in answers), classes="acts")

    def on_mount(self) -> None:
        self.set_interval(1.0, self.refresh_place)
        self.call_after_refresh(self._start)

    def content(self) -> Iterator[Widget]:
        """What stands between the question and who asks."""
        yield from _warnings(self.shown)
        yield from (Plain(note, classes="says") for note in self.shown.notes)

    def acts(self) -> Iterator[ActButton]:
        """The ways to decide, the same ones in the same order on every screen."""
        several = len(self.together) > 1
        for button in self.shown.buttons if not several else ():
            yield ActButton(self.key_of(button), str(button), _ACTIONS[button.act], main=button.main)
        if several:
            yield ActButton("F5", self.language("send_all", count=len(self.together)), "accept", main=True)
        for button in self.shown.ways_out:
            label = self.language(f"{button.act}_all") if several else str(button)
            yield ActButton(self.key_of(button), label, _ACTIONS[button.act])
        if self.waiting.can_be_declined:
            yield ActButton("F4", self.language("more"), "block")
        if several or self.session.is_apart(self.waiting):
            yield ActButton("F8", self.language("one_by_one" if several else "as_one"), "take_apart")

    def key_of(self, button: Button) -> str:
        """The key that presses a button."""
        return KEYS.get(button.act, "")

    def focus_hint(self) -> str:
        """What the keys do where the focus is."""
        return self.language("keys_button" if isinstance(self.focused, ActButton) else "keys_read")

    def has_work(self) -> bool:
        """Whether something was entered that cancelling would lose."""
        return False

    def refresh_place(self) -> None:
        """Bring up to date how many wait, for how long, and how much was printed."""
        if not self.is_mounted:
            return
        place = [self.session.place(self.waiting, as_one=True)]
        if self.session.turn(self.waiting).id != self.waiting.id:
            place.append("F7")
        if printed := self.session.printed():
            place.append(self.language("log_lines", count=len(printed)))
        self.query_one(Bar).right = " · ".join(filter(None, place))
        top = self.query_one("#question", VerticalScroll)
        more = top.max_scroll_y > 0 and top.scroll_offset.y < top.max_scroll_y
        unread = self.query_one("#unread", Plain)
        unread.say(self.language("scroll_for_more"))
        unread.set_class(more, "more")

    def say(self, text: str) -> None:
        """Say something until the next key."""
        self._said = text
        self.refresh_notice()

    def refresh_notice(self) -> None:
        """Show what there is to say: what was just said, or what the keys do here."""
        if not self.is_mounted:
            return
        ignored = self.session.type_ahead.left()
        notice = self.query_one("#notice", Plain)
        notice.set_class(bool(self._said) or ignored > 0, "said")
        notice.say(self._said or (self.language("just_appeared") if ignored > 0 else self.focus_hint()))
        if ignored > 0:
            self.set_timer(ignored + 0.01, self.refresh_notice)

    def before_key(self, key: str) -> None:
        """A key was pressed that counts: what was said is over, and so is a cancel that was not confirmed."""
        if key not in ("escape", "ctrl+c", "ctrl+q"):
            self._cancel_asked = False
        if self._said and key != "f5":
            self.say("")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.refresh_notice()

    def decide(self, answer: DeskAnswer, *, block: Block | None = None, edited: tuple[str, ...] = ()) -> None:
        """Decide what is on the screen. What comes too late is told when the screen moves on."""
        for waiting in self.together:
            self.say_why_not(self.session.decide(waiting, answer, block=block, edited=edited))
            block = None  # one rule is enough

    def say_why_not(self, verdict: Verdict) -> None:
        """Say why a decision was not taken, where the question still waits."""
        if verdict == "too soon":
            self.say(self.language("too_soon"))
        elif verdict == "needs passkey":
            self.say(self.session.language("passkey_at_web_desk", command=self.session.queue.web_desk))

    def action_accept(self) -> None:
        """Accept what has nothing to fill in."""
        self.decide(Accepted({}))

    def action_decline(self) -> None:
        if self.waiting.can_be_declined:
            self.decide(Declined())

    def action_cancel(self) -> None:
        if self.has_work() and not self._cancel_asked:
            self._cancel_asked = True
            self.say(self.language("drop"))
        else:
            self.decide(Cancelled())

    def action_block(self) -> None:
        def chosen(block: Block | None) -> None:
            if block is not None:
                self.decide(Declined(), block=block)

        if self.waiting.can_be_declined:
            self.app.push_screen(BlockScreen(for_line(self.shown.asker), self.session), chosen)

    def action_clear(self) -> None:
        """Nothing to clear here."""

    def action_details(self) -> None:
        """Show or hide everything that is known about the question."""
        details = self.query_one("#details")
        details.toggle_class("open")
        if details.has_class("open"):
            self.call_after_refresh(details.scroll_visible, animate=False)

    def action_logs(self) -> None:
        if printed := self.session.printed():
            self.app.push_screen(LogScreen(printed, self.session))

    def action_turn(self) -> None:
        """Show the next of the questions that wait; what was entered here is kept."""
        self.post_message(NextFirst(self.waiting))

    def action_take_apart(self) -> None:
        """Show what came together one by one, or as one again; what was entered here is kept."""
        if len(self.together) > 1 or self.session.is_apart(self.waiting):
            self.post_message(Apart(self.waiting))

    def action_go(self, way: int) -> None:
        """Go to the next control, at once: the next key is typed there."""
        self.focus_next() if way > 0 else self.focus_previous()

    def action_enter(self) -> None:
        """Enter in a line goes on. Elsewhere it does what the control does with it."""
        if not isinstance(self.focused, LineInput):
            raise SkipAction
        self.focus_next()

    def on_picker_go_on(self, event: Picker.GoOn) -> None:
        self.focus_next()

    def action_arrow(self, way: int) -> None:
        """Go to the next field; where none has the focus, scroll."""
        if isinstance(self.focused, Body):
            self.focused.scroll_relative(y=way, animate=False)
        else:
            self.action_go(way)

    def action_scroll_body(self, way: int) -> None:
        """Read on in the question, then below it. A field with a use for the key has it once all was read."""
        top = self.query_one("#question", VerticalScroll)
        can = top.scroll_offset.y < top.max_scroll_y if way > 0 else top.scroll_offset.y > 0
        if not can and isinstance(self.focused, Picker | LinesInput | DateInput):
            raise SkipAction
        scrolled = top if can else self.query_one("#body", VerticalScroll)
        scrolled.scroll_relative(y=way * max(1, scrolled.size.height - 1), animate=False)
        self.call_after_refresh(self.refresh_place)

    def _start(self) -> None:
        """Nothing that decides has the focus at first."""
        self.query_one("#body", VerticalScroll).focus()
        self.refresh_place()

    def _words(self, shown: Presentation) -> Iterator[Widget]:
        if shown.speaker == "server":
            yield Quoted(shown.message, classes="words")
        else:
            key = "own_words" if shown.speaker == "handraise" else "guard_words"
            yield Plain(f"{self.language(key)}:", classes="says")
            yield Quoted(shown.message, classes="words")

    def _details(self) -> Iterator[Widget]:
        for heading, lines in self.shown.details:
            texts = (line if isinstance(line, str) else line.raw for line in lines)
            yield Row(heading, *(for_line(text, limit=LONGEST) for text in texts))
        for line in self.session.elsewhere(*self.together):
            yield Plain(line, classes="elsewhere")


_ACTIONS = {
    "yes": "answer(True)",
    "no": "answer(False)",
    "accept": "accept",
    "send": "accept",
    "open": "accept",
    "done": "accept",
    "decline": "decline",
    "cancel": "cancel",
}


class ConfirmScreen(QuestionScreen):
    """Two buttons, and one key each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,j", "answer(True)", show=False),
        Binding("n", "answer(False)", show=False),
    ]

    def key_of(self, button: Button) -> str:
        answers = (
            {"accept": "yes", "decline": "no"} if self.shown.kind == "plain" else {"yes": "yes", "no": "no"}
        )
        if button.act in answers:
            return self.language(answers[button.act])[0].lower()
        return super().key_of(button)

    def focus_hint(self) -> str:
        return super().focus_hint() if isinstance(self.focused, ActButton) else self.language("keys_confirm")

    def action_answer(self, yes: bool) -> None:
        assert isinstance(self.waiting.question, FormQuestion)
        confirms = self.waiting.question.confirms
        if confirms is not None:
            self.decide(Accepted({confirms: yes}))
        else:
            self.decide(Accepted({}) if yes else Declined())

    def action_accept(self) -> None:
        """No key but its own says yes."""


class _FormPart:
    """One form on a screen, which may show several."""

    def __init__(self, waiting: Waiting, session: TerminalSession) -> None:
        assert isinstance(waiting.question, FormQuestion)
        self.waiting = waiting
        self.language = session.language
        self.shown = present(waiting, session.language)
        self.form: Form[Any] = waiting.question.form
        self._queue = session.queue
        last_answer = waiting.question.hints.last_answer
        suggested = suggest(self.form, last_answer)
        draft = session.queue.draft(waiting.id)
        entries = take_draft(self.form, draft, last_answer)
        self.blocks = [
            FieldBlock(
                field, shown, entries.get(field.name), suggested.get(field.name), session.language, _now
            )
            for field, shown in zip(self.form.fields, self.shown.fields, strict=True)
        ]
        self.worked = bool(draft)
        """Whether something was entered that cancelling would lose."""

    def filled(self) -> Filled:
        """What would be sent as it stands."""
        return fill(self.form, self._entries(), self.waiting.doubts)

    def keep(self) -> None:
        """Keep what was entered, so that an interruption loses nothing."""
        self.worked = True
        self._queue.keep_draft(self.waiting.id, draft_of(self.form, self._entries()))

    def check(self) -> None:
        """Say under each field that was touched what is wrong with it."""
        filled = self.filled()
        for block in self.blocks:
            block.say_problem(wrong_with(filled, block.field, self.language) if block.touched else "")

    def wrong(self) -> list[FieldBlock]:
        """The fields that keep it from being sent. From now on they say so."""
        for block in self.blocks:
            block.touched = True
        self.check()
        filled = self.filled()
        return [block for block in self.blocks if wrong_with(filled, block.field, self.language)]

    def _entries(self) -> Entries:
        return {block.shown.name: block.entry for block in self.blocks if block.entry is not None}


class FormScreen(QuestionScreen):
    """The fields of a form, or of all forms that came together. It is edited until it is sent."""

    def __init__(self, together: tuple[Waiting, ...], session: TerminalSession) -> None:
        super().__init__(together, session)
        self.parts = [_FormPart(waiting, session) for waiting in together]
        self.blocks = [block for part in self.parts for block in part.blocks]
        self._looked_at: object = None

    def content(self) -> Iterator[Widget]:
        yield from super().content()
        if len(self.parts) > 1:
            yield Plain(self.language("each_by_itself"), classes="says")
        for number, part in enumerate(self.parts):
            if number:
                yield from _warnings(part.shown)
                yield Quoted(part.shown.message, classes="words")
            yield from part.blocks

    def _start(self) -> None:
        """Begin at the first field, or at the one to which the server objects."""
        if self.blocks:
            objected = (block for block in self.blocks if block.shown.objection is not None)
            next(objected, self.blocks[0]).editor.focus()
            self.refresh_place()
        else:
            super()._start()

    def focus_hint(self) -> str:
        block = self._focused_block()
        if block is None:
            return super().focus_hint()
        at = self.language("field_of", number=self.blocks.index(block) + 1, count=len(self.blocks))
        return f"{at} · {block.keys}"

    def has_work(self) -> bool:
        return any(part.worked for part in self.parts)

    def on_field_block_changed(self, event: FieldBlock.Changed) -> None:
        for part in self.parts:
            if event.block in part.blocks:
                part.keep()
        self._check()
        self.refresh_notice()
        self._keep_in_sight(event.block)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._check()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        super().on_descendant_focus(event)
        if (block := self._focused_block()) is not None:
            self._keep_in_sight(block)

    def action_clear(self) -> None:
        if (block := self._focused_block()) is not None:
            block.clear_or_restore()

    def action_accept(self) -> None:
        """Send it; or go to the first field that keeps it from being sent, or to what wants a second look."""
        filled = [part.filled() for part in self.parts]
        if not all(each.sendable for each in filled):
            self._correct()
            return
        odd = [
            reason
            for part, each in zip(self.parts, filled, strict=True)
            for reason in odd_reasons(each, part.shown.fields, self.language)
        ]
        contents = [each.content for each in filled]
        if odd and self._looked_at != contents:
            self._looked_at = contents
            self.say(self.language("look_then_send", reasons=" ".join(odd)))
            return
        for part, each in zip(self.parts, filled, strict=True):
            changed = edited(part.form, each.content)
            self.say_why_not(self.session.decide(part.waiting, Accepted(each.content), edited=changed))

    def _correct(self) -> None:
        wrong = [block for part in self.parts for block in part.wrong()]
        if wrong:
            wrong[0].editor.focus()
            self._keep_in_sight(wrong[0])
        names = ", ".join(str(block.shown.label) for block in wrong)
        self.say(self.language("corrections", count=len(wrong), names=names))

    def _keep_in_sight(self, block: FieldBlock) -> None:
        """All of a field, with what is said about it."""
        self.call_after_refresh(block.scroll_visible, animate=False)

    def _check(self) -> None:
        for part in self.parts:
            part.check()

    def _focused_block(self) -> FieldBlock | None:
        return next((block for block in self.blocks if block.editor is self.focused), None)


class LinkScreen(QuestionScreen):
    """Consent to open a link; while the person is in the browser, "done" and "cancel"."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f2", "open_again", priority=True)]

    def __init__(self, together: tuple[Waiting, ...], session: TerminalSession) -> None:
        super().__init__(together, session)
        opens = self.may_be_opened and not self.waiting.browsing
        self._hindered = session.hindrance() if opens else None
        self._stage = (
            "browsing" if self.waiting.browsing else "asking" if self._hindered is None else "by hand"
        )

    @property
    def may_be_opened(self) -> bool:
        """Whether accepting is offered at all."""
        return self.shown.link is not None and self.shown.link.may_be_opened

    def content(self) -> Iterator[Widget]:
        yield from _link(self.shown.link, self.waiting.question.url, self)  # type: ignore[union-attr]
        if not self.may_be_opened and not self.waiting.browsing:
            yield Row(self.language("danger"), self.language("cannot_be_opened"), classes="warning danger")
        yield from super().content()
        yield Plain(self._hindered or "", id="opening", classes="said" if self._hindered else "")

    def acts(self) -> Iterator[ActButton]:
        for act in super().acts():
            if act.key == "F5" and self._hindered is not None:
                yield ActButton("F5", self.language("i_opened_it"), "accept", main=True)
                continue
            yield act
            if act.key == "F5" and self.waiting.browsing and self.may_be_opened:
                yield ActButton("F2", self.language("open_again"), "open_again")

    def key_of(self, button: Button) -> str:
        return KEYS[button.act]

    def focus_hint(self) -> str:
        return super().focus_hint() if self._hindered is None else self.language("by_hand")

    def action_open_again(self) -> None:
        """Open a link that the person agreed to before; they lost its page."""
        if self._stage == "browsing" and self.may_be_opened:
            self.say(self.language("opening"))
            self.run_worker(self._open_again())

    async def _open_again(self) -> None:
        assert self.shown.link is not None
        hindered = await self.session.open(self.shown.link)
        self.say(self.language("opened_again") if hindered is None else hindered)

    def action_accept(self) -> None:
        """Consent: open the link, then say that it was opened. Where it cannot be, the person opens it."""
        if self.waiting.passkey:  # not even opened: that would be consent
            self.say_why_not("needs passkey")
        elif self._stage == "browsing":
            self.decide(Accepted(None))
        elif self._stage in ("asking", "by hand") and self.may_be_opened and not self._link_in_sight():
            self.action_scroll_body(1)
            self.say(self.language("scroll_for_more"))
        elif self._stage == "by hand":
            if self._hindered is not None and self.shown.link is not None:
                self.session.leave_link(self.shown.link.href, self._hindered)
            self.decide(Accepted(None))
        elif self._stage == "asking" and self.may_be_opened:
            self._stage = "opening"
            self.say(self.language("opening"))
            self.run_worker(self._open())
        elif self._stage == "asking":
            self.say(self.language("cannot_be_opened"))

    def _link_in_sight(self) -> bool:
        """Whether the whole link was in sight: consent is to all of it."""
        body = self.query_one("#body", VerticalScroll)
        return self.query_one(".link").virtual_region.bottom <= body.scroll_offset.y + body.size.height

    async def _open(self) -> None:
        assert self.shown.link is not None
        hindered = await self.session.open(self.shown.link)
        self._stage = "by hand"  # an answer that came too soon can be given again without opening it twice
        if hindered is None:
            self.decide(Accepted(None))
            return
        opening = self.query_one("#opening", Plain)
        opening.say(hindered)
        opening.add_class("said")
        opening.scroll_visible(animate=False)
        self.query(ActButton).first().relabel(self.language("i_opened_it"))
        self.say(self.language("by_hand"))


class BlockScreen(ModalScreen[Block | None]):
    """Asks for how long. Going back decides nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "block('session')"),
        Binding("a", "block('always')"),
        Binding("escape,ctrl+c,ctrl+q", "back", priority=True),
    ]

    def __init__(self, asker: str, session: TerminalSession) -> None:
        super().__init__()
        self._asker = asker
        self._language = session.language

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Plain(self._language("block_title", name=self._asker), classes="title")
            yield Plain(self._language("block_means"))
            yield Row("S", self._language("for_session"))
            yield Row("A", self._language("always_undo"))
            yield Row("Esc", self._language("back_undecided"))

    def action_block(self, block: Block) -> None:
        self.dismiss(block)

    def action_back(self) -> None:
        self.dismiss(None)


class LogScreen(ModalScreen[None]):
    """What programs printed while the desk had the screen, in a place of its own."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f10,enter,ctrl+c,ctrl+q", "back", priority=True)]

    def __init__(self, printed: list[str], session: TerminalSession) -> None:
        super().__init__()
        self._printed = printed
        self._language = session.language

    def compose(self) -> ComposeResult:
        with Vertical(id="log"):
            yield Plain(f"{self._language('log_title')} · {self._language('esc_back')}", classes="title")
            with VerticalScroll():
                yield Quoted(UntrustedText("\n".join(self._printed)))

    def action_back(self) -> None:
        self.dismiss(None)


class Apart(Message):
    """The person wants to see what came together one by one, or as one again."""

    def __init__(self, shown: Waiting) -> None:
        super().__init__()
        self.shown = shown


class NextFirst(Message):
    """The person wants to see the next question first."""

    def __init__(self, shown: Waiting) -> None:
        super().__init__()
        self.shown = shown


def _warnings(shown: Presentation) -> Iterator[Widget]:
    """What is odd about it, each with a sign and not with a colour alone."""
    if shown.warnings:
        yield Vertical(
            *(Row("⚠", for_line(each), classes="warning") for each in shown.warnings), classes="warnings"
        )


def _link(link: Inspection | None, written: str, screen: QuestionScreen) -> Iterator[Widget]:
    """The link in full. What a browser cannot even read is quoted as it was written."""
    if link is None or link.href is None:
        yield Plain(screen.language("no_address"), classes="says")
        yield Quoted(UntrustedText(written), classes="link")
        return
    if link.host is not None:
        domain = Text.assemble(
            f"{screen.language('leads_to')} ", (link.registrable_domain or link.host, "bold")
        )
        yield Plain(domain)
    text = Text(overflow="fold")
    for piece in link.pieces:
        shown = for_line(piece.text, limit=LONGEST)
        text.append(shown, "bold reverse" if piece.kind == "domain" else "")
    yield Plain(text, classes="link")
    if link.host is not None and link.host_display != link.host:
        yield Plain(screen.language("encoded_form", name=for_line(link.host_display or "")))


def _now() -> datetime:
    return datetime.now().astimezone()
