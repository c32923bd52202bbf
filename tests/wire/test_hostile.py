"""Whatever arrives is read or refused; no other exception comes out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import WireError
from handraise.forms import Form
from handraise.revisions import Revision
from handraise.wire import (
    parse_answer,
    parse_input_responses,
    parse_question,
    parse_url_required,
)

QUESTION = ["mode", "message", "url", "elicitationId", "requestedSchema", "type", "properties", "required"]
ROUND = ["inputRequests", "requestState", "resultType", "method", "params", "action", "content"]
FAULT = ["code", "data", "elicitations", "requiredCapabilities", "elicitation", "form"]
KEYS = st.sampled_from([*QUESTION, *ROUND, *FAULT])
WORDS = st.sampled_from(
    [
        "form",
        "url",
        "object",
        "string",
        "accept",
        "decline",
        "input_required",
        "elicitation/create",
        "roots/list",
    ]
)
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=15,
)
SHAPED = st.one_of(
    HOSTILE,
    st.fixed_dictionaries(
        {"resultType": st.just("input_required"), "inputRequests": st.dictionaries(KEYS, HOSTILE, max_size=3)}
    ),
    st.fixed_dictionaries(
        {"message": st.text(max_size=3), "mode": WORDS, "url": HOSTILE, "elicitationId": HOSTILE}
    ),
    st.fixed_dictionaries({"elicitation": HOSTILE, "roots": HOSTILE}),
    st.fixed_dictionaries({"action": WORDS, "content": HOSTILE}),
)
PARSERS: list[Callable[[object], object]] = [
    *(lambda raw, revision=revision: parse_question(raw, revision) for revision in Revision),
    lambda raw: parse_answer(raw, "form"),
    lambda raw: parse_answer(raw, "form", Form.by_hand()),
    lambda raw: parse_answer(raw, "url"),
    parse_input_responses,
    parse_url_required,
]


@pytest.mark.slow
@pytest.mark.shows("F8", "O3")
@given(SHAPED)
def test_any_message_is_read_or_refused(raw: object) -> None:
    for parse in PARSERS:
        with suppress(WireError):
            parse(raw)
