"""The numbers of a report: the outcome of each question, counts, and the servers that ask too much."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final, Literal, get_args

from handraise.ledger.events import ENDINGS, CallEnd, EventContext, EventKind, LedgerEvent, LinkRecord
from handraise.this_user import person_name

ReportOutcome = Literal[
    "accepted", "said_no", "declined", "cancelled", "expired", "refused", "unanswered", "waiting"
]
OUTCOMES: Final[tuple[ReportOutcome, ...]] = get_args(ReportOutcome)
"""How a question can have ended, in the order in which a report names them."""

_BY_ACTION: Final[dict[str, ReportOutcome]] = {
    "accept": "accepted",
    "said_no": "said_no",
    "decline": "declined",
    "cancel": "cancelled",
}
_BY_KIND: Final[dict[EventKind, ReportOutcome]] = {
    "refused": "refused",
    "expired": "expired",
    "withdrawn": "unanswered",
    "failed": "unanswered",
    "ambiguous": "unanswered",
}


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question, from being asked to what its answer was used for."""

    question: str
    about: EventContext
    asked: int
    """Milliseconds since 1970."""
    outcome: ReportOutcome
    ending: LedgerEvent | None
    shown: bool
    secrets: tuple[str, ...]
    link: LinkRecord | None
    use: CallEnd | Literal["ambiguous"] | None
    """How the call ended that used the answer; ambiguous: nobody knows."""

    @property
    def count(self) -> int:
        """How many questions it stands for: more than one for refused ones that were only counted, and none for a
        person who was turned away from another one's page."""
        return 1 if self.ending is None or self.ending.count is None else self.ending.count

    @property
    def thought(self) -> int | None:
        """Milliseconds that a person took to decide; None when no person did."""
        if self.ending is None or self.ending.decided_by != "human":
            return None
        return self.ending.latency

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was refused or not answered."""
        return () if self.ending is None else self.ending.reasons


def questions_of(events: Iterable[LedgerEvent]) -> list[AskedQuestion]:
    """The questions that events tell of, oldest first."""
    by_question: dict[str, list[LedgerEvent]] = {}
    for event in events:
        by_question.setdefault(event.question, []).append(event)
    return sorted(map(_question, by_question.values()), key=lambda case: case.asked)


def _question(events: list[LedgerEvent]) -> AskedQuestion:
    first = min(events, key=lambda event: event.time)
    ending = next((event for event in events if event.kind in ENDINGS), None)
    named = [field.secret for event in events for field in event.fields] + [event.secret for event in events]
    return AskedQuestion(
        question=first.question,
        about=first.about,
        asked=first.time,
        outcome=_outcome(ending),
        ending=ending,
        shown=any(event.kind == "shown" for event in events),
        secrets=tuple(dict.fromkeys(secret for secret in named if secret)),
        link=next((event.link for event in events if event.link is not None), None),
        use=_use(events, ending),
    )


def _use(events: list[LedgerEvent], ending: LedgerEvent | None) -> CallEnd | Literal["ambiguous"] | None:
    if uses := [event.used.ended for event in events if event.used is not None]:
        return uses[-1]
    lost = any(event.kind == "ambiguous" and event is not ending for event in events)
    return "ambiguous" if lost else None


def _outcome(ending: LedgerEvent | None) -> ReportOutcome:
    if ending is None:
        return "waiting"
    if ending.kind == "decided":
        return _BY_ACTION[ending.outcome or "cancel"]
    return _BY_KIND[ending.kind]


_HOUR: Final = 3_600_000
_AFTERWARDS: Final = 600_000
"""Milliseconds after a no in which another question to the same person counts as pressure."""

_OFTEN: Final = 30
_UNWELCOME: Final = 0.5
_ENOUGH: Final = 5
"""With fewer decisions than this there is no judgement."""
_INSISTENT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Pressure:
    """How much one server asks of people."""

    server: str
    busiest_hour: int
    """The most questions within sixty minutes."""
    unwelcome: float | None
    """The share of people's decisions that were a no, a decline or a cancel; None when there were none."""
    after_no: int
    """How often it asked the same person again soon after they said no or declined."""
    refused: int
    signs: tuple[str, ...]
    """The limit that was passed, in words."""


def pressure_of(cases: Sequence[AskedQuestion]) -> tuple[Pressure, ...]:
    """The servers by how much they ask, the ones that ask too much first. The cases come oldest first."""
    by_server: dict[str, list[AskedQuestion]] = {}
    for case in cases:
        by_server.setdefault(case.about.server.id, []).append(case)
    found = [_pressure(server, asked) for server, asked in by_server.items()]
    return tuple(sorted(found, key=lambda one: (-len(one.signs), -one.busiest_hour, one.server)))


def _pressure(server: str, cases: Sequence[AskedQuestion]) -> Pressure:
    decided = [case for case in cases if case.thought is not None]
    no = sum(case.outcome in ("said_no", "declined", "cancelled") for case in decided)
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


