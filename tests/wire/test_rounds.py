from __future__ import annotations

from typing import Any

import pytest
from mcp_types import InputRequiredResult
from mcp_types import _v2026_07_28 as july

from handraise.errors import WireError
from handraise.forms import Limits
from handraise.questions import UrlQuestion
from handraise.revisions import Revision
from handraise.wire import (
    dump_input_required,
    dump_question,
    parse_input_responses,
)

LINK = UrlQuestion("Open it.", "https://example.org/")
REQUESTS: dict[str, Any] = {
    "link": {"method": "elicitation/create", "params": dump_question(LINK, Revision.JULY_2026)},
    "roots": {"method": "roots/list"},
}


@pytest.mark.shows("N6")
@pytest.mark.parametrize(
    ("requests", "state"), [(REQUESTS, "s"), (REQUESTS, None), ({}, "s"), (REQUESTS, "")]
)
def test_a_round_is_a_result_of_the_protocol(requests: dict[str, Any], state: str | None) -> None:
    result = dump_input_required(requests, state)
    july.InputRequiredResult.model_validate(result)
    assert InputRequiredResult.model_validate(result).request_state == state
    assert result.get("inputRequests", {}) == requests


def test_a_retry_without_answers_has_none() -> None:
    assert parse_input_responses(None) == {}
    assert parse_input_responses({"link": {"action": "accept"}}) == {"link": {"action": "accept"}}


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
