"""The plain line mode: for screen readers, dumb terminals and pipes. The same rules as every desk.

No control codes, no drawing, every line of somebody else's words behind a bar. One question at a time, one field at a
time, one line at a time. Nothing is decided but by a word written out for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from handraise.desks.fill import (
    NO,
    YES,
    Entries,
    Entry,
    Filled,
    draft_of,
    edited,
    fill,
    may_be_none,
    read_field,
    spoken,
    suggest,
    take_draft,
)
from handraise.desks.language import ENGLISH, Language
from handraise.desks.present import Presentation, ShownField, in_words, odd_reasons, present, wrong_with
from handraise.desks.terminal_session import Block, Gone, InputClosed, TerminalSession, TypedLines
from handraise.desks.waiting import DeskAnswer, Waiting
from handraise.display import UntrustedText, for_line, for_terminal
from handraise.forms import Field, Form
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.urls import Inspection

LONGEST = 100_000
COMMANDS = "?, !decline, !cancel, !block"
_MOST_OPTIONS = 40
"""More options than this are listed only when somebody searches for them."""


class _Over(Exception):
    """The question was decided by a command."""


class LineDesk:
    """Asks the questions of a queue over two text streams."""

    _waiting: Waiting
    _shown: Presentation
    """The question that is asked now, and what is shown of it."""

    def __init__(self, session: TerminalSession, input: TextIO, output: TextIO) -> None:
        self._session = session
        self._queue = session.queue
        self._language = session.language
        self._reader = TypedLines(session.queue, input)
        self._output = output
        self._offered: set[int] = set()
        """The numbers of the options that the last search listed."""

    async def run(self) -> None:
        """Ask what waits, until cancelled or until the input is closed. Then all that waits is cancelled.

        What waits in another process goes on waiting there.
        """
        async for _ in self._queue.changes():
            try:
                while (waiting := self._session.next_after()) is not None:
                    await self._question(waiting)
            except InputClosed:
                if self._queue.elsewhere:
                    return
                for waiting in self._queue.waiting():
                    self._session.decide(waiting, Cancelled())
                self._say(self._language("input_closed"))
                return

    async def _question(self, waiting: Waiting) -> None:
        shown = present(waiting, self._language)
        self._waiting, self._shown = waiting, shown
        self._reader.flush()
        self._say("", *_announce(shown, self._session.place(waiting), self._language))
        self._say(*self._session.elsewhere(waiting))
        self._queue.show(waiting.id)
        try:
            match shown.kind:
                case "confirm" | "plain":
                    await self._confirm()
                case "form":
                    await self._form()
                case "link" | "browsing":
                    await self._link()
        except _Over:
            pass
        except Gone:
            self._say("", self._session.ended(waiting))
            return
        finally:
            self._session.take_lines()  # said already
        self._say(self._session.farewell)

    async def _confirm(self) -> None:
        assert isinstance(self._waiting.question, FormQuestion)
        confirms = self._waiting.question.confirms
        for button in self._shown.buttons:
            if button.words is not None:
                self._say(str(button))
        while True:
            answer = self._yes_or_no(await self._ask(self._language("write_yes_or_no"), consent=True))
            if answer is None:
                self._say(self._language("nothing_was_decided"))
            elif confirms is not None:
                self._decide(Accepted({confirms: answer == YES}))
            else:
                self._decide(Accepted({}) if answer == YES else Declined())

    async def _form(self) -> None:
        assert isinstance(self._waiting.question, FormQuestion)
        form: Form[Any] = self._waiting.question.form
        entries = take_draft(
            form, self._queue.draft(self._waiting.id), self._waiting.question.hints.last_answer
        )
        self._say(self._language("count_fields", count=len(form.fields), commands=COMMANDS))
        at, only = 0, False
        while True:
            while at < len(form.fields):
                step = await self._field(form, entries, at)
                at = len(form.fields) if only else max(0, at + step)
            filled = fill(form, entries, self._waiting.doubts)
            if not filled.sendable:  # a draft may hold what does not fit
                at = next(n for n, each in enumerate(form.fields) if wrong_with(filled, each, self._language))
                continue
            self._say("", *_summary(self._shown, filled, self._language))
            word = self._language("word_send_so" if filled.odd else "word_send")
            at = await self._send(word, filled, form)
            only = True

    async def _send(self, word: str, filled: Filled, form: Form[Any]) -> int:
        """Have the word written that sends it; or the number of a field to go back to."""
        while True:
            prompt = self._language("write_send", word=word, commands=COMMANDS)
            written = await self._ask(prompt, consent=True)
            if written == "!back":
                return len(form.fields) - 1
            if written.isascii() and written.isdigit() and 1 <= int(written[:6]) <= len(form.fields):
                return int(written[:6]) - 1
            if written.strip().casefold() == word:
                self._decide(Accepted(filled.content), edited=edited(form, filled.content))
            else:
                self._say(self._language("nothing_was_decided"))

    async def _field(self, form: Form[Any], entries: Entries, at: int) -> int:
        """Ask for one field until what stands in it fits. How far to go from here: 1, or -1 for back."""
        field, each, language = form.fields[at], self._shown.fields[at], self._language
        stands = _stands(each, entries.get(field.name), language)
        first = suggest(form, self._waiting.question.hints.last_answer).get(field.name)
        if stands and entries[field.name] == first:
            stands += f", {language('last_answer' if each.answered else 'suggested')}"
        self._offered = set()
        self._say("", *_describe(field, each, at, len(form.fields), stands, language))
        while True:
            written = await self._ask(language("answer"))
            if written == "!back":
                return -1
            if written == "!clear":
                entries.pop(field.name, None)
            elif written:
                try:
                    entries[field.name] = self._read(field, each, written.removeprefix("!"))
                except ValueError as error:
                    self._say(f"{language('problem')}: {error}")
                    continue
            self._queue.keep_draft(self._waiting.id, draft_of(form, entries))
            if problem := wrong_with(fill(form, entries), field, language):
                self._say(f"{language('problem')}: {for_line(problem)}")
            else:
                return 1

    def _read(self, field: Field, shown: ShownField, written: str) -> Entry:
        """Turn a written line into an entry. The ValueError says what to write instead."""
        if shown.kind == "flag":
            answer = self._yes_or_no(written)
            if answer is None:
                raise ValueError(self._language("write_yes_or_no"))
            return answer
        if shown.kind == "choice":
            value = self._option(shown, written)
            return [value] if value == "" else value
        if shown.kind == "choices":
            none = (self._language("word_none"), "none")
            if written.strip().casefold() in none and may_be_none(field):
                return []
            return [self._option(shown, part) for part in written.split(",") if part.strip()]
        entry, read_as = read_field(field, written, self._language)
        if words := read_as or spoken(field, entry, self._language):
            self._say(f"{self._language('read_as')} {words}.")
        return entry

    def _yes_or_no(self, written: str) -> str | None:
        word = written.strip().casefold()
        yes, no = self._language("yes").casefold(), self._language("no").casefold()
        return YES if word in (yes, yes[0], "y", "yes") else NO if word in (no, no[0], "n", "no") else None

    def _option(self, shown: ShownField, written: str) -> str:
        """An option by its title, or by its number in a list that was shown. Several that fit are listed."""
        word = written.strip()
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 6 else 0
        long = len(shown.options) > _MOST_OPTIONS
        if 1 <= number <= len(shown.options) and (not long or number in self._offered):
            return shown.options[number - 1].value
        if long or not number:
            exact = [option for option in shown.options if word in (option.value, option.label.raw)]
            found = exact or [o for o in shown.options if word.casefold() in o.label.raw.casefold()]
            if len(found) == 1:
                return found[0].value
            if found:
                listed = {option.value for option in found[:_MOST_OPTIONS]}
                self._offered = {at for at, each in enumerate(shown.options, 1) if each.value in listed}
                self._say(*_listed(shown, listed))
                raise ValueError(self._language("several_fit", count=len(found)))
        raise ValueError(self._language("write_number", count=len(shown.options)))

    async def _link(self) -> None:
        assert not isinstance(self._waiting.question, FormQuestion)
        link, language = self._shown.link, self._language
        self._say(*describe_link(link, self._waiting.question.url, language))
        if self._waiting.browsing:
            await self._finish()
        while link is None or not link.may_be_opened or link.href is None:
            self._say(language("cannot_be_opened"))
            await self._ask(COMMANDS)
        while self._waiting.passkey:  # not even opened: that would be consent
            self._say(self._language("passkey_at_web_desk", command=self._queue.web_desk))
            await self._ask(COMMANDS)
        if (hindered := self._session.hindrance()) is not None:
            self._say(hindered)
            await self._consent(language("word_opened"))
        await self._word(language("word_open"))
        hindered = await self._session.open(link)
        if hindered is not None:
            self._say(hindered, for_line(link.href, limit=LONGEST))
            await self._consent(language("word_opened"))
        self._decide(Accepted(None))
        # it came too soon, and is open already
        await self._consent(language("word_opened"))

    async def _finish(self) -> None:
        """Have it said that the browser is done with; the link can be opened again meanwhile."""
        ways = COMMANDS if self._waiting.asked_again else "?, !cancel"
        done, again = self._language("done").casefold(), self._language("word_open")
        while True:
            prompt = self._language("write_done", done=done, again=again, commands=ways)
            word = (await self._ask(prompt, consent=True)).casefold()
            if word == done:
                self._decide(Accepted(None))
            elif word == again and self._shown.link is not None:
                hindered = await self._session.open(self._shown.link)
                self._say(self._language("opened_again") if hindered is None else hindered)
            else:
                self._say(self._language("nothing_was_decided"))

    async def _consent(self, word: str) -> None:
        while True:
            await self._word(word.casefold())
            self._decide(Accepted(None))

    async def _word(self, word: str) -> None:
        prompt = self._language("write_send", word=word, commands=COMMANDS)
        while (await self._ask(prompt, consent=True)).casefold() != word:
            self._say(self._language("nothing_was_decided"))

    async def _ask(self, prompt: str, *, consent: bool = False) -> str:
        """The next line that is no command. What was typed before a word of consent is asked for does not count."""
        while True:
            if consent:
                self._reader.flush()
            written = await self._line(prompt)
            match written.casefold():
                case "?":
                    fills_in = (self._language("line_help_fields"),) if self._shown.kind == "form" else ()
                    self._say(
                        *_details(self._shown),
                        *fills_in,
                        self._language("line_help", name=for_line(self._shown.asker)),
                    )
                case "!decline" if self._waiting.can_be_declined:
                    self._decide(Declined())
                case "!cancel":
                    self._decide(Cancelled())
                case "!block" if self._waiting.can_be_declined:
                    await self._block()
                case "!back" | "!clear":
                    return written.casefold()
                case word if word.startswith("!") and not word.startswith("!!"):
                    self._say(self._language("no_command"))
                case _:
                    return written

    async def _block(self) -> None:
        lengths: dict[str, Block] = {"session": "session", "always": "always"}
        name = for_line(self._waiting.origin.name)
        self._say(self._language("block_title", name=name), self._language("block_means"))
        length = lengths.get((await self._line(self._language("write_block"))).casefold())
        if length is not None:
            self._decide(Declined(), block=length)

    def _decide(
        self, answer: DeskAnswer, *, block: Block | None = None, edited: tuple[str, ...] = ()
    ) -> None:
        match self._session.decide(self._waiting, answer, block=block, edited=edited):
            case "taken":
                raise _Over
            case "too late":
                raise Gone
            case "too soon":
                self._say(self._language("too_soon"))
            case "needs passkey":
                self._say(self._language("passkey_at_web_desk", command=self._queue.web_desk))

    async def _line(self, prompt: str) -> str:
        self._output.write(f"{prompt}: ")
        self._output.flush()
        return (await self._reader.line(self._waiting)).strip()

    def _say(self, *lines: str) -> None:
        self._output.writelines(f"{line}\n" for line in lines)
        self._output.flush()


def describe_link(link: Inspection | None, written: str, language: Language = ENGLISH) -> Iterator[str]:
    """The link in full, and where it leads."""
    if link is None or link.href is None:
        yield language("no_address")
        yield from _quoted(UntrustedText(written))
        return
    yield f"{language('leads_to')} {link.registrable_domain or link.host}:"
    yield for_line(link.href, limit=LONGEST)
    if link.host_display != link.host:
        yield language("encoded_form", name=for_line(link.host_display or ""))


def _announce(shown: Presentation, place: str, language: Language) -> Iterator[str]:
    """The question, then who asks, then what is odd about it."""
    yield f"{language('question')}{f', {place}' if place else ''}:"
    if shown.speaker != "server":
        yield f"{language('own_words' if shown.speaker == 'handraise' else 'guard_words')}:"
    if shown.speaker == "handraise":
        yield for_line(shown.message.raw, limit=LONGEST)
    else:
        yield from _quoted(shown.message)
    yield f"{for_line(shown.who)}. {language('question_mark_tells_more')}"
    yield from (f"{language('warning')}: {for_line(sentence)}" for sentence in shown.warnings)
    yield from shown.notes


def _quoted(text: UntrustedText) -> Iterator[str]:
    """Somebody else's words, every line behind a bar."""
    return (f"| {line}" for line in for_terminal(text.raw, columns=76, limit=LONGEST))


