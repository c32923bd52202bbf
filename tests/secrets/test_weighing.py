"""Wording that no rule knows is found by the weight of its words."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from tests.secrets.learn import FINGERPRINT, examples, fingerprint, learned, own_examples, weights_of

import handraise.secrets
from handraise.forms import Flag, Form, Text
from handraise.secrets import SecretFinding, judge_form
from handraise.secrets.weighing import SUSPICIOUS, WEIGHTS, Weights, weigh

NEW_WORDING = "What nobody may read over your shoulder"


def found_in(message: str, *fields: Text | Flag) -> tuple[SecretFinding, ...]:
    return judge_form(message, Form.by_hand(*fields))


@pytest.mark.shows("S3")
def test_new_wording_is_doubtful_and_rests_on_its_heaviest_words() -> None:
    [found] = found_in("Then we let you in", Text("v", title=NEW_WORDING))
    assert found.doubtful
    assert found.words
    said = f"Then we let you in {NEW_WORDING}".lower()
    assert all(word.lower() in said for word in found.words)


def test_a_field_that_names_something_harmless_is_left_alone() -> None:
    message = "Our installer printed a row of odd signs, and said that it never would again"
    assert not found_in(message, Text("reason", title="Reason for the call"), Flag("done"))


def test_a_message_that_goes_on_to_ask_for_something_else_is_left_alone() -> None:
    assert not found_in("Add your API key to .env, then tell me the project slug", Text("slug"))


def test_a_doubt_of_the_rules_is_none_when_the_words_speak_for_it_too() -> None:
    thing = Text("v", title="The thing you change every 90 days")
    [doubt] = found_in("Before we start", thing)
    [sure] = found_in("Welcome back, please sign in", thing)
    assert (doubt.doubtful, sure.doubtful) == (True, False)


def test_harmless_fields_do_not_hide_one_that_describes_a_secret() -> None:
    described = Text("v", title="The thing you change every 90 days")
    harmless = [Text("note"), Text("topic", title="Topic"), Text("city", title="City")]
    for many in range(len(harmless) + 1):
        assert [found.field for found in found_in("Hello", described, *harmless[:many])] == ["v"]


def test_harmless_words_weigh_little() -> None:
    question = ("Which topic should the newsletter have?", [Text("topic", title="Topic")])
    assert weigh([question]).total < 0 < SUSPICIOUS


def test_the_weights_were_learned_after_the_last_change_of_what_they_are_made_from() -> None:
    assert FINGERPRINT.read_text("utf-8").strip() == fingerprint(), "run: make lexicons"


@pytest.mark.soak
def test_the_weights_are_those_of_the_labelled_sets() -> None:
    kept = Weights(**json.loads(files(handraise.secrets).joinpath(WEIGHTS).read_text("utf-8")))
    anew = weights_of(*learned([*examples(), *own_examples()]))
    assert kept.bias == pytest.approx(anew.bias, abs=0.05)
    for now, then in zip(anew[1:], kept[1:], strict=True):
        assert now == pytest.approx(then, abs=0.2), "run: python -m tests.secrets.learn"
