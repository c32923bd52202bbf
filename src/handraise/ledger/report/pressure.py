"""Which servers ask too much: how often, how unwelcome, and whether they go on after a no."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handraise.ledger.report.cases import Case

_HOUR: Final = 3_600_000
_AFTERWARDS: Final = 600_000
"""Asking the same person again within ten minutes of their no is going on after it."""

_OFTEN: Final = 30
_UNWELCOME: Final = 0.5
_ENOUGH: Final = 5
"""Of fewer decisions than this nothing can be said."""
_INSISTENT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Pressure:
    """How much one server asks of people."""

    server: str
    busiest_hour: int
    """The most questions within sixty minutes."""
    unwelcome: float | None
    """The share of people's decisions that were a decline or a cancel; None when there were none."""
    after_no: int
    """How often it asked the same person again soon after they declined."""
    refused: int
    signs: tuple[str, ...]
    """What is too much, in words."""


def pressure_of(cases: Sequence[Case]) -> tuple[Pressure, ...]:
    """The servers by how much they ask, the ones that ask too much first. The cases come oldest first."""
    by_server: dict[str, list[Case]] = {}
    for case in cases:
        by_server.setdefault(case.about.server.id, []).append(case)
    found = [_pressure(server, asked) for server, asked in by_server.items()]
    return tuple(sorted(found, key=lambda one: (-len(one.signs), -one.busiest_hour, one.server)))


def _pressure(server: str, cases: Sequence[Case]) -> Pressure:
    decided = [case for case in cases if case.thought is not None]
    no = sum(case.outcome in ("declined", "cancelled") for case in decided)
    unwelcome = no / len(decided) if decided else None
    busiest, after_no = _busiest(cases), _after_no(cases)
    signs = []
    if busiest > _OFTEN:
        signs.append(f"{busiest} questions within an hour")
    if unwelcome is not None and len(decided) >= _ENOUGH and unwelcome > _UNWELCOME:
        signs.append("people turn down most of what it asks")
    if len(decided) >= _ENOUGH and after_no > _INSISTENT * len(cases):
        signs.append(f"asked {after_no} times soon after a no")
    refused = sum(case.count for case in cases if case.outcome == "refused")
    return Pressure(server, busiest, unwelcome, after_no, refused, tuple(signs))


def _busiest(cases: Sequence[Case]) -> int:
    within: deque[Case] = deque()
    most = now = 0
    for case in cases:
        within.append(case)
        now += case.count
        while within[0].asked <= case.asked - _HOUR:
            now -= within.popleft().count
        most = max(most, now)
    return most


def _after_no(cases: Sequence[Case]) -> int:
    last_no: dict[str, int] = {}
    count = 0
    for case in cases:
        person = case.about.principal.key if case.about.principal is not None else ""
        if person in last_no and 0 <= case.asked - last_no[person] < _AFTERWARDS:
            count += 1
        if case.outcome == "declined" and case.ending is not None:
            last_no[person] = case.ending.time
    return count