def _details(shown: Presentation) -> Iterator[str]:
    for heading, lines in shown.details:
        first, *others = (
            for_line(line if isinstance(line, str) else line.raw, limit=LONGEST) for line in lines
        )
        yield f"{heading}: {first}"
        yield from (f"  {line}" for line in others)


def _describe(
    field: Field, shown: ShownField, at: int, total: int, stands: str, language: Language
) -> Iterator[str]:
    """A field, its hint, its options, and what stands in it."""
    required = language("required" if shown.required else "optional")
    said = "; ".join(filter(None, (required, shown.hint)))
    label = str(shown.label)
    stop = "" if label.endswith(("?", "!", ".", ":")) else "."
    yield f"{language('field_of', number=at + 1, count=total)}: {label}{stop} {said}."
    if shown.objection is not None:
        yield f"{language('server_objects')} “{shown.objection}”"
    if shown.description is not None:
        yield from _quoted(shown.description)
    if len(shown.options) <= _MOST_OPTIONS:
        yield from _listed(shown, None)
    else:
        yield language("many_options", count=len(shown.options))
    if shown.kind == "choices":
        yield language("write_numbers" if not may_be_none(field) else "write_numbers_or_none")
    if shown.kind == "flag":
        yield language("write_yes_or_no")
    if stands:
        yield language("stands_now", what=stands)


def _listed(shown: ShownField, wanted: set[str] | None) -> Iterator[str]:
    for number, option in enumerate(shown.options, 1):
        if wanted is None or option.value in wanted:
            yield f"  {number}. {option.label}"


def _stands(shown: ShownField, entry: Entry | None, language: Language) -> str:
    if entry is None:
        return ""
    if shown.kind == "flag":
        return language("yes" if entry == YES else "no")
    return in_words(shown, entry, language)


def _summary(shown: Presentation, filled: Filled, language: Language) -> Iterator[str]:
    """What will be sent."""
    yield language("will_be_sent")
    for number, each in enumerate(shown.fields, 1):
        there = each.name in filled.content
        value = in_words(each, filled.content[each.name], language) if there else language("nothing")
        yield f"  {number}. {each.label}: {value}"
    odd = odd_reasons(filled, shown.fields, language)
    yield from (f"{language('warning')}: {for_line(reason)}" for reason in odd)
    yield language("change_by_number")
