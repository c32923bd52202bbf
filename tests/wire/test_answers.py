from __future__ import annotations

import pytest
from mcp_types import ElicitResult

from handraise.errors import WireError
from handraise.forms import Form, Text
from handraise.wire import WireAnswer, dump_answer, parse_answer

CONTENT = {"x": "secret", "y": 1}


def rule_of(raw: object) -> str:
    with pytest.raises(WireError) as refused:
        parse_answer(raw, "form")
    return refused.value.rule


@pytest.mark.shows("O1")
def test_accept_decline_and_cancel_stay_three_different_things() -> None:
    read = [
        parse_answer({"action": action, "content": CONTENT}, "form")
        for action in ("accept", "decline", "cancel")
    ]
    assert read == [WireAnswer("accept", CONTENT), WireAnswer("decline"), WireAnswer("cancel")]
    for answer in read:
        assert ElicitResult.model_validate(dump_answer(answer)).action == answer.action
        assert parse_answer(dump_answer(answer), "form") == answer


@pytest.mark.shows("L1", "O1")
def test_content_on_a_link_is_dropped() -> None:
    assert parse_answer({"action": "accept", "content": {"token": "x"}}, "url") == WireAnswer("accept")
    assert dump_answer(WireAnswer("accept")) == {"action": "accept"}


@pytest.mark.shows("O3")
@pytest.mark.parametrize("action", ["ACCEPT", "ok", "reject", "", None, 1, True, ["accept"], {"accept": 1}])
def test_an_unknown_action_is_refused(action: object) -> None:
    assert rule_of({"action": action, "content": {}}) == "action"


@pytest.mark.shows("O2")
@pytest.mark.parametrize("raw", [None, "accept", [], {}, {"content": {}}, 1])
def test_garbage_is_no_answer(raw: object) -> None:
    assert rule_of(raw) == "action"


@pytest.mark.shows("F6")
@pytest.mark.parametrize("raw", [{"action": "accept"}, {"action": "accept", "content": None}])
def test_an_accepted_form_without_content_is_refused_unless_nothing_is_required(
    raw: dict[str, object],
) -> None:
    assert rule_of(raw) == "content"
    with pytest.raises(WireError):
        parse_answer(raw, "form", Form.by_hand(Text("x")))
    optional = Form.by_hand(Text("x", required=False))
    assert parse_answer(raw, "form", optional) == WireAnswer("accept", {})
    assert parse_answer(raw, "form", Form.by_hand()) == WireAnswer("accept", {})


@pytest.mark.parametrize("content", [[], "x", 1, True])
def test_content_that_is_no_object_is_refused(content: object) -> None:
    assert rule_of({"action": "accept", "content": content}) == "content"
