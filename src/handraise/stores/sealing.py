"""Encryption of the contents of a store on disk: which columns of its rows are sealed, and what each is bound to.

AES-256-GCM. The place of a value (table, row, column) is authenticated with it: nobody can move an answer from one
question to another. The attacker can write to the store and does not have its key.

- They must not give a round to another person or call, nor another journal, another handler or more time to it. So all
  columns that are written with a round and never change are bound to its sealed arguments. A column that changes later
  is sealed by itself, or opens nothing: the time of use, and until when the round is kept.
- They must not get the result of another person's parked call, finish another person's link, or use either after its
  time. So the key, the person, the server and the deadline of a parked call are bound to its sealed columns, and a flow
  carries a proof of all its columns.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handraise.calls.rounds import RoundState
from handraise.calls.store import (
    CallBinding,
    DeliveredAnswers,
    Flow,
    JournalEntry,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    Ticket,
)
from handraise.disk import create_file, make_private
from handraise.errors import SetupError, StoreError

_MINIMUM = 32
_NONCE = 12
_NAME = 4


class Sealer:
    """Seals with the first key of the ring, opens with any."""

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._changed = InvalidTag
        material = require_keys(keys)
        self._ring: dict[bytes, AESGCM] = {}
        for key in material:
            name = hashlib.sha256(b"handraise/name" + key).digest()[:_NAME]
            self._ring.setdefault(name, AESGCM(hashlib.sha256(b"handraise/seal" + key).digest()))
        self._first = next(iter(self._ring))
        self._roots = [hashlib.sha256(b"handraise/derive" + key).digest() for key in material]

    def derived(self, purpose: str) -> list[bytes]:
        """Secrets for one purpose, one from each key of the ring, in order."""
        return [hmac.digest(root, purpose.encode(), "sha256") for root in self._roots]

    def knows(self, sealed: bytes) -> bool:
        """Whether the key of a sealed value is in the ring."""
        return sealed[:_NAME] in self._ring

    def seal(self, plain: bytes, place: str) -> bytes:
        """The sealed bytes, bound to their place."""
        nonce = os.urandom(_NONCE)
        return self._first + nonce + self._ring[self._first].encrypt(nonce, plain, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """The plain bytes. StoreError when they were changed, moved, or sealed with an unknown key."""
        cipher = self._ring.get(sealed[:_NAME])
        if cipher is None:
            raise StoreError("sealed with a key that is not in the ring")
        try:
            return cipher.decrypt(sealed[_NAME : _NAME + _NONCE], sealed[_NAME + _NONCE :], place.encode())
        except (self._changed, ValueError):
            raise StoreError("a sealed value was changed or moved") from None


def require_keys(keys: Sequence[bytes | str]) -> list[bytes]:
    """The keys of a ring as bytes. SetupError unless they are a list of keys that cannot be guessed.

    A single key instead of a list would be split into its characters.
    """
    if isinstance(keys, str | bytes | bytearray | memoryview) or not isinstance(keys, Iterable):
        raise SetupError(f"keys is a list of keys, not one {type(keys).__name__}: write keys=[key]")
    material: list[bytes] = []
    for key in keys:
        if not isinstance(key, str | bytes | bytearray | memoryview):
            raise SetupError(f"a key is text or bytes, not {type(key).__name__}: write keys=[key]")
        material.append(key.encode() if isinstance(key, str) else bytes(key))
    if not material or any(len(key) < _MINIMUM for key in material):
        raise SetupError(
            f"a key needs at least {_MINIMUM} bytes of randomness; make one with: "
            'python -c "import secrets; print(secrets.token_hex(32))"'
        )
    return material


def key_file_beside(path: Path) -> bytes:
    """The key of a store without configured keys: a private file beside it."""
    file = path.with_name(path.name + ".key")
    if not file.exists():
        create_file(
            file, os.urandom(_MINIMUM)
        )  # never replace another process's key: its store would be lost
    make_private(file)
    key = file.read_bytes()
    if len(key) < _MINIMUM:
        raise SetupError(f"{file} is no key; restore it, or move it and its database away to begin anew")
    return key


COLUMNS = "token, call_id, number, person, method, target, arguments, deadline, handler, seed, questions"
BOUND = "call_id, number, person, method, target, deadline, handler, seed, arguments"
"""The columns that are bound together, in the order of `_load_binding`."""
STATE = f"{BOUND}, until, digest, since, outcome, outcome_value"
"""The columns of `load_state`."""
STATE_COLUMNS = STATE.count(",") + 1


def dump_round(sealer: Sealer, record: RoundRecord) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    binding = record.binding
    return (
        record.token,
        record.call_id,
        record.number,
        binding.person,
        binding.method,
        binding.target,
        _dump(sealer, [binding.server, binding.arguments], _place(record.token, *_bound(record))),
        record.deadline,
        record.handler,
        record.seed,
        _dump(sealer, [record.questions, record.pins], f"rounds/{record.token}/questions"),
    )


def load_round(sealer: Sealer, row: Sequence[Any]) -> RoundRecord:
    """The round of a row, without its journal."""
    token, call_id, number, person, method, target, sealed, deadline, handler, seed, shown = row[:11]
    questions, pins = ({}, {}) if shown is None else _load(sealer, shown, f"rounds/{token}/questions")
    return RoundRecord(
        token=token,
        call_id=call_id,
        number=number,
        binding=_load_binding(
            sealer, token, (call_id, number, person, method, target, deadline, handler, seed, sealed)
        ),
        deadline=deadline,
        questions=questions,
        pins=pins,
        handler=handler,
        seed=seed,
    )


def dump_entries(
    sealer: Sealer, call_id: str, first: int, entries: Iterable[JournalEntry]
) -> list[tuple[str, int, bytes]]:
    """Steps of the journal as rows, starting at position `first`."""
    return [
        (call_id, at, _dump(sealer, list(entry), f"journal/{call_id}/{at}"))
        for at, entry in enumerate(entries, first)
    ]


def load_entries(sealer: Sealer, call_id: str, steps: Iterable[bytes]) -> tuple[JournalEntry, ...]:
    """The steps of a complete journal from their sealed values."""
    return tuple(
        JournalEntry(*_load(sealer, sealed, f"journal/{call_id}/{at}")) for at, sealed in enumerate(steps)
    )


def load_state(sealer: Sealer, token: str, row: Sequence[Any] | None) -> RoundState | None:
    """A round with these values of `STATE`, as a retry finds it."""
    if row is None:
        return None
    until, used, since, kind, value = row[9:STATE_COLUMNS]
    return RoundState(
        _load_binding(sealer, token, row[:9]),
        deadline=row[5],
        until=until,
        said=None if used is None else _load(sealer, used, f"rounds/{token}/digest"),
        since=since or 0.0,
        outcome=None
        if kind is None
        else RoundOutcome(kind, _load(sealer, value, _outcome_place(token, kind))),
    )


def dump_use(sealer: Sealer, token: str, use: RoundUse) -> tuple[bytes, bytes]:
    """The values of the columns `digest` and `answers` of a used round."""
    used = _dump(sealer, use.said, f"rounds/{token}/digest")
    return used, _dump(sealer, use.answers, f"rounds/{token}/answers")


def load_answers(
    sealer: Sealer, token: str, sealed: bytes | None, pins: dict[str, str]
) -> tuple[JournalEntry, ...]:
    """The answers that a round was used with, as the next steps of its journal."""
    given = {} if sealed is None else _load(sealer, sealed, f"rounds/{token}/answers")
    return tuple(JournalEntry("answer", key, pins.get(key, ""), value) for key, value in given.items())


def dump_delivered(sealer: Sealer, token: str, lease_id: str, delivered: DeliveredAnswers) -> bytes:
    """Seal answers for the node of their round. They are valid for this round and lease only."""
    return _dump(sealer, list(delivered), f"delivered/{token}/{lease_id}")


def load_delivered(sealer: Sealer, token: str, lease_id: str, sealed: bytes) -> DeliveredAnswers:
    """Open answers for this lease. StoreError when they are for anything else."""
    return DeliveredAnswers(*_load(sealer, sealed, f"delivered/{token}/{lease_id}"))


def dump_outcome(sealer: Sealer, token: str, outcome: RoundOutcome) -> bytes:
    """The value of the column `outcome_value`."""
    return _dump(sealer, outcome.value, _outcome_place(token, outcome.kind))


def _load_binding(sealer: Sealer, token: str, row: Sequence[Any]) -> CallBinding:
    """The binding of a round with these values of `BOUND`. StoreError when any of them was changed."""
    *bound, sealed = row
    _, _, person, method, target, *_ = bound
    server, arguments = _load(sealer, sealed, _place(token, *bound))
    return CallBinding(person, method, target, arguments, server)


def _bound(record: RoundRecord) -> tuple[Any, ...]:
    """The values of `BOUND`, without the arguments."""
    person, method, target, *_ = record.binding
    deadline = float(record.deadline)  # as it will be read
    return record.call_id, record.number, person, method, target, deadline, record.handler, record.seed


def _place(token: str, *bound: Any) -> str:
    """The place of a round's arguments. A change of any bound value gives another place, and the arguments no longer
    decrypt."""
    return json.dumps(["rounds", token, *bound])


def _outcome_place(token: str, kind: str) -> str:
    return f"rounds/{token}/outcome/{kind}"


def _dump(sealer: Sealer, value: Json, place: str) -> bytes:
    try:
        plain = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise StoreError(f"{place} is no JSON value: {error}") from error
    return sealer.seal(plain.encode(), place)


def _load(sealer: Sealer, sealed: bytes, place: str) -> Json:
    return json.loads(sealer.open(sealed, place).decode())


class TicketColumns(NamedTuple):
    """The columns of a parked call that its sealed columns are bound to."""

    key: str
    person: str
    server: str
    deadline: float


def bound_columns(sealer: Sealer, row: Sequence[Any]) -> TicketColumns:
    """The columns of a row that a new value is to be bound to. StoreError when any was changed.

    Otherwise the outcome of one person's call would be sealed for the other whose name somebody wrote there.
    """
    ticket = load_ticket(sealer, row)
    return TicketColumns(ticket.key, ticket.person, ticket.server, ticket.deadline)


def dump_ticket(sealer: Sealer, ticket: Ticket) -> tuple[Any, ...]:
    """The values of a row, in the order of the ticket's own."""
    bound = TicketColumns(ticket.key, ticket.person, ticket.server, ticket.deadline)
    return (
        *ticket[:5],
        seal_ticket_column(sealer, bound, "call", ticket.call),
        seal_ticket_column(sealer, bound, "round", ticket.round),
        ticket.sent,
        seal_ticket_column(sealer, bound, "outcome", ticket.outcome),
    )


