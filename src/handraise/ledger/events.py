"""The events of a question, as values and as canonical JSON.

One question has several events, joined by its id: it is asked, shown, decided, its answer is used. Contents are never
in an event: it has a keyed hash of them and a reference to where they may be kept, so that they can be erased while
the event, and with it the proof, stays as it is.

Canonical JSON is RFC 8785. The values hold texts, whole numbers within ±2⁵³, and tuples and values of them, under ASCII
names. Within that, sorted keys, no spaces and UTF-8 are all that the RFC asks for; a property test compares it with an
implementation of the whole RFC. Empty values (None, an empty tuple) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from handraise.errors import LedgerError
from handraise.questions import person_key

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SAFE = 2**53 - 1
_encode = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


def dump_plain(plain: Any) -> bytes:
    """One byte string for what `plain_of` returned. Raises `LedgerError` for what has no canonical form."""
    try:
        return _encode(plain).encode()
    except (TypeError, ValueError) as error:
        raise _unwritable(error) from None


def plain_of(value: Any) -> Any:
    """A value as JSON has it, to be dumped now or as a part of something else."""
    if type(value) is tuple:
        return [plain_of(item) for item in value]
    if isinstance(value, str):
        return value
    if type(value) is int:
        if abs(value) > _SAFE:
            raise _unwritable(f"{value} is too large")
        return value
    plain = {}
    for name in _members(value.__class__):
        part = getattr(value, name)
        if type(part) is str:
            plain[name] = part
        elif part is not None and part != ():
            plain[name] = plain_of(part)
    return plain


@cache
def _members(kind: type[Any]) -> tuple[str, ...]:
    if not is_dataclass(kind):
        raise _unwritable(f"a {kind.__name__} is no value of the ledger")
    return tuple(field.name for field in fields(kind))


def _unwritable(why: object) -> LedgerError:
    return LedgerError(f"this cannot be written to the ledger: {why}")


EventKind = Literal[
    "asked",
    "shown",
    "decided",
    "opened",
    "completed",
    "used",
    "refused",
    "expired",
    "withdrawn",
    "failed",
    "ambiguous",
]
"""The kinds of events of a question."""
KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)
"""All kinds, in the order of a question's life."""


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """The asking server: the name the user configured and, apart from it, the name the server claims."""

    id: str
    target: str | None = None
    """Its origin or command. Only the program's name of a command: arguments may hold secrets."""
    claims: str | None = None


@dataclass(frozen=True, slots=True)
class ClientRecord:
    """The client's program."""

    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """The asked person, and how we know them."""

    issuer: str
    subject: str
    how: Literal["token", "system", "anonymous"]

    @property
    def key(self) -> str:
        """One string for one person, the same as everywhere in Handraise."""
        return person_key(self.how, self.issuer, self.subject)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """The call that a question belongs to."""

    method: str
    target: str | None = None
    """The tool, prompt or resource."""
    arguments: str | None = None
    """Keyed digest of its arguments."""


@dataclass(frozen=True, slots=True)
class EventContext:
    """The fields that all events of one question share."""

    server: ServerRecord
    principal: Principal | None = None
    request: RequestRecord | None = None
    mode: Literal["form", "url"] | None = None
    client: ClientRecord | None = None
    revision: str | None = None
    gateway: str | None = None
    policy: str | None = None
    """The version of the policy that judged it."""
    trace: str | None = None
    store: str | None = None
    """The store in which its call can still be gone on with, by a name that only tells stores apart. Without one the
    question ends with its process."""


@dataclass(frozen=True, slots=True)
class Content:
    """A message or an answer in the ledger: its keyed hash instead of its text."""

    ref: str
    """Where it is kept, if it is. Contents there can be erased."""
    hash: str
    """Keyed BLAKE2b-256, under a key of its own which is erased together with it."""


@dataclass(frozen=True, slots=True)
class FieldRecord:
    """A field that was asked for."""

    name: str
    type: str
    secret: str | None = None
    """The kind of secret it seems to ask for."""


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """Where a URL question leads. Never its path or its parameters."""

    verdict: Literal["ok", "warn", "danger"]
    domain: str | None = None
    """The registrable domain."""
    host: str | None = None
    reasons: tuple[str, ...] = ()
    """Names of reasons, not sentences."""


