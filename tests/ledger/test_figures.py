"""What a report counts."""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.ledger.years import PEOPLE, SERVERS, START, made_up

from handraise.ledger import (
    AnswerUse,
    Content,
    EventContext,
    FieldRecord,
    LedgerEvent,
    LinkRecord,
    RequestRecord,
)
from handraise.ledger.events import EventKind, Principal
from handraise.ledger.figures import OUTCOMES, SPANS, AskedQuestion, figures_of, pressure_of, questions_of
from handraise.ledger.report import timeline_of

ABOUT = EventContext(SERVERS[0][0], PEOPLE[0], RequestRecord("tools/call", "notes_delete"), "form")
MESSAGE = Content("m", "0" * 64)


def event(question: str, kind: EventKind, after: int = 0, **more: object) -> LedgerEvent:
    return LedgerEvent(f"{question}-{kind}", question, kind, START + after, ABOUT, **more)  # type: ignore[arg-type]


def decided(question: str, action: str, after: int, **more: object) -> list[LedgerEvent]:
    took: dict[str, object] = {"latency": 1_000, "decided_by": "human", **more}
    return [
        event(question, "asked", after, message=MESSAGE),
        event(question, "decided", after + 1_000, action=action, **took),
    ]


def one(*events: LedgerEvent) -> AskedQuestion:
    (case,) = questions_of(events)
    return case


@pytest.mark.parametrize(
    ("action", "outcome"), [("accept", "accepted"), ("decline", "declined"), ("cancel", "cancelled")]
)
@pytest.mark.shows("O1")
def test_the_three_answers_stay_three_outcomes(action: str, outcome: str) -> None:
    assert one(*decided("q", action, 0)).outcome == outcome


@pytest.mark.shows("O8")
def test_a_no_is_counted_apart_from_accepted_and_declined() -> None:
    case = one(*decided("q", "accept", 0, said="no"))
    assert case.outcome == "said_no"
    figures = figures_of([case])
    assert (figures.all.count("said_no"), figures.all.count("accepted"), figures.all.count("declined")) == (
        1,
        0,
        0,
    )
    assert figures.uses == ()


@pytest.mark.shows("L7", "G6")
def test_who_was_turned_away_from_a_page_is_listed_and_counts_as_no_question() -> None:
    away = event("b", "refused", 5, decided_by="policy", reasons=("opened by another person",), count=0)
    figures = figures_of(questions_of([*decided("q", "accept", 0), away]))
    assert (figures.all.total, figures.all.count("refused"), len(figures.tools)) == (1, 0, 1)
    assert [(each.reason, each.count) for each in figures.blocked] == [("opened by another person", 1)]


def test_a_user_of_this_computer_is_named_by_login_and_not_by_number() -> None:
    me = Principal(socket.gethostname(), str(os.getuid()), "system")
    events = [replace(each, about=replace(ABOUT, principal=me)) for each in decided("q", "accept", 0)]
    assert [row.name for row in figures_of(questions_of(events)).people] == [getpass.getuser()]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("expired", "expired"),
        ("refused", "refused"),
        ("withdrawn", "unanswered"),
        ("ambiguous", "unanswered"),
    ],
)
@pytest.mark.shows("O2", "G7")
def test_no_answer_is_never_counted_as_a_decline(kind: EventKind, outcome: str) -> None:
    assert one(event("q", "asked", message=MESSAGE), event("q", kind, 5)).outcome == outcome


@pytest.mark.shows("G7")
def test_refusals_that_were_only_counted_count_as_what_they_were() -> None:
    cases = questions_of(
        [
            event("a", "refused", decided_by="policy", reasons=("no",)),
            event("b", "refused", 5, decided_by="policy", reasons=("99 more", "no"), count=99),
        ]
    )
    figures = figures_of(cases)
    assert figures.all.counts[OUTCOMES.index("refused")] == 100
    assert [(each.reason, each.count) for each in figures.blocked] == [("no", 100), ("99 more", 99)]
    assert (figures.pressure[0].refused, figures.pressure[0].busiest_hour) == (100, 100)
    day = datetime.fromtimestamp(cases[0].asked / 1000, UTC)
    assert sum(map(sum, timeline_of(cases, day, day, UTC).counts.values())) == 100


def test_a_question_that_nothing_has_ended_is_waiting() -> None:
    assert (
        one(event("q", "asked", message=MESSAGE), event("q", "shown", 5, message=MESSAGE)).outcome
        == "waiting"
    )


