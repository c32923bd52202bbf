"""A link: the whole of it, its domain set apart, and nothing is opened before somebody says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget

from handraise.desks.clerk import Clerk
from handraise.desks.terminal.about import about, elsewhere, message, warnings
from handraise.desks.terminal.frame import CANCEL, Act, FrameScreen
from handraise.desks.terminal.writing import LONGEST, Plain, Quoted, Row
from handraise.desks.waiting import Waiting
from handraise.display import UntrustedText, for_line
from handraise.questions import Accepted, UrlQuestion
from handraise.urls import Inspection

DANGER = "This link is dangerous. It cannot be opened from here."


class LinkScreen(FrameScreen):
    """Consent to open a link; while the person is in the browser, "done" and "cancel"."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "accept", priority=True),
        Binding("f2", "open_again", priority=True),
    ]

    def __init__(self, waiting: Waiting, clerk: Clerk, question: UrlQuestion) -> None:
        super().__init__((waiting,), clerk)
        self._question = question
        self._stage = "browsing" if waiting.browsing else "asking"

    @property
    def may_be_opened(self) -> bool:
        """Whether accepting is offered at all."""
        link = self.sheet.link
        return link is not None and link.may_be_opened

    def heading(self) -> str:
        still = "still " if self.waiting.asked_again else ""
        waits = f"{still}waits for you to finish in your browser"
        said = waits if self.waiting.browsing else "asks to open a link"
        return f"{for_line(self.sheet.asker)} {said}"

    def content(self) -> Iterator[Widget]:
        yield from about(self.sheet)
        yield from message(self.sheet)
        yield from _link(self.sheet.link, self._question.url)
        yield from (Row("Note", note) for note in self.sheet.notes)
        if not self.may_be_opened and not self.waiting.browsing:
            yield Row("Danger", DANGER, classes="warning danger")
        yield from warnings(self.sheet)
        yield from elsewhere(self.clerk, self.waiting)
        yield Plain(id="opening")

    def acts(self) -> tuple[Act, ...]:
        if self.waiting.browsing:
            ways_out = super().acts() if self.waiting.asked_again else (CANCEL,)
            again = (Act("F2", "Open again", "open_again"),) if self.may_be_opened else ()
            return (Act("F5", "Done", "accept"), *again, *ways_out)
        first = (Act("F5", "Open the link", "accept"),) if self.may_be_opened else ()
        return (*first, *super().acts())

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#body", VerticalScroll).focus()

    def action_decline(self) -> None:
        if self.waiting.can_be_declined:
            super().action_decline()

    def action_block(self) -> None:
        if self.waiting.can_be_declined:
            super().action_block()

    def action_open_again(self) -> None:
        """Open a link that the person agreed to before; they lost its page."""
        if self._stage == "browsing" and self.may_be_opened:
            self.say("Opening your browser …")
            self.run_worker(self._open_again())

    async def _open_again(self) -> None:
        assert self.sheet.link is not None
        hindered = await self.clerk.open(self.sheet.link)
        self.say("It was opened again." if hindered is None else hindered.sentence)

    def action_accept(self) -> None:
        """Consent: open the link, then say that it was opened. Where it cannot be, the person opens it."""
        if self.waiting.passkey:  # not even opened: that would be consent
            self.say_why_not("needs passkey")
        elif self._stage in ("browsing", "by hand"):
            self.decide(Accepted(None))
        elif self._stage == "asking" and self.may_be_opened and not self._read_to_the_end():
            self.action_scroll_body(1)
            self.say("There is more to read. Go on to the end, then press it again.")
        elif self._stage == "asking" and self.may_be_opened:
            self._stage = "opening"
            self.say("Opening your browser …")
            self.run_worker(self._open())
        elif self._stage == "asking":
            self.say(DANGER)

    def _read_to_the_end(self) -> bool:
        """Whether the end of the link and of the warnings is in sight: consent is to all of it."""
        body = self.query_one("#body", VerticalScroll)
        return body.scroll_offset.y >= body.max_scroll_y

    async def _open(self) -> None:
        assert self.sheet.link is not None
        hindered = await self.clerk.open(self.sheet.link)
        if hindered is None:
            self._stage = (
                "by hand"  # an answer that came too soon can be given again without opening it twice
            )
            self.decide(Accepted(None))
            return
        self._stage = "by hand"
        opening = self.query_one("#opening", Plain)
        opening.say(f"{hindered.sentence}\nF5 says that you opened it yourself. Esc cancels.")
        opening.add_class("said")
        opening.scroll_visible(animate=False)
        self.query(".act").first(Plain).say("F5 I opened it")
        self.say(hindered.sentence)


def _link(link: Inspection | None, written: str) -> Iterator[Widget]:
    """The link in full. What a browser cannot even read is quoted as it was written."""
    if link is None or link.href is None:
        yield Plain("The link, as the server wrote it:", classes="says")
        yield Quoted(UntrustedText(written), classes="words")
        return
    yield Plain("The link, in full:", classes="says")
    text = Text(overflow="fold")
    for piece in link.pieces:
        shown = for_line(piece.text, limit=LONGEST)
        text.append(shown, "bold reverse" if piece.kind == "domain" else "")
    yield Plain(text, classes="link")
    if link.host is not None:
        domain = Text(link.registrable_domain or link.host, "bold")
        reads = () if link.host_display == link.host else (f"A browser may show it as {link.host_display}",)
        yield Row("Leads to", domain, *reads)
