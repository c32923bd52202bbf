"""The numbers of a report, counted from the questions of a ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

from handraise.ledger.report.cases import OUTCOMES, Case, Outcome
from handraise.ledger.report.pressure import Pressure, pressure_of

_MOST: Final = 20
"""How many rows a table has before the rest is summed up."""

SPANS: Final[tuple[tuple[str, float], ...]] = (
    ("under 2 s", 2_000),
    ("2–5 s", 5_000),
    ("5–10 s", 10_000),
    ("10–30 s", 30_000),
    ("30–60 s", 60_000),
    ("1–5 min", 300_000),
    ("5–30 min", 1_800_000),
    ("over 30 min", float("inf")),
)
"""How long people took, in steps that mean something to a reader."""


@dataclass(frozen=True, slots=True)
class Row:
    """The questions that have something in common."""

    name: str
    detail: str
    counts: tuple[int, ...]
    """In the order of `OUTCOMES`."""
    typical: float | None
    """Median milliseconds until a person decided."""

    @property
    def total(self) -> int:
        """How many questions there were."""
        return sum(self.counts)

    def count(self, outcome: Outcome) -> int:
        """How many of them ended in one way."""
        return self.counts[OUTCOMES.index(outcome)]


@dataclass(frozen=True, slots=True)
class Thinking:
    """How long people took."""

    counts: tuple[int, ...]
    """In the order of `SPANS`."""
    typical: float | None
    slow: float | None
    """Nine of ten were faster."""

    @property
    def total(self) -> int:
        """How many decisions of people there were."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A reason for which questions were refused."""

    reason: str
    count: int
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that a report counts."""

    all: Row
    servers: tuple[Row, ...]
    tools: tuple[Row, ...]
    people: tuple[Row, ...]
    thinking: Thinking
    pressure: tuple[Pressure, ...]
    blocked: tuple[Blocked, ...]
    secrets: tuple[tuple[str, int], ...]
    """Kinds of secret that were asked for."""
    risky: tuple[tuple[str, int], ...]
    """Domains whose links were called a danger."""
    decided_by: tuple[tuple[str, int], ...]
    uses: tuple[tuple[str, int], ...]
    """What followed the accepted ones."""
    modes: tuple[tuple[str, int], ...]


def figures_of(cases: Sequence[Case]) -> Figures:
    """Count."""
    refused = [case for case in cases if case.outcome == "refused"]
    ended = [case.ending for case in cases if case.ending is not None]
    return Figures(
        all=_row("all", "", cases),
        servers=_rows(cases, lambda case: (case.about.server.id, case.about.server.target or "")),
        tools=_rows(cases, _tool),
        people=_rows(cases, _person),
        thinking=_thinking([case.thought for case in cases if case.thought is not None]),
        pressure=pressure_of(cases),
        blocked=_blocked(refused),
        secrets=_most(secret for case in cases for secret in case.secrets),
        risky=_most(
            case.link.domain or case.link.host or "no host"
            for case in cases
            if case.link is not None and case.link.verdict == "danger"
        ),
        decided_by=_most(ending.decided_by for ending in ended if ending.decided_by is not None),
        uses=_most(case.use or "not used" for case in cases if case.outcome == "accepted"),
        modes=_most(case.about.mode or "unknown" for case in cases),
    )


def _tool(case: Case) -> tuple[str, str]:
    request = case.about.request
    if request is None:
        return "outside of a call", ""
    return request.target or request.method, case.about.server.id


def _person(case: Case) -> tuple[str, str]:
    person = case.about.principal
    if person is None:
        return "nobody", "there was no one to ask"
    how = {"token": "signed in at", "system": "user of", "anonymous": "not signed in,"}[person.how]
    return person.subject, f"{how} {person.issuer}".strip()


def _rows(cases: Sequence[Case], key: Callable[[Case], tuple[str, str]]) -> tuple[Row, ...]:
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    largest = sorted(groups.items(), key=lambda group: (-sum(case.count for case in group[1]), group[0]))
    rows = [_row(*name, members) for name, members in largest[:_MOST]]
    rest = [case for _, members in largest[_MOST:] for case in members]
    if rest:
        rows.append(_row(f"{len(largest) - _MOST} others", "", rest))
    return tuple(rows)


def _row(name: str, detail: str, cases: Sequence[Case]) -> Row:
    counts: Counter[Outcome] = Counter()
    for case in cases:
        counts[case.outcome] += case.count
    thought = [case.thought for case in cases if case.thought is not None]
    return Row(
        name,
        detail,
        tuple(counts[outcome] for outcome in OUTCOMES),
        median(thought) if thought else None,
    )


def _thinking(thought: Sequence[int]) -> Thinking:
    counts = [0] * len(SPANS)
    for time in thought:
        counts[next(at for at, (_, end) in enumerate(SPANS) if time < end)] += 1
    if not thought:
        return Thinking(tuple(counts), None, None)
    slow = quantiles(thought, n=10)[-1] if len(thought) > 1 else thought[0]
    return Thinking(tuple(counts), median(thought), slow)


def _blocked(refused: Sequence[Case]) -> tuple[Blocked, ...]:
    counts: Counter[str] = Counter()
    for case in refused:
        counts.update(dict.fromkeys(case.reasons, case.count))
    return tuple(
        Blocked(
            reason,
            count,
            tuple(
                name for name, _ in _most(case.about.server.id for case in refused if reason in case.reasons)
            ),
        )
        for reason, count in counts.most_common(_MOST)
    )


def _most(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(names).most_common(_MOST))
