"""Rounds and journals as rows: what of them is sealed, and to which place each sealed value is bound.

Shared by every store that writes to a disk. A row of the table of rounds starts with `COLUMNS`.

Whoever can write to the store may not give a round to another person or call, nor another journal, another handler or
more time to a round. So all that is written with a round and never changed is the place of its sealed arguments.
What changes later is sealed by itself, or opens nothing: when it was used, and until when it is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from handraise.conversation.digest import Written
from handraise.conversation.records import (
    EXPIRED,
    Binding,
    Brought,
    Consumption,
    Entry,
    Json,
    Outcome,
    RoundRecord,
)
from handraise.errors import StoreError
from handraise.stores.seal import Sealer

GRACE = 3600.0
"""How long a round that nobody answered is remembered after its deadline, so that a late retry learns why."""

COLUMNS = "token, conversation, number, person, method, target, arguments, deadline, handler, seed, questions"
BOUND = "conversation, number, person, method, target, deadline, handler, seed, arguments"
"""What is bound together, in the order in which `_load_binding` takes it."""
JUDGED = f"{BOUND}, until, digest, since, outcome, outcome_value"
"""What `judge` looks at."""
JUDGED_COLUMNS = JUDGED.count(",") + 1


def dump_round(sealer: Sealer, record: RoundRecord) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    binding = record.binding
    return (
        record.token,
        record.conversation,
        record.number,
        binding.person,
        binding.method,
        binding.target,
        _dump(sealer, [binding.server, binding.arguments.digest], _place(record.token, *_bound(record))),
        record.deadline,
        record.handler,
        record.seed,
        _dump(sealer, [record.questions, record.pins], f"rounds/{record.token}/questions"),
    )


def load_round(sealer: Sealer, row: Sequence[Any]) -> RoundRecord:
    """The round of a row, without its journal."""
    token, conversation, number, person, method, target, sealed, deadline, handler, seed, shown = row[:11]
    questions, pins = ({}, {}) if shown is None else _load(sealer, shown, f"rounds/{token}/questions")
    return RoundRecord(
        token=token,
        conversation=conversation,
        number=number,
        binding=_load_binding(
            sealer, token, (conversation, number, person, method, target, deadline, handler, seed, sealed)
        ),
        deadline=deadline,
        questions=questions,
        pins=pins,
        handler=handler,
        seed=seed,
    )


def dump_entries(
    sealer: Sealer, conversation: str, first: int, entries: Iterable[Entry]
) -> list[tuple[str, int, bytes]]:
    """Steps of the journal as rows, from the position `first` on."""
    return [
        (conversation, at, _dump(sealer, list(entry), f"journal/{conversation}/{at}"))
        for at, entry in enumerate(entries, first)
    ]


def load_entries(sealer: Sealer, conversation: str, steps: Iterable[bytes]) -> tuple[Entry, ...]:
    """The steps of a journal from their sealed values, which are all there from the first one on."""
    return tuple(
        Entry(*_load(sealer, sealed, f"journal/{conversation}/{at}")) for at, sealed in enumerate(steps)
    )


def judge(
    sealer: Sealer, token: str, row: Sequence[Any] | None, binding: Binding, said: Written, now: float
) -> Consumption:
    """What a retry is told about a round with these values of `JUDGED`; `first` is still to be written."""
    if row is None:
        return Consumption("refused", "unknown token")
    if _load_binding(sealer, token, row[:9]) != binding:
        return Consumption("refused", "bound to another person or call")
    deadline, (until, used, since, kind, value) = row[5], row[9:JUDGED_COLUMNS]
    outcome = None if kind is None else Outcome(kind, _load(sealer, value, _outcome_place(token, kind)))
    if used is None:
        if outcome is not None:
            return Consumption("again", outcome=outcome)
        if now >= deadline or until is not None:
            return Consumption("refused", EXPIRED)
        return Consumption("first", since=now)
    if _load(sealer, used, f"rounds/{token}/digest") != said.digest:
        return Consumption("refused", "used already, with other answers")
    if outcome is None and until is not None:
        return Consumption("refused", "the call is over, and how this round went on was not kept")
    return Consumption("again", outcome=outcome, since=since)


def dump_use(sealer: Sealer, token: str, said: Written, answers: dict[str, Json]) -> tuple[bytes, bytes]:
    """The values of the columns `digest` and `answers` of a round that is used."""
    used = _dump(sealer, said.digest, f"rounds/{token}/digest")
    return used, _dump(sealer, answers, f"rounds/{token}/answers")


def load_answers(sealer: Sealer, token: str, sealed: bytes | None, pins: dict[str, str]) -> tuple[Entry, ...]:
    """The answers that a round was used with, as the next steps of its journal."""
    given = {} if sealed is None else _load(sealer, sealed, f"rounds/{token}/answers")
    return tuple(Entry("answer", key, pins.get(key, ""), value) for key, value in given.items())


def dump_brought(sealer: Sealer, token: str, tenure: str, brought: Brought) -> bytes:
    """Answers on their way to the node of their round, good for one round and while the node has this lease."""
    return _dump(sealer, list(brought), f"brought/{token}/{tenure}")


def load_brought(sealer: Sealer, token: str, tenure: str, sealed: bytes) -> Brought:
    """The answers that came to the node which has this lease. StoreError when they are for anything else."""
    return Brought(*_load(sealer, sealed, f"brought/{token}/{tenure}"))


def dump_outcome(sealer: Sealer, token: str, outcome: Outcome) -> bytes:
    """The value of the column `outcome_value`."""
    return _dump(sealer, outcome.value, _outcome_place(token, outcome.kind))


def _load_binding(sealer: Sealer, token: str, row: Sequence[Any]) -> Binding:
    """What a round with these values of `BOUND` belongs to. StoreError when any of them was changed."""
    *bound, sealed = row
    _, _, person, method, target, *_ = bound
    server, arguments = _load(sealer, sealed, _place(token, *bound))
    return Binding(person, method, target, Written(arguments), server)


def _bound(record: RoundRecord) -> tuple[Any, ...]:
    """The values of `BOUND`, without the arguments."""
    person, method, target, *_ = record.binding
    deadline = float(record.deadline)  # as it will be read
    return record.conversation, record.number, person, method, target, deadline, record.handler, record.seed


def _place(token: str, *bound: Any) -> str:
    """The place of a round's arguments. Whoever changes anything of what it belongs to moves them away."""
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
