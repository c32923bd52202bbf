"""Questions that ask for a secret only together."""

from __future__ import annotations

import pytest

from handraise.errors import SecretInForm
from handraise.forms import Flag, Form, Text
from handraise.secrets import CallReading, judge_form, require_none

READY = Form.by_hand(Flag("ready"))
VALUE = Form.by_hand(Text("value"))


@pytest.mark.shows("S1", "S3")
def test_three_questions_that_ask_for_a_card_together_are_refused() -> None:
    reading = CallReading()
    forms = [
        Form.by_hand(Text("n", title=title)) for title in ("16 digits", "Month and year", "Three digits")
    ]
    assert reading.judge("Pay: step 1", forms[0])[0].kind == "card_number"
    alone = CallReading()
    assert not alone.judge("Step 1", forms[0])
    found = [each for form in forms[1:] for each in alone.judge("Next, for the payment", form)]
    assert {each.kind for each in found} == {"card_number", "cvv"}


def test_a_question_that_goes_on_about_a_secret_is_doubtful() -> None:
    reading = CallReading()
    assert not reading.judge("Should I rotate your PIN this year?", READY)
    [found] = reading.judge("Which one?", VALUE)
    assert (found.kind, found.doubtful, found.tier) == ("pin", True, 2)
    assert found.reason == "This may be asking for a PIN. Do not give one here."
    assert found.words == ("your PIN",)


def test_a_question_about_something_else_raises_no_doubt() -> None:
    reading = CallReading()
    reading.judge("Should I rotate the token?", READY)
    assert not reading.judge("What should the new one be called?", Form.by_hand(Text("name", title="Name")))


def test_the_same_question_counts_once() -> None:
    reading = CallReading()
    form = Form.by_hand(Text("n", title="Four digits"))
    assert not [found for _ in range(5) for found in reading.judge("The meter", form)]


def test_a_doubtful_form_of_the_author_is_not_refused() -> None:
    thing = Form.by_hand(Text("v", title="The thing you change every 90 days"))
    doubtful = judge_form("Before we start", thing)
    assert [found.doubtful for found in doubtful] == [True]
    require_none(doubtful)
    with pytest.raises(SecretInForm):
        require_none(judge_form("", Form.by_hand(Text("password"))))


@pytest.mark.shows("S3")
def test_a_card_in_four_questions_is_doubtful() -> None:
    reading = CallReading()
    form = Form.by_hand(Text("v", pattern=r"^\d{4}$"))
    messages = ("First four", "Next four", "And the next", "Last four")
    assert [found.kind for message in messages for found in reading.judge(message, form)][-1:] == [
        "card_number"
    ]


@pytest.mark.shows("S3")
def test_a_seed_phrase_word_by_word_is_doubtful() -> None:
    reading = CallReading()
    form = Form.by_hand(Text("v", title="Word"))
    for message in ("First word of the twelve", "Second word"):
        reading.judge(message, form)
    assert [found.kind for found in reading.judge("Third word", form)] == ["seed_phrase"]


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("first", "then", "kind"),
    [
        ("Did a message from us arrive?", "Tell us the number in it.", "otp"),
        ("Open your password manager.", "Paste it here.", "password"),
        ("Is there a file called .env in your project?", "What does it say?", "private_key"),
        ("Do you remember your password?", "Then write it here.", "password"),
    ],
)
def test_a_question_that_points_back_asks_for_what_was_named(first: str, then: str, kind: str) -> None:
    reading = CallReading()
    assert not reading.judge(first, READY)
    assert {each.kind for each in reading.judge(then, VALUE)} == {kind}


def test_a_question_with_a_matter_of_its_own_points_nowhere() -> None:
    reading = CallReading()
    assert not reading.judge("Did a message from us arrive?", READY)
    assert not reading.judge("Which day was that?", Form.by_hand(Text("day", title="Day")))
