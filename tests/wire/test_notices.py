from __future__ import annotations

import pytest
from mcp_types import ElicitCompleteNotification

from handraise.errors import WireError
from handraise.wire import dump_completion, parse_completion


@pytest.mark.shows("L2")
def test_a_completion_notice_names_the_question() -> None:
    notice = dump_completion("id-1")
    assert ElicitCompleteNotification.model_validate(notice).params.elicitation_id == "id-1"
    assert parse_completion(notice["params"]) == "id-1"


@pytest.mark.parametrize(
    "params", [None, {}, [], {"elicitationId": None}, {"elicitationId": ""}, {"elicitationId": 1}]
)
def test_a_notice_without_an_id_is_refused(params: object) -> None:
    with pytest.raises(WireError):
        parse_completion(params)