@pytest.mark.shows("G7")
def test_an_accept_is_joined_to_how_the_call_that_used_it_ended() -> None:
    use = AnswerUse(RequestRecord("tools/call", "notes_delete"), "error")
    used = one(*decided("q", "accept", 0), event("q", "used", 2_000, used=use))
    assert used.use == "error"
    assert figures_of([used]).uses == (("error", 1),)


@pytest.mark.shows("G7")
def test_an_accept_whose_call_was_lost_is_counted_as_that() -> None:
    lost = one(*decided("q", "accept", 0), event("q", "ambiguous", 9_000, reasons=("gone",)))
    assert lost.outcome == "accepted"
    assert figures_of([lost]).uses == (("ambiguous", 1),)


def test_only_people_count_for_how_long_people_took() -> None:
    by_rule = one(*decided("q", "cancel", 0, decided_by="policy"))
    figures = figures_of([by_rule, one(*decided("r", "accept", 0))])
    assert figures.thinking.total == 1
    assert figures.thinking.counts[0] == 1


def test_what_was_blocked_is_counted_by_reason_with_its_servers() -> None:
    refused = [
        one(event(f"q{n}", "refused", n, decided_by="policy", reasons=("asks for a password",)))
        for n in range(3)
    ]
    (blocked,) = figures_of(refused).blocked
    assert (blocked.reason, blocked.count, blocked.servers) == ("asks for a password", 3, ("notes",))


def test_secrets_and_dangerous_links_are_named() -> None:
    asked = event("q", "asked", message=MESSAGE, fields=(FieldRecord("pw", "text", "password"),))
    linked = event("r", "asked", message=MESSAGE, link=LinkRecord("danger", "evil.example", "x.evil.example"))
    figures = figures_of(questions_of([asked, linked]))
    assert figures.secrets == (("password", 1),)
    assert figures.risky == (("evil.example", 1),)


def test_many_tools_are_summed_up_after_the_first_twenty() -> None:
    events = [
        LedgerEvent(
            f"{n}",
            f"q{n}",
            "asked",
            START + n,
            EventContext(ABOUT.server, request=RequestRecord("tools/call", f"t{n}")),
        )
        for n in range(25)
    ]
    figures = figures_of(questions_of(events))
    assert len(figures.tools) == 21
    assert figures.tools[-1].name == "5 others"
    assert sum(row.total for row in figures.tools) == 25


def test_each_question_is_counted_once_everywhere() -> None:
    cases = questions_of(made_up(500))
    figures = figures_of(cases)
    for rows in (figures.servers, figures.tools, figures.people):
        assert sum(row.total for row in rows) == figures.all.total == len(cases)


@pytest.mark.shows("D6")
def test_a_server_that_goes_on_after_a_no_stands_out() -> None:
    events = [each for n in range(6) for each in decided(f"q{n}", "decline", n * 60_000)]
    (server,) = pressure_of(questions_of(events))
    assert server.after_no == 5
    assert server.unwelcome == 1.0
    assert len(server.signs) == 2


def test_a_burst_stands_out_and_the_same_number_over_days_does_not() -> None:
    burst = [event(f"q{n}", "asked", n * 1_000, message=MESSAGE) for n in range(40)]
    calm = [event(f"q{n}", "asked", n * 7_200_000, message=MESSAGE) for n in range(40)]
    assert pressure_of(questions_of(burst))[0].busiest_hour == 40
    assert pressure_of(questions_of(burst))[0].signs
    assert not pressure_of(questions_of(calm))[0].signs


@pytest.mark.parametrize(
    ("seconds", "typical", "slow"), [((), None, None), ((4,), 4, 4), (tuple(range(1, 20)), 10, 18)]
)
def test_nine_of_ten_were_faster_than_what_is_called_slow(
    seconds: tuple[int, ...], typical: float | None, slow: float | None
) -> None:
    asked = [one(*decided(f"q{n}", "accept", n, latency=n * 1000)) for n in seconds]
    thinking = figures_of(asked).thinking
    told = [each and each / 1000 for each in (thinking.typical, thinking.slow)]
    assert told == [typical, slow]
    assert sum(thinking.counts) == len(seconds)


def test_a_time_belongs_to_the_span_that_begins_with_it() -> None:
    for at, (_, end) in enumerate(SPANS[:-1]):
        for latency, place in ((int(end) - 1, at), (int(end), at + 1)):
            counts = figures_of([one(*decided("q", "accept", 0, latency=latency))]).thinking.counts
            assert counts[place] == 1, latency