def _busiest(cases: Sequence[AskedQuestion]) -> int:
    within: deque[AskedQuestion] = deque()
    most = now = 0
    for case in cases:
        within.append(case)
        now += case.count
        while within[0].asked <= case.asked - _HOUR:
            now -= within.popleft().count
        most = max(most, now)
    return most


def _after_no(cases: Sequence[AskedQuestion]) -> int:
    last_no: dict[str, int] = {}
    count = 0
    for case in cases:
        person = case.about.principal.key if case.about.principal is not None else ""
        if person in last_no and 0 <= case.asked - last_no[person] < _AFTERWARDS:
            count += 1
        if case.outcome in ("said_no", "declined") and case.ending is not None:
            last_no[person] = case.ending.time
    return count


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
class QuestionCounts:
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

    def count(self, outcome: ReportOutcome) -> int:
        """How many of them ended in one way."""
        return self.counts[OUTCOMES.index(outcome)]


@dataclass(frozen=True, slots=True)
class DecisionTimes:
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
class RefusalReason:
    """A reason for which questions were refused."""

    reason: str
    count: int
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that a report counts."""

    all: QuestionCounts
    servers: tuple[QuestionCounts, ...]
    tools: tuple[QuestionCounts, ...]
    people: tuple[QuestionCounts, ...]
    thinking: DecisionTimes
    pressure: tuple[Pressure, ...]
    blocked: tuple[RefusalReason, ...]
    secrets: tuple[tuple[str, int], ...]
    """Kinds of secret that were asked for."""
    risky: tuple[tuple[str, int], ...]
    """Domains whose links were called a danger."""
    decided_by: tuple[tuple[str, int], ...]
    uses: tuple[tuple[str, int], ...]
    """Counts of calls after accepted questions."""
    modes: tuple[tuple[str, int], ...]


def figures_of(cases: Sequence[AskedQuestion]) -> Figures:
    """Count."""
    refused = [case for case in cases if case.outcome == "refused"]
    cases = [case for case in cases if case.count]
    ended = [case.ending for case in cases if case.ending is not None]
    return Figures(
        all=_counts("all", "", cases),
        servers=_largest_groups(cases, lambda case: (case.about.server.id, case.about.server.target or "")),
        tools=_largest_groups(cases, _tool),
        people=_largest_groups(cases, _person),
        thinking=_decision_times([case.thought for case in cases if case.thought is not None]),
        pressure=pressure_of(cases),
        blocked=_refusal_reasons(refused),
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


def _tool(case: AskedQuestion) -> tuple[str, str]:
    request = case.about.request
    if request is None:
        return "outside of a call", ""
    return request.target or request.method, case.about.server.id


def _person(case: AskedQuestion) -> tuple[str, str]:
    person = case.about.principal
    if person is None:
        return "nobody", "there was no one to ask"
    how = {"token": "signed in at", "system": "user of", "anonymous": "not signed in,"}[person.how]
    return person_name(person.how, person.issuer, person.subject), f"{how} {person.issuer}".strip()


def _largest_groups(
    cases: Sequence[AskedQuestion], key: Callable[[AskedQuestion], tuple[str, str]]
) -> tuple[QuestionCounts, ...]:
    groups: dict[tuple[str, str], list[AskedQuestion]] = {}
    for case in cases:
        groups.setdefault(key(case), []).append(case)
    largest = sorted(groups.items(), key=lambda group: (-sum(case.count for case in group[1]), group[0]))
    rows = [_counts(*name, members) for name, members in largest[:_MOST]]
    rest = [case for _, members in largest[_MOST:] for case in members]
    if rest:
        rows.append(_counts(f"{len(largest) - _MOST} others", "", rest))
    return tuple(rows)


def _counts(name: str, detail: str, cases: Sequence[AskedQuestion]) -> QuestionCounts:
    counts: Counter[ReportOutcome] = Counter()
    for case in cases:
        counts[case.outcome] += case.count
    thought = [case.thought for case in cases if case.thought is not None]
    return QuestionCounts(
        name,
        detail,
        tuple(counts[outcome] for outcome in OUTCOMES),
        median(thought) if thought else None,
    )


def _decision_times(thought: Sequence[int]) -> DecisionTimes:
    counts = [0] * len(SPANS)
    for time in thought:
        counts[next(at for at, (_, end) in enumerate(SPANS) if time < end)] += 1
    if not thought:
        return DecisionTimes(tuple(counts), None, None)
    slow = quantiles(thought, n=10)[-1] if len(thought) > 1 else thought[0]
    return DecisionTimes(tuple(counts), median(thought), slow)


def _refusal_reasons(refused: Sequence[AskedQuestion]) -> tuple[RefusalReason, ...]:
    counts: Counter[str] = Counter()
    for case in refused:
        counts.update(dict.fromkeys(case.reasons, case.count or 1))
    return tuple(
        RefusalReason(
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