def load_ticket(sealer: Sealer, row: Sequence[Any]) -> Ticket:
    """The ticket of a row. StoreError when it was changed."""
    key, person, server, holder, deadline, call, round, sent, outcome = row
    if call is None and outcome is None:  # otherwise nothing proves that the row is ours
        raise StoreError("a parked call was changed")
    bound = TicketColumns(key, person, server, deadline)
    return Ticket(
        key,
        person,
        server,
        holder,
        deadline,
        _open_ticket_column(sealer, bound, "call", call),
        _open_ticket_column(sealer, bound, "round", round),
        bool(sent),
        _open_ticket_column(sealer, bound, "outcome", outcome),
    )


def seal_ticket_column(sealer: Sealer, bound: TicketColumns, column: str, value: Json) -> bytes | None:
    """The value of a sealed column."""
    return None if value is None else sealer.seal(json.dumps(value).encode(), _ticket_place(bound, column))


def prove_flow(sealer: Sealer, flow: Flow) -> bytes:
    """The proof column: an empty value, sealed to the other columns."""
    return sealer.seal(b"", _flow_place(flow))


def load_flow(sealer: Sealer, row: Sequence[Any]) -> Flow:
    """The flow of a row. StoreError when any of its columns was changed."""
    elicitation_id, person, deadline, completed, proof = row
    flow = Flow(elicitation_id, person, deadline, bool(completed))
    sealer.open(proof, _flow_place(flow))
    return flow


def _open_ticket_column(sealer: Sealer, bound: TicketColumns, column: str, sealed: bytes | None) -> Json:
    return None if sealed is None else json.loads(sealer.open(sealed, _ticket_place(bound, column)))


def _ticket_place(bound: TicketColumns, column: str) -> str:
    return json.dumps(["tickets", *bound[:3], float(bound.deadline), column])


def _flow_place(flow: Flow) -> str:
    return json.dumps(["flows", flow.elicitation_id, flow.person, float(flow.deadline), flow.completed])