CallEnd = Literal["result", "error", "cancelled", "stopped"]
"""How a call ended. Stopped: the person said no to what it was for, so that it did nothing."""


@dataclass(frozen=True, slots=True)
class AnswerUse:
    """The call that used an answer, and how it ended."""

    request: RequestRecord
    ended: CallEnd


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One thing that happened to one question."""

    id: str
    question: str
    kind: EventKind
    time: int
    """Wall clock, in milliseconds since 1970."""
    about: EventContext
    message: Content | None = None
    """The exact question for the person."""
    fields: tuple[FieldRecord, ...] = ()
    schema: str | None = None
    """Digest of the form as it was sent."""
    secret: str | None = None
    """The kind of secret that the message asks for, when no single field can be named for it."""
    link: LinkRecord | None = None
    action: Literal["accept", "decline", "cancel"] | None = None
    """The words sent to the client, or the client's answer."""
    said: Literal["no"] | None = None
    """The person answered a confirmation with no. Its action is accept, as on the wire."""
    decided_by: Literal["human", "policy", "agent", "timeout", "client"] | None = None
    answer: Content | None = None
    edited: tuple[str, ...] = ()
    """The fields in which the person changed the server's suggestion."""
    how: Literal["passkey"] | None = None
    """How the person showed that it was they who decided; None: by being at the desk."""
    latency: int | None = None
    """Milliseconds from being asked."""
    used: AnswerUse | None = None
    reasons: tuple[str, ...] = ()
    """Why it was refused, or why nobody answered."""
    count: int | None = None
    """How many refused questions the event stands for, when they have no events of their own. 0: something else was
    refused, such as somebody who opened another person's page."""

    @property
    def outcome(self) -> Outcome | None:
        """The decision: the action, except for a confirmation that was answered with no."""
        return "said_no" if self.said == "no" else self.action


Outcome = Literal["accept", "said_no", "decline", "cancel"]
"""How people decide. *Said no* is apart from an accept, and from declining to answer."""
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


_NEEDS: Final[Mapping[EventKind, tuple[str, ...]]] = MappingProxyType(
    {
        "asked": ("message",),
        "shown": ("message",),
        "decided": ("action", "decided_by"),
        "opened": (),
        "completed": (),
        "used": ("used",),
        "refused": ("decided_by", "reasons"),
        "expired": (),
        "withdrawn": (),
        "failed": ("reasons",),
        "ambiguous": ("reasons",),
    }
)
"""The fields of an event of each kind."""

ENDINGS: Final[frozenset[EventKind]] = frozenset(
    {"decided", "refused", "expired", "withdrawn", "failed", "ambiguous"}
)
"""The kinds that end a question."""


def dump_event(event: LedgerEvent) -> bytes:
    """The canonical JSON of an event (RFC 8785). Raises `LedgerError` when it says too little for its kind."""
    return dump_members(plain_of(event))


def dump_members(members: Mapping[str, Any]) -> bytes:
    """The same, from an event's members as `plain_of` gives them."""
    for name in _NEEDS[members["kind"]]:
        if name not in members:
            raise LedgerError(f"an event of kind {members['kind']!r} needs {name}")
    return dump_plain(members)


def parse_event(data: bytes) -> LedgerEvent:
    """The event of canonical JSON. Raises `LedgerError` for anything that `dump_event` would not have written.

    It is written once more to find what the parser lets pass: an unknown member, one that is there twice, a fraction.
    """
    try:
        event = _parser().validate_json(data)
    except ValueError as error:
        raise LedgerError(f"this is no event: {_first_problem(error)}") from None
    if dump_event(event) != data:
        raise LedgerError("the event is not in its canonical form")
    return event


@cache
def _parser() -> TypeAdapter[LedgerEvent]:
    from pydantic import TypeAdapter  # reading is rare, and the import slow

    return TypeAdapter(LedgerEvent)


def _first_problem(error: ValueError) -> str:
    """Where the problem is, without the value."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join([".".join(map(str, first["loc"])), first["msg"]]).removeprefix(": ")
