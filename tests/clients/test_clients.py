"""The stand-in for a model, and the agreement of pins, drivers and recorded runs.

Real clients run in `make clients`.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from tests.clients.drivers import DRIVERS
from tests.clients.install import load_pins
from tests.clients.scenarios import AT_DESK, FAILED, IN_CLIENT, SCENARIOS, TIMER, TOLD, judge
from tests.clients.session import Seen
from tests.clients.stand_in import Made, Step, follow, stand_in

from handraise.gateway.clients.table import RUNS

WAITS = "call the tool `handraise_resume` with the ticket '-abcdefgh12' to get the result"
CONFIRM = Step("ask_confirm", "accept")
LINK = Step("ask_link", "accept")


def test_there_is_a_driver_for_every_pinned_client() -> None:
    assert set(load_pins()) - {"node"} == set(DRIVERS)


def test_recorded_runs_are_of_pinned_clients_and_have_known_outcomes() -> None:
    names = {each.name for each in (*SCENARIOS, TIMER)}
    for name, run in RUNS.items():
        pin = load_pins()[name]
        assert (run["title"], run["version"], run["note"]) == (pin.title, pin.version, pin.note)
        for outcomes in run["runs"].values():
            assert set(outcomes) <= names
            assert set(outcomes.values()) <= {IN_CLIENT, AT_DESK, TOLD, FAILED}


def test_the_model_takes_up_a_call_that_waits_with_its_ticket() -> None:
    made, step, call = follow([CONFIRM, LINK], [WAITS], can_resume=True)
    assert [each.tool for each in made] == ["ask_confirm"]
    assert (step, call) == (CONFIRM, ("handraise_resume", {"ticket": "-abcdefgh12"}))
    assert follow([CONFIRM, LINK], [WAITS], can_resume=False)[2] == ("ask_confirm", {"topic": "accept"})
    assert follow([CONFIRM, LINK], [WAITS, "done"], can_resume=True)[2] == ("ask_link", {"topic": "accept"})
    assert follow([CONFIRM, LINK], ["done", "done"], can_resume=True)[1:] == (None, None)


REQUESTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "chat completions": (
        "/v1/chat/completions",
        {"messages": [], "tools": [{"function": {"name": "asker_ask_confirm"}}]},
        ["choices", "0", "message", "tool_calls", "0", "function", "name"],
    ),
    "responses": (
        "/v1/responses",
        {"input": [], "tools": [{"type": "function", "name": "asker_ask_confirm"}]},
        ["output", "0", "name"],
    ),
    "Anthropic": (
        "/v1/messages",
        {"messages": [], "tools": [{"name": "asker_ask_confirm"}]},
        ["content", "0", "name"],
    ),
    "Gemini": (
        "/v1beta/models/any:generateContent",
        {"contents": [], "tools": [{"functionDeclarations": [{"name": "asker_ask_confirm"}]}]},
        ["candidates", "0", "content", "parts", "0", "functionCall", "name"],
    ),
}


@pytest.mark.parametrize("interface", REQUESTS)
def test_the_model_calls_the_tool_by_the_clients_own_name(interface: str) -> None:
    path, body, where = REQUESTS[interface]
    with stand_in([CONFIRM]) as model:
        request = urllib.request.Request(f"{model.url}{path}", json.dumps(body).encode())  # noqa: S310 - our own server
        with urllib.request.urlopen(request) as reply:  # noqa: S310 - our own server
            said = json.load(reply)
    for part in where:
        said = said[int(part)] if part.isdigit() else said[part]
    assert said == "asker_ask_confirm"


def seen(told: str, effects: list[str], decided: list[tuple[str, str]]) -> Seen:
    return Seen([Made(CONFIRM, CONFIRM.tool, CONFIRM.arguments, told)], decided, effects, [], [], "")


@pytest.mark.parametrize(
    ("told", "effects", "desk", "dialog", "outcome"),
    [
        ("Happened with confirm accept.", ["confirm accept"], True, False, AT_DESK),
        ("Happened with confirm accept.", ["confirm accept"], False, True, IN_CLIENT),
        ("Happened with confirm accept.", ["confirm accept"], False, False, FAILED),
        ("Happened with confirm accept.", ["confirm accept"] * 2, True, False, FAILED),
        ("This needs an answer, and their client cannot ask them.", [], False, False, TOLD),
        ("Nothing happened with confirm accept: cancel.", [], False, False, FAILED),
    ],
)
def test_an_outcome_counts_only_with_its_effect_and_a_person(
    told: str, effects: list[str], desk: bool, dialog: bool, outcome: str
) -> None:
    decided = [("Delete the folder “accept”?", "accept")] if desk else []
    assert judge(CONFIRM, seen(told, effects, decided), dialog=dialog).startswith(outcome)
