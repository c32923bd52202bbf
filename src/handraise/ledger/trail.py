"""The trail of one question: makes its events as things happen to it. Writes nothing itself."""

from __future__ import annotations

import hashlib
import hmac
import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from handraise.calls.ledger_tables import Record, StoredContent
from handraise.calls.rounds import canonical, digest
from handraise.errors import LedgerError
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Text, dump_form
from handraise.ledger.events import (
    AnswerUse,
    CallEnd,
    EventContext,
    EventKind,
    FieldRecord,
    LinkRecord,
    Principal,
    RequestRecord,
    ServerRecord,
    dump_members,
    plain_of,
)
from handraise.questions import FormQuestion, Origin, Person, Question
from handraise.revisions import Revision
from handraise.secrets import SecretFinding, scan_answer
from handraise.urls import Inspection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


Keeping = Literal["none", "message", "fields", "all"]
"""The contents to keep: nothing, the questions' messages, the answers' fields, or both."""

KEY_SIZE: Final = 32
_NONCE: Final = bytes(12)  # a key encrypts one content, once


def encrypt_content(plain: bytes, *, ref: str, key: bytes, keep: bool) -> tuple[str, StoredContent]:
    """The hash of a content that goes into an event, and the content that is kept beside the event."""
    body = _cipher(key).encrypt(_NONCE, plain, ref.encode()) if keep else None
    return _hash(plain, key), StoredContent(ref, key, body)


def decrypt_content(kept: StoredContent, hashed: str) -> bytes | None:
    """The content with this hash, or None when only its hash is known. Raises `LedgerError` when it was changed."""
    from cryptography.exceptions import InvalidTag

    if kept.body is None:
        return None
    try:
        plain = _cipher(kept.key).decrypt(_NONCE, kept.body, kept.ref.encode())
    except InvalidTag:
        plain = None
    if plain is None or not hmac.compare_digest(_hash(plain, kept.key), hashed):
        raise LedgerError(f"the content {kept.ref} was changed; run `handraise ledger verify`")
    return plain


def _hash(plain: bytes, key: bytes) -> str:
    return hashlib.blake2b(plain, key=key, digest_size=32).hexdigest()


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hmac.digest(key, b"handraise/ledger/encrypt", "sha256"))


_TYPES: Final = {
    Text: "text",
    Number: "number",
    Integer: "integer",
    Flag: "flag",
    Choice: "choice",
    Choices: "choices",
}


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """The facts that an event may contain about a question. Its message is in here in the clear."""

    message: str
    fields: tuple[FieldRecord, ...] = ()
    schema: str | None = None
    secret: str | None = None
    link: LinkRecord | None = None


def shown_question(
    question: Question,
    revision: Revision,
    *,
    secrets: Iterable[SecretFinding] = (),
    link: Inspection | None = None,
) -> ShownQuestion:
    """The facts to record about a question."""
    kinds = {finding.field: finding.kind for finding in secrets}
    if isinstance(question, FormQuestion):
        form: Form[Any] = question.form
        fields = tuple(FieldRecord(f.name, _TYPES[type(f)], kinds.get(f.name)) for f in form.fields)
        return ShownQuestion(question.message, fields, digest(dump_form(form, revision)), kinds.get(None))
    return ShownQuestion(question.message, link=None if link is None else link_record(link))


