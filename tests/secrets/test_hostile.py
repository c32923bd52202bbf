"""The sets by hostile authors: how many calls and answers are found, and how many harmless ones are not."""

from __future__ import annotations

from typing import Literal, NamedTuple

import pytest
from tests.secrets.answer_set import harmless_answers, secret_answers
from tests.secrets.hostile import Half, HostileCall, call_of, calls

from handraise.secrets import CallReading, SecretFinding, scan_answer


class Bars(NamedTuple):
    """The least share found, with doubts and without, and the most false alarms."""

    found: float
    sure: float
    alarms: float


BARS: dict[Half, Bars] = {
    "open": Bars(0.96, 0.90, 0.008),
    "held_back": Bars(0.98, 0.94, 0.01),
    "fresh": Bars(0.97, 0.93, 0.01),
    "final": Bars(0.97, 0.94, 0.01),
    "final2": Bars(0.97, 0.91, 0.01),
    "wide": Bars(0.93, 0.84, 0.01),
    "strangers": Bars(0.98, 0.94, 0.005),
    "strangers2": Bars(0.92, 0.85, 0.01),
    "strangers3": Bars(0.97, 0.86, 0.005),
    "strangers4": Bars(0.97, 0.91, 0.005),
    "strangers5": Bars(0.97, 0.93, 0.005),
    "strangers6": Bars(0.97, 0.94, 0.01),
    "strangers7": Bars(0.94, 0.86, 0.005),
    "strangers8": Bars(0.96, 0.92, 0.01),
    "strangers9": Bars(0.98, 0.94, 0.01),
    "strangers10": Bars(0.98, 0.96, 0.01),
    "probes": Bars(0.89, 0.77, 0.02),
    "probes2": Bars(0.81, 0.63, 0.01),
    "strangers6_held": Bars(0.96, 0.92, 0.01),
    "strangers8_held": Bars(0.90, 0.88, 0.02),
    "strangers9_held": Bars(0.95, 0.93, 0.02),
    "strangers10_held": Bars(0.94, 0.92, 0.01),
}
"""All but those held out were in view, or the weights are learned from them. None may get worse."""
FORMS_ONLY: tuple[Half, ...] = (
    "final2",
    "wide",
    "strangers",
    "strangers2",
    "strangers3",
    "strangers7",
)
FORMS = tuple(BARS)
ALARMS: dict[Half, float] = {"strangers9_held": 0.027}
"""The share of harmless answers that may raise an alarm, where it is not the usual one: two of 75."""
ANSWERS = tuple(half for half in FORMS if half not in FORMS_ONLY)


def findings(call: HostileCall) -> list[SecretFinding]:
    reading = CallReading()
    return [found for asked in call.questions for found in reading.judge(asked.message, asked.form)]


@pytest.mark.slow
@pytest.mark.shows("S3")
@pytest.mark.parametrize("half", FORMS)
def test_calls_that_ask_for_a_secret_are_found(half: Half) -> None:
    found = [findings(call) for call in calls("asking", half)]
    sure = [each for each in found if any(not finding.doubtful for finding in each)]
    assert sum(map(bool, found)) >= BARS[half].found * len(found)
    assert len(sure) >= BARS[half].sure * len(found)


@pytest.mark.slow
@pytest.mark.shows("S3")
@pytest.mark.parametrize("half", FORMS)
def test_harmless_calls_raise_no_alarm(half: Half) -> None:
    alarms = [bool(findings(call)) for call in calls("harmless", half)]
    assert sum(alarms) <= BARS[half].alarms * len(alarms)


POLITE = (
    "Thanks for planning the summer party with us. We would like to know a few things about the room, the food and the "
    "number of guests. "
)
WORDY = "Thanks for planning the party, we will look after the room, the food and the guests, and for that we ask: "
ORDINARY = (
    ' | city: City | date: Delivery date {"format": "date"} | notes: Notes for the driver | team: Team'
    ' | colour: Colour {"enum": ["red", "blue"]} | guests: Guests {"type": "integer", "minimum": 1, "maximum": 10}'
)


@pytest.mark.slow
@pytest.mark.shows("S3")
@pytest.mark.parametrize(("before", "after"), [(POLITE, ""), (WORDY, ""), ("", ORDINARY)])
@pytest.mark.parametrize("half", ["strangers8", "strangers9", "strangers10"])
def test_harmless_sentences_and_fields_around_it_hide_no_question(
    half: Half, before: str, after: str
) -> None:
    def alarmed(label: Literal["asking", "harmless"]) -> float:
        lines = [call.line for call in calls(label, half) if " >> " not in call.line]
        return sum(bool(findings(call_of(f"{before}{line}{after}"))) for line in lines) / len(lines)

    assert alarmed("asking") >= 0.85
    assert alarmed("harmless") <= 0.02


def test_the_sets_are_as_large_as_promised() -> None:
    for label in ("asking", "harmless"):
        assert sum(len(list(calls(label, half))) for half in ("open", "held_back")) >= 400


@pytest.mark.shows("S4")
@pytest.mark.parametrize("half", ANSWERS)
def test_answers_that_hold_a_secret_are_found(half: Half) -> None:
    answers = secret_answers(half)
    missed = [answer for answer in answers if not scan_answer({"value": answer.text})]
    assert len(answers) > 45
    assert len(missed) <= 0.08 * len(answers)


@pytest.mark.shows("S4")
@pytest.mark.parametrize("half", ANSWERS)
def test_harmless_answers_raise_no_alarm(half: Half) -> None:
    answers = harmless_answers(half)
    alarmed = [answer for answer in answers if scan_answer({"value": answer.text})]
    assert len(alarmed) <= ALARMS.get(half, 0.02) * len(answers)
