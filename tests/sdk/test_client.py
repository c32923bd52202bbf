"""The client of either generation of the SDK, as the client kit sees it."""

from __future__ import annotations

import pytest
from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, InputRequiredResult

from handraise.sdk.client import questions_in

QUESTION = ElicitRequest(params=ElicitRequestFormParams(message="?", requested_schema={"type": "object"}))


@pytest.mark.parametrize(
    ("result", "many"),
    [
        (InputRequiredResult(input_requests={"a": QUESTION, "b": QUESTION}), 2),
        (InputRequiredResult(request_state="later"), 0),
        (CallToolResult(content=[]), None),
    ],
)
def test_the_questions_of_a_round_are_counted(result: object, many: int | None) -> None:
    assert questions_in(result) == many
