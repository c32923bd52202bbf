"""Whatever arrives: a form or a WireError, problems or none. Never another exception, never a hang."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handraise.errors import WireError
from handraise.forms import Form, Text, check_answer, check_form, dump_form, load_json, parse_form
from handraise.forms.rules import CHOICE, CHOICES, NUMBER, OPTION, TEXT
from handraise.revisions import Revision

pytestmark = pytest.mark.shows("F8")

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.text(st.characters(categories=["Cs", "Cc", "Cf", "Nd"]), max_size=6)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
KEYWORDS = st.sampled_from([*TEXT, *CHOICE, *CHOICES, *NUMBER, *OPTION, "anyOf", "$ref", "x-y"])
PIECES = st.sampled_from(
    [
        "string",
        "number",
        "integer",
        "boolean",
        "array",
        "object",
        "date",
        "email",
        "(a+)+$",
        "a{99999}",
        "(?=x)",
    ]
)
NEARLY = st.recursive(
    PIECES | SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYWORDS, inner, max_size=6)
        | st.fixed_dictionaries({"const": inner, "title": inner})
    ),
    max_leaves=12,
)
SCHEMAS = ANYTHING | st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.text(max_size=6), NEARLY, max_size=4)},
    optional={
        "required": st.lists(st.text(max_size=6) | SCALARS, max_size=3) | ANYTHING,
        "$schema": ANYTHING,
    },
)
REVISIONS = st.sampled_from(list(Revision))


@pytest.mark.slow
@given(SCHEMAS, ANYTHING, REVISIONS)
def test_any_schema_and_any_answer_are_read_or_refused(
    schema: object, answer: Any, revision: Revision
) -> None:
    if check_form(schema, revision):
        with pytest.raises(WireError):
            parse_form(schema, revision)
        return
    form = parse_form(schema, revision)
    assert len(form.fields) == len(form.rules)
    check_answer(form, answer)
    check_answer(form, {field.name: answer for field in form.fields})
    assert parse_form(dump_form(form, revision), revision) == form


@settings(deadline=None)
@given(ANYTHING)
def test_any_answer_to_an_authors_form_is_checked(answer: object) -> None:
    form = Form.from_fields(name=str, day=Text("day", format="date"), many=["a", "b"], count=(int, 0))
    check_answer(form, answer)
    check_answer(form, {"name": answer, "day": answer, "many": answer, "count": answer})


@pytest.mark.slow
@given(st.dictionaries(KEYWORDS | st.text(max_size=3), NEARLY, max_size=3), REVISIONS)
def test_a_form_that_an_author_could_send_comes_back_equal(
    properties: dict[str, object], revision: Revision
) -> None:
    schema = {"type": "object", "properties": properties}
    with suppress(WireError):
        fields = parse_form(schema, revision).fields
        assert Form.by_hand(*fields).fields == fields


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"object","properties":{'
        + ",".join(f'"a{n}":{{"type":"string"}}' for n in range(3000))
        + "}}",
        '{"type":"object","properties":{"a":' + '{"items":' * 5000 + "1" + "}" * 5000 + "}}",
        '{"type":"object","properties":{"a":{"type":"string","enum":[' + ",".join(["1e308"] * 9000) + "]}}}",
        '{"type":"object","properties":{"a":{"type":"number","minimum":1e999}}}',
        '{"type":"object","properties":{"a":{},"a":{}}}',
    ],
)
def test_a_schema_that_is_made_to_hurt_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        parse_form(load_json(text), Revision.NOVEMBER_2025)
