"""The trail of one question: makes its events as things happen to it. Writes nothing itself."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from handraise.conversation.digest import canonical, digest
from handraise.conversation.recorded import Kept, Record
from handraise.errors import LedgerError
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Text, dump_form
from handraise.ledger.canonical import dump_plain, dump_text, plain_of
from handraise.ledger.contents import KEY_SIZE, Keeping, hide, keeps
from handraise.ledger.events import About, Ended, Field, Kind, Link, Request, Use, dump_about, join_event
from handraise.policy.secrets import SecretFinding
from handraise.questions import FormQuestion, Question
from handraise.revisions import Revision
from handraise.urls import Inspection

_TYPES: Final = {
    Text: "text",
    Number: "number",
    Integer: "integer",
    Flag: "flag",
    Choice: "choice",
    Choices: "choices",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What an event may say of a question. Its message is in here in the clear."""

    message: str
    fields: tuple[Field, ...] = ()
    schema: str | None = None
    secret: str | None = None
    link: Link | None = None


def shown_of(
    question: Question,
    revision: Revision,
    *,
    secrets: Iterable[SecretFinding] = (),
    link: Inspection | None = None,
) -> Shown:
    """What is to be recorded of a question."""
    kinds = {finding.field: finding.kind for finding in secrets}
    if isinstance(question, FormQuestion):
        form: Form[Any] = question.form
        fields = tuple(Field(f.name, _TYPES[type(f)], kinds.get(f.name)) for f in form.fields)
        return Shown(question.message, fields, digest(dump_form(form, revision)), kinds.get(None))
    return Shown(question.message, link=None if link is None else link_of(link))


def link_of(link: Inspection) -> Link:
    """Where a link leads, without its path and parameters."""
    return Link(link.registrable_domain, link.host, link.verdict, link.reasons)


