"""Wording that no rule knows is found by the weight of its words."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from tests.secrets.learn import examples, learned

import handraise.secrets
from handraise.forms import Flag, Form, Text
from handraise.secrets import SecretFinding, judge_form
from handraise.secrets.judge import readings_of
from handraise.secrets.weighing import SUSPICIOUS, WEIGHTS, weigh

NEW_WORDING = (
    "Google Cloud gave you a .json download when you made the service account; it can't be downloaded again"
)


def found_in(message: str, *fields: Text | Flag) -> tuple[SecretFinding, ...]:
    return judge_form(message, Form.by_hand(*fields))


@pytest.mark.shows("S3")
def test_new_wording_is_doubtful_and_rests_on_its_heaviest_words() -> None:
    [found] = found_in(NEW_WORDING, Text("json", title="Paste the whole download"))
    assert found.doubtful
    assert found.words
    said = f"{NEW_WORDING} Paste the whole download".lower()
    assert all(word.lower() in said for word in found.words)


def test_a_field_that_names_something_harmless_is_left_alone() -> None:
    assert not found_in(NEW_WORDING, Text("reason", title="Reason"), Flag("done"))


def test_a_message_that_goes_on_to_ask_for_something_else_is_left_alone() -> None:
    assert not found_in("Add your API key to .env, then tell me the project slug", Text("slug"))


def test_a_doubt_of_the_rules_is_none_when_the_words_speak_for_it_too() -> None:
    title = "The word that lets you into your lab"
    [sure] = found_in("Welcome back, please sign in", Text("v", title=title))
    [doubt] = found_in("Hello", Text("v", title="The thing you change every 90 days"))
    assert (sure.doubtful, doubt.doubtful) == (False, True)


def test_harmless_fields_do_not_hide_one_that_describes_a_secret() -> None:
    described = Text("v", title="The thing you change every 90 days")
    harmless = [Text("note"), Text("topic", title="Topic"), Text("city", title="City")]
    for many in range(len(harmless) + 1):
        assert [found.field for found in found_in("Hello", described, *harmless[:many])] == ["v"]


def test_harmless_words_weigh_little() -> None:
    form = Form.by_hand(Text("topic", title="Topic"))
    assert weigh(readings_of("Which topic should the newsletter have?", form)).total < 0 < SUSPICIOUS


@pytest.mark.slow
def test_the_weights_are_those_of_the_labelled_sets() -> None:
    kept = json.loads(files(handraise.secrets).joinpath(WEIGHTS).read_text("utf-8"))
    bias, weights = learned(examples())
    assert kept["bias"] == pytest.approx(bias, abs=0.02)
    for feature, weight in weights.items():
        told = kept["weights"].get(feature, 0.0)
        assert told == pytest.approx(weight, abs=0.06), "run: python -m tests.secrets.learn"