def link_record(link: Inspection) -> LinkRecord:
    """Where a link leads, without its path and parameters."""
    return LinkRecord(link.verdict, link.registrable_domain, link.host, link.reasons)


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
        "_open",
        "_shown",
        "about",
        "asked_at",
        "question",
    )

    def __init__(
        self,
        question: str,
        about: EventContext,
        shown: ShownQuestion | None,
        *,
        clock: Callable[[], float],
        keeping: Keeping = "none",
        until: Literal["decided", "used"] = "decided",
        again: bool = False,
    ) -> None:
        self.question: str = question
        self.about: EventContext = about
        self._shown = shown
        self._clock = clock
        self._keeping = keeping
        self._again = again
        self._open: frozenset[EventKind] = _STILL_OPEN if until == "decided" else _STILL_OPEN | _ANSWERED
        self.asked_at: int | None = None
        """When it was asked, in milliseconds since 1970, if that is known here: latencies count from there."""
        self._message: dict[str, str] | None = None
        self._about = plain_of(about)

    @property
    def seconds(self) -> float | None:
        """How long ago it was asked, if that is known here."""
        return None if self.asked_at is None else self._clock() - self.asked_at / 1000

    def asked(self) -> Record:
        """It is asked from now on."""
        self.asked_at = int(self._clock() * 1000)
        return self._asking("asked", {})

    def shown(self) -> Record:
        """A desk really displayed it to a person."""
        if self._message is None:
            return self._asking("shown", {})
        return self._record("shown", {"message": self._message})

    def decided(
        self,
        action: Literal["accept", "decline", "cancel"],
        by: Literal["human", "policy", "agent", "timeout", "client"],
        *,
        content: Any = None,
        edited: tuple[str, ...] = (),
        reasons: tuple[str, ...] = (),
        passkey: bool = False,
        said_no: bool = False,
    ) -> Record:
        """Somebody decided it; with `passkey`, by theirs. `said_no`: a confirmation was answered with no."""
        said: dict[str, Any] = {"action": action, "decided_by": by}
        if edited:
            said["edited"] = edited
        if passkey:
            said["how"] = "passkey"
        if said_no:
            said["said"] = "no"
        if action != "accept" or said_no:
            self._open = _STILL_OPEN  # it allows nothing, so no call will be joined to it
        answer = (
            None if content is None else ("answer", canonical(content), self._keeping in ("all", "fields"))
        )
        return self._record("decided", said, reasons, content=answer, how="said_no" if said_no else action)

    def opened(self) -> Record:
        """Its link was opened in a browser."""
        link = None if self._shown is None else self._shown.link
        return self._record("opened", {} if link is None else {"link": plain_of(link)})

    def completed(self) -> Record:
        """The page behind the link was finished."""
        return self._record("completed", {})

    def used(self, request: RequestRecord, ended: CallEnd) -> Record:
        """The call that used the answer is over."""
        self._open = frozenset()  # for all later events
        return self._record("used", {"used": plain_of(AnswerUse(request, ended))}, how=ended)

    def refused(self, reasons: tuple[str, ...], *, count: int | None = None) -> Record:
        """It may not be asked: nobody saw it. `count`: the event stands for so many questions."""
        said: dict[str, Any] = {"decided_by": "policy"}
        if count is not None:
            said["count"] = count
        return self._asking("refused", said, reasons)

    def expired(self) -> Record:
        """Nobody answered in time."""
        return self._record("expired", {"decided_by": "timeout"})

    def withdrawn(self, *reasons: str) -> Record:
        """The asker went away."""
        return self._record("withdrawn", {}, reasons)

    def failed(self, *reasons: str) -> Record:
        """There is no answer, because something went wrong or nobody could be asked."""
        return self._record("failed", {}, reasons)

    def ambiguous(self, *reasons: str) -> Record:
        """Its end is unknown."""
        return self._record("ambiguous", {}, reasons)

    def _asking(self, kind: EventKind, said: dict[str, Any], reasons: tuple[str, ...] = ()) -> Record:
        """An event that says what was asked, as far as it could be read."""
        shown = self._shown
        if shown is None:
            return self._record(kind, said, reasons)
        if shown.fields:
            said["fields"] = plain_of(shown.fields)
        if shown.schema is not None:
            said["schema"] = shown.schema
        if shown.secret is not None:
            said["secret"] = shown.secret
        if shown.link is not None:
            said["link"] = plain_of(shown.link)
        message = "message", shown.message.encode(), self._keeping in ("all", "message")
        return self._record(kind, said, reasons, content=message)

    def _record(
        self,
        kind: EventKind,
        said: dict[str, Any],
        reasons: tuple[str, ...] = (),
        *,
        content: tuple[str, bytes, bool] | None = None,
        how: str = "",
    ) -> Record:
        """`said` are the members of this kind. The event has the hash of `content` (its name, itself, whether it is
        kept). `how` tells apart two events of one kind that may both happen to a question.
        """
        now = int(self._clock() * 1000)
        once = _same_id(self.question, kind, how) if self._again else ""
        kept: tuple[StoredContent, ...] = ()
        if content is not None:
            name, plain, keep = content
            key = os.urandom(KEY_SIZE)
            hashed, hidden = encrypt_content(plain, ref=new_id("c_", now), key=key, keep=keep)
            said[name] = {"hash": hashed, "ref": hidden.ref}
            kept = (hidden,)
            if name == "message":
                self._message = said[name]
        if reasons:
            said["reasons"] = reasons
        if kind in _TIMED and self.asked_at is not None:
            said["latency"] = max(0, now - self.asked_at)
        said |= {"kind": kind, "about": self._about, "question": self.question, "time": now}
        said["id"] = once or new_id("e_", now)
        return Record(self.question, dump_members(said), kind in self._open, kept, once)


_STILL_OPEN: Final[frozenset[EventKind]] = frozenset({"asked", "shown"})
_ANSWERED: Final[frozenset[EventKind]] = frozenset({"decided", "opened", "completed"})
_TIMED: Final[frozenset[EventKind]] = frozenset(
    {"shown", "decided", "completed", "expired", "withdrawn", "failed"}
)
"""The kinds that say how long it took."""


def new_id(prefix: str, now: int) -> str:
    """An id that sorts by time. New rows are then written next to each other, which costs least."""
    return prefix + (now.to_bytes(6, "big") + os.urandom(8)).hex()


def _same_id(question: str, kind: EventKind, how: str) -> str:
    """The same id for the same event of a question, even if several processes report it several times."""
    return f"e_{hashlib.sha256(f'{question} {kind} {how}'.encode()).hexdigest()[:28]}"


_MASK: Final = "…"


def server_of(origin: Origin) -> ServerRecord:
    """The server in the user's own words, and its own name as a claim."""
    claims = " ".join(part for part in (origin.claimed_name, origin.claimed_version) if part)
    return ServerRecord(origin.name, _masked_target(origin.target) or None, claims or None)


def principal_of(person: Person) -> Principal:
    """The person, and how we know."""
    return Principal(person.issuer, person.subject, person.how)


def _masked_target(target: str) -> str:
    """The origin of a URL, or a command. In a command, values of options and possible secrets are masked."""
    if "://" in target:
        parts = urlsplit(target)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    try:
        words = shlex.split(target)
    except ValueError:
        return _MASK
    shown, after_option = [], False
    for at, word in enumerate(words):
        doubtful = after_option or "=" in word or bool(scan_answer({"word": word}))
        shown.append(_MASK if at and doubtful and not word.startswith("--") else word.partition("=")[0])
        after_option = at > 0 and word.startswith("-") and word != "-m"
    return " ".join(shown)