class Trail:
    """The events of one question, each as a record that is ready to be written.

    `until` is the kind that ends it: a host is done when it is decided, a server when the call that asked is over.
    `again` is for a body that may run again and tell the same once more: then each event has an id of its own that is
    always the same, and is written once.
    """

    __slots__ = (
        "_about",
        "_again",
        "_clock",
        "_keeping",
        "_message",
        "_named",
        "_open",
        "_shown",
        "about",
        "asked_at",
        "question",
    )

    def __init__(
        self,
        question: str,
        about: About,
        shown: Shown | None,
        *,
        clock: Callable[[], float],
        keeping: Keeping = "none",
        until: Literal["decided", "used"] = "decided",
        again: bool = False,
    ) -> None:
        self.question: str = question
        self.about: About = about
        self._shown = shown
        self._clock = clock
        self._keeping = keeping
        self._again = again
        self._open: frozenset[Kind] = _STILL_OPEN if until == "decided" else _STILL_OPEN | _ANSWERED
        self.asked_at: int | None = None
        """When it was asked, in milliseconds since 1970, if that is known here: latencies count from there."""
        self._message: str | None = None
        self._about = f'"about":{dump_about(about)}'
        self._named = f'"question":{dump_text(question)}'

    def asked(self) -> Record:
        """It is asked from now on."""
        self.asked_at = int(self._clock() * 1000)
        return self._asking("asked", [])

    def shown(self) -> Record:
        """A desk really displayed it to a person."""
        return self._asking("shown", []) if self._message is None else self._record("shown", [self._message])

    def decided(
        self,
        action: Literal["accept", "decline", "cancel"],
        by: Literal["human", "policy", "agent", "timeout"],
        *,
        content: Any = None,
        edited: tuple[str, ...] = (),
        reasons: tuple[str, ...] = (),
        passkey: bool = False,
    ) -> Record:
        """Somebody decided it; with `passkey`, by theirs."""
        said = [f'"action":"{action}"', f'"decided_by":"{by}"']
        if edited:
            said.append(f'"edited":{dump_plain(edited)}')
        if passkey:
            said.append('"how":"passkey"')
        if action != "accept":
            self._open = _STILL_OPEN  # it allows nothing, so no call will be joined to it
        answer = None if content is None else ("answer", canonical(content), keeps(self._keeping, "fields"))
        return self._record("decided", said, reasons, content=answer, how=action)

    def opened(self) -> Record:
        """Its link was opened in a browser."""
        link = None if self._shown is None else self._shown.link
        return self._record("opened", [] if link is None else [_dump_link(link)])

    def completed(self) -> Record:
        """What it led to in the browser was finished."""
        return self._record("completed", [])

    def used(self, request: Request, ended: Ended) -> Record:
        """The call that used the answer is over."""
        self._open = frozenset()  # whatever is told of it later
        return self._record("used", [f'"used":{dump_plain(plain_of(Use(request, ended)))}'], how=ended)

    def refused(self, reasons: tuple[str, ...], *, count: int | None = None) -> Record:
        """It may not be asked: nobody saw it. `count`: the event stands for so many questions."""
        said = ['"decided_by":"policy"']
        if count is not None:
            said.append(f'"count":{count}')
        return self._asking("refused", said, reasons)

    def expired(self) -> Record:
        """Nobody answered in time."""
        return self._record("expired", ['"decided_by":"timeout"'])

    def withdrawn(self, *reasons: str) -> Record:
        """The asker went away."""
        return self._record("withdrawn", [], reasons)

    def failed(self, *reasons: str) -> Record:
        """There is no answer, because something went wrong or nobody could be asked."""
        return self._record("failed", [], reasons)

    def ambiguous(self, *reasons: str) -> Record:
        """Nobody knows how it ended."""
        return self._record("ambiguous", [], reasons)

    def _asking(self, kind: Kind, said: list[str], reasons: tuple[str, ...] = ()) -> Record:
        shown = self._shown
        if shown is None:
            if kind != "refused":  # what could not even be read is asked of nobody
                raise LedgerError(f"an event of kind {kind!r} needs a message")
            return self._record(kind, said, reasons)
        if shown.fields:
            said.append(_dump_fields(shown.fields))
        if shown.schema is not None:
            said.append(f'"schema":{dump_text(shown.schema)}')
        if shown.secret is not None:
            said.append(f'"secret":{dump_text(shown.secret)}')
        if shown.link is not None:
            said.append(_dump_link(shown.link))
        message = "message", shown.message.encode(), keeps(self._keeping, "message")
        return self._record(kind, said, reasons, content=message)

    def _record(
        self,
        kind: Kind,
        said: list[str],
        reasons: tuple[str, ...] = (),
        *,
        content: tuple[str, bytes, bool] | None = None,
        how: str = "",
    ) -> Record:
        """What is `said` is dumped already, with its name. Of a `content` (its name, itself, whether it is kept) the
        event has the hash. `how` tells apart two events of one kind that may both happen to a question.
        """
        now = int(self._clock() * 1000)
        drawn = os.urandom(8 + KEY_SIZE)  # one draw for all that has to be random
        unique = _by_time(now, drawn[:8])
        once = _same_id(self.question, kind, how) if self._again else ""
        kept: tuple[Kept, ...] = ()
        if content is not None:
            name, plain, keep = content
            hashed, hidden = hide(plain, ref=f"c_{unique}", key=drawn[8:], keep=keep)
            said.append(f'"{name}":{{"hash":"{hashed}","ref":"{hidden.ref}"}}')
            kept = (hidden,)
            if name == "message":
                self._message = said[-1]
        if reasons:
            said.append(f'"reasons":{dump_plain(reasons)}')
        elif kind in _EXPLAINED:
            raise LedgerError(f"an event of kind {kind!r} needs reasons")
        if kind in _TIMED and self.asked_at is not None:
            said.append(f'"latency":{max(0, now - self.asked_at)}')
        said += self._about, self._named, f'"id":"{once or f"e_{unique}"}"', f'"time":{now}'
        return Record(self.question, join_event(kind, said), kind in self._open, kept, once)


_STILL_OPEN: Final[frozenset[Kind]] = frozenset({"asked", "shown"})
_ANSWERED: Final[frozenset[Kind]] = frozenset({"decided", "opened", "completed"})
_TIMED: Final[frozenset[Kind]] = frozenset(
    {"shown", "decided", "completed", "expired", "withdrawn", "failed"}
)
"""The kinds that say how long it took."""
_EXPLAINED: Final[frozenset[Kind]] = frozenset({"refused", "failed", "ambiguous"})
"""The kinds that say why."""


def new_id(prefix: str, now: int) -> str:
    """An id that sorts by time: new ones are written next to each other, which is what costs least."""
    return prefix + _by_time(now, os.urandom(8))


def _by_time(now: int, drawn: bytes) -> str:
    return (now.to_bytes(6, "big") + drawn).hex()


def _same_id(question: str, kind: Kind, how: str) -> str:
    """The id of what happened to a question, whoever tells of it how often."""
    return f"e_{hashlib.sha256(f'{question} {kind} {how}'.encode()).hexdigest()[:28]}"


@lru_cache(maxsize=256)
def _dump_fields(fields: tuple[Field, ...]) -> str:
    return f'"fields":{dump_plain(plain_of(fields))}'


def _dump_link(link: Link) -> str:
    return f'"link":{dump_plain(plain_of(link))}'
