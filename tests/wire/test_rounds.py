from __future__ import annotations

from typing import Any

import pytest
from mcp_types import InputRequiredResult
from mcp_types import _v2026_07_28 as july

from handraise.errors import WireError
from handraise.forms import Limits
from handraise.questions import UrlQuestion
from handraise.wire import (
    InputRequired,
    dump_input_request,
    dump_input_required,
    dump_input_responses,
    parse_input_required,
    parse_input_responses,
)

REQUESTS: dict[str, Any] = {
    "link": dump_input_request(UrlQuestion("Open it.", "https://example.org/")),
    "roots": {"method": "roots/list"},
}


@pytest.mark.shows("N6")
@pytest.mark.parametrize(
    ("requests", "state"), [(REQUESTS, "s"), (REQUESTS, None), ({}, "s"), (REQUESTS, "")]
)
def test_a_round_comes_back_as_it_was(requests: dict[str, Any], state: str | None) -> None:
    result = dump_input_required(requests, state)
    july.InputRequiredResult.model_validate(result)
    InputRequiredResult.model_validate(result)
    assert parse_input_required(result) == InputRequired(requests, state)


@pytest.mark.parametrize("result", [{"resultType": "complete"}, {}, {"inputRequests": {}}, None, []])
def test_an_ordinary_result_asks_for_nothing(result: object) -> None:
    assert parse_input_required(result) is None


@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"requestState": 1},
        {"inputRequests": []},
        {"inputRequests": {"a": None}},
        {"inputRequests": {"a": {"method": "tools/call"}}},
        {"inputRequests": {"a": {"method": ["roots/list"]}}},
    ],
)
def test_a_broken_round_is_refused(rest: dict[str, object]) -> None:
    with pytest.raises(WireError):
        parse_input_required({"resultType": "input_required", **rest})


def test_a_retry_carries_answers_and_the_untouched_state() -> None:
    retry = dump_input_responses({"link": {"action": "accept"}}, "opaque")
    assert retry == {"inputResponses": {"link": {"action": "accept"}}, "requestState": "opaque"}
    assert "requestState" not in dump_input_responses({}, None)
    assert parse_input_responses(retry["inputResponses"]) == {"link": {"action": "accept"}}
    assert parse_input_responses(None) == {}


@pytest.mark.shows("F8")
@pytest.mark.parametrize(
    "raw",
    [
        [],
        "x",
        {str(n): {} for n in range(65)},
        {"x": "y" * 1024 * 1024},
        {"x": float("nan")},
        {"x": "\ud800"},
    ],
)
def test_answers_are_bounded(raw: object) -> None:
    with pytest.raises(WireError):
        parse_input_responses(raw)


def test_the_bounds_on_answers_can_be_changed() -> None:
    with pytest.raises(WireError):
        parse_input_responses({"a": 1, "b": 2}, Limits(answers=1))
