"""The trail of one question: which events it has, and what they say."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Literal, get_args

import pytest
from tests.ledger.examples import ABOUT, DELETE

from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import canonical, digest
from handraise.errors import LedgerError
from handraise.forms import Choice, Flag, Form, Option, Text, dump_form
from handraise.ledger.events import FieldRecord, LedgerEvent, LinkRecord, Principal, ServerRecord, parse_event
from handraise.ledger.trail import (
    Keeping,
    ShownQuestion,
    Trail,
    decrypt_content,
    new_id,
    principal_of,
    server_of,
    shown_question,
)
from handraise.questions import FormQuestion, Origin, Person, UrlQuestion
from handraise.revisions import Revision
from handraise.secrets import SecretFinding, judge_form
from handraise.urls import inspect_url

FORM: Form[Any] = Form.by_hand(Choice("which", options=(Option("a"), Option("b"))), Flag("sure"), Text("why"))
ANSWER = {"which": "a", "sure": True, "why": "it is old"}


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def trail_of(clock: Clock, keeping: Keeping = "none", **options: Any) -> Trail:
    return Trail("q_1", ABOUT, ShownQuestion("Delete the note?"), clock=clock, keeping=keeping, **options)


def event_of(record: Record) -> LedgerEvent:
    return parse_event(record.body)


@pytest.mark.shows("G1", "G2")
def test_a_question_that_is_answered_leaves_its_steps_with_their_times(clock: Clock) -> None:
    trail = trail_of(clock)
    asked = event_of(trail.asked())
    clock.now += 0.25
    shown = event_of(trail.shown())
    clock.now += 4
    decided = event_of(trail.decided("accept", "human", content=ANSWER, edited=("why",)))
    assert [event.kind for event in (asked, shown, decided)] == ["asked", "shown", "decided"]
    assert {event.question for event in (asked, shown, decided)} == {"q_1"}
    assert (asked.latency, shown.latency, decided.latency) == (None, 250, 4250)
    assert shown.message == asked.message
    assert (decided.action, decided.decided_by, decided.edited) == ("accept", "human", ("why",))
    assert decided.time == asked.time + 4250


@pytest.mark.shows("G2")
def test_what_a_form_asks_for_is_recorded_by_name_and_type() -> None:
    question = FormQuestion("Delete the note?", FORM)
    shown = shown_question(question, Revision.JULY_2026)
    assert shown.fields == (
        FieldRecord("which", "choice"),
        FieldRecord("sure", "flag"),
        FieldRecord("why", "text"),
    )
    assert shown.schema == digest(dump_form(FORM, Revision.JULY_2026))


@pytest.mark.shows("G2")
def test_a_field_that_seems_to_ask_for_a_secret_is_recorded_as_such() -> None:
    form: Form[Any] = Form.by_hand(Text("password"), Text("city"))
    found = judge_form("Sign in", form)
    shown = shown_question(FormQuestion("Sign in", form), Revision.JULY_2026, secrets=found)
    assert shown.fields == (FieldRecord("password", "text", "password"), FieldRecord("city", "text"))


@pytest.mark.shows("G2")
def test_a_message_that_asks_for_a_secret_itself_is_recorded_as_such(clock: Clock) -> None:
    form: Form[Any] = Form.by_hand(Text("reply"), Text("city"))
    found = [SecretFinding(None, 1, "password", "The message asks for a password.")]
    shown = shown_question(FormQuestion("Send me your password", form), Revision.JULY_2026, secrets=found)
    assert event_of(Trail("q_1", ABOUT, shown, clock=clock).asked()).secret == "password"


@pytest.mark.shows("G2", "S5")
def test_of_a_link_only_the_domain_the_host_and_the_verdict_are_recorded(clock: Clock) -> None:
    url = "http://login.example.com/callback?token=sk-very-secret"
    shown = shown_question(UrlQuestion("Sign in", url), Revision.JULY_2026, link=inspect_url(url))
    trail = Trail("q_1", ABOUT, shown, clock=clock)
    for record in (trail.asked(), trail.opened()):
        link = event_of(record).link
        assert isinstance(link, LinkRecord)
        assert (link.domain, link.host) == ("example.com", "login.example.com")
        assert link.verdict != "ok"
        assert link.reasons
        assert b"secret" not in record.body
        assert b"callback" not in record.body


@pytest.mark.shows("G3")
@pytest.mark.parametrize("keeping", get_args(Keeping))
def test_only_contents_that_are_to_be_kept_are_kept_and_those_are_encrypted(
    clock: Clock, keeping: Keeping
) -> None:
    trail = trail_of(clock, keeping)
    asked, decided = trail.asked(), trail.decided("accept", "human", content=ANSWER)
    (message,), (answer,) = asked.kept, decided.kept
    said, told = event_of(asked).message, event_of(decided).answer
    assert said is not None
    assert told is not None
    assert decrypt_content(message, said.hash) == (
        b"Delete the note?" if keeping in ("message", "all") else None
    )
    assert decrypt_content(answer, told.hash) == (canonical(ANSWER) if keeping in ("fields", "all") else None)
    for record in (asked, decided):
        for part in (record.body, record.kept[0].body or b""):
            assert b"Delete" not in part
            assert b"it is old" not in part


@pytest.mark.shows("G3")
def test_whoever_has_the_key_can_tell_what_was_said_and_nobody_else_can_guess_it(clock: Clock) -> None:
    trail = trail_of(clock)
    first, second = (
        trail.decided("accept", "human", content=True),
        trail.decided("accept", "human", content=True),
    )
    answers = [event_of(record).answer for record in (first, second)]
    assert answers[0] is not None
    assert answers[1] is not None
    assert answers[0].hash != answers[1].hash
    assert answers[0].hash == blake2b(b"true", key=first.kept[0].key, digest_size=32).hexdigest()


@pytest.mark.shows("G1", "G7")
def test_every_other_end_is_told_with_its_reason(clock: Clock) -> None:
    trail = trail_of(clock)
    refused = event_of(trail.refused(("You blocked this server.",)))
    assert (refused.decided_by, refused.reasons) == ("policy", ("You blocked this server.",))
    assert refused.message is not None
    assert event_of(trail.expired()).decided_by == "timeout"
    assert event_of(trail.withdrawn("the call ended")).reasons == ("the call ended",)
    assert event_of(trail.failed("no answer")).reasons == ("no answer",)
    assert event_of(trail.ambiguous("who knows")).reasons == ("who knows",)
    assert event_of(trail.completed()).kind == "completed"


@pytest.mark.shows("G2", "G7")
def test_an_answer_is_joined_to_the_call_that_used_it(clock: Clock) -> None:
    used = event_of(trail_of(clock).used(DELETE, "error")).used
    assert used is not None
    assert (used.request, used.ended) == (DELETE, "error")


@pytest.mark.parametrize("until", ["decided", "used"])
def test_a_yes_is_open_until_its_call_is_over_where_that_is_known(
    clock: Clock, until: Literal["decided", "used"]
) -> None:
    trail = trail_of(clock, until=until)
    assert trail.asked().open
    assert trail.shown().open
    assert trail.decided("accept", "human").open is (until == "used")
    assert trail.opened().open is (until == "used")
    assert not trail.used(DELETE, "result").open
    assert not trail.completed().open  # it may be told late


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_any_other_answer_ends_the_question(clock: Clock, action: Literal["decline", "cancel"]) -> None:
    assert not trail_of(clock, until="used").decided(action, "human").open


def test_ids_sort_by_time_and_are_never_the_same() -> None:
    ids = [new_id("e_", 1_700_000_000_000 + at) for at in range(100)]
    assert ids == sorted(ids)
    assert len({new_id("e_", 5) for _ in range(100)}) == 100


def test_what_could_not_be_read_back_is_not_written(clock: Clock) -> None:
    unread = Trail("q_1", ABOUT, None, clock=clock)
    for saying in (unread.asked, unread.shown):
        with pytest.raises(LedgerError, match="message"):
            saying()
    for saying in (unread.failed, unread.ambiguous, lambda: unread.refused(())):
        with pytest.raises(LedgerError, match="reasons"):
            saying()
    assert event_of(unread.refused(("it breaks a rule",))).reasons == ("it breaks a rule",)


@pytest.mark.shows("W9b")
def test_a_decision_says_that_a_passkey_was_used(clock: Clock) -> None:
    trail = trail_of(clock)
    trail.asked()
    with_one = parse_event(trail.decided("accept", "human", passkey=True).body)
    assert (with_one.how, with_one.decided_by) == ("passkey", "human")
    assert parse_event(trail.decided("accept", "human").body).how is None


@pytest.mark.shows("O8")
def test_a_no_is_recorded_as_a_no_and_allows_no_call(clock: Clock) -> None:
    shown = shown_question(FormQuestion("Delete the note?", FORM), Revision.JULY_2026)
    trail = Trail("q_1", ABOUT, shown, clock=clock, until="used")
    event = event_of(trail.decided("accept", "human", content={"sure": False}, said_no=True))
    assert (event.action, event.said, event.outcome) == ("accept", "no", "said_no")


@pytest.mark.shows("G2", "S5")
@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("https://notes.example/mcp?key=sk-123", "https://notes.example"),
        ("https://ada:pw@notes.example:8443/mcp", "https://notes.example:8443"),
        ("python notes.py", "python notes.py"),
        ("python -m notes serve", "python -m notes serve"),
        ("notes --port 80 serve", "notes --port … serve"),
        ("notes --token=abc --verbose", "notes --token --verbose"),
        ("notes -k abc", "notes -k …"),
        ("notes KEY=abc", "notes …"),
        ("notes ghp_0123456789abcdefghijklmnopqrstuvwxyz", "notes …"),
        ("notes 'unclosed", "…"),
    ],
)
def test_a_target_is_named_without_what_may_be_a_secret(target: str, named: str) -> None:
    assert server_of(Origin("notes", target)).target == named


@pytest.mark.shows("G2")
def test_a_server_is_named_as_the_user_configured_it_and_its_own_name_is_a_claim() -> None:
    asked = server_of(Origin("notes", "", "The Bank", "2.0"))
    assert asked == ServerRecord("notes", None, "The Bank 2.0")


@pytest.mark.shows("G2")
def test_a_person_is_the_same_key_as_everywhere() -> None:
    ada = Person("https://login.example", "ada", "token")
    assert principal_of(ada) == Principal("https://login.example", "ada", "token")
    assert principal_of(ada).key == ada.key
