"""What came together is shown together: the questions of one round, or of one call that asks several at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from handraise.desks.waiting import Waiting

Key: TypeAlias = tuple[object, ...]


def batch_key(waiting: Waiting) -> Key:
    """What the questions of one batch have in common: who asks whom, for which call. Any other one stands alone."""
    cause = waiting.cause
    call = None if cause is None or not cause.certain else cause.call_id
    together = waiting.group or call
    if together is None or waiting.browsing:
        return (waiting.id,)
    return (together, waiting.origin, waiting.person)


def batch_of(of: Waiting, waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """The questions that belong to the same batch, in their order."""
    key = batch_key(of)
    return tuple(other for other in waiting if batch_key(other) == key)


def batches(waiting: Iterable[Waiting]) -> list[tuple[Waiting, ...]]:
    """All batches, each where its oldest question stands; most have one question."""
    order: dict[Key, list[Waiting]] = {}
    for one in waiting:
        order.setdefault(batch_key(one), []).append(one)
    return [tuple(batch) for batch in order.values()]
