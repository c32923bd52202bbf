"""Random flat schemas and answers, judged by us and by the reference implementation of JSON Schema.

We refuse what `jsonschema` accepts only by a rule of `STRICTER`, and accept what it refuses only where
RFC 3339 does and Python's `datetime` does not.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from handraise.forms import check_answer, parse_form
from handraise.revisions import Revision

pytestmark = pytest.mark.shows("F6")

STRICTER: Final = {
    "unknown_field": "JSON Schema lets everything through that it has no property for; we send what was asked",
    "unique_items": "a multiple choice is a set; the protocol has no uniqueItems to say so",
    "unicode": "half a surrogate pair is no character, and nothing could write it as UTF-8 again",
    "format": "jsonschema takes any text with an @ for an e-mail address",
    "pattern": "Python's $ also matches before a newline at the end; that of JSON Schema does not",
}

NAMES = st.sampled_from(["a", "b", "c", "name", "Straße", "x y"])
VALUES = st.sampled_from(["a", "b", "s", "m", "", "red", "Größe"])
PATTERNS = st.sampled_from(["^a", "b$", "^[a-z]+$", "[0-9]{2,3}", "^(foo|bar)?$", "x*", "^.{1,4}$"])
FORMATTED = st.sampled_from(
    [
        "ada@example.org",
        "ada",
        "@",
        "a@b",
        "2026-07-28",
        "2026-02-30",
        "2026-7-28",
        "2026-07-28T10:00:00Z",
        "2026-07-28T10:00:00",
        "2026-07-28t10:00:00.5+02:00",
        "2026-07-28T25:00:00Z",
        "https://example.org/a?b#c",
        "//example.org",
        "urn:x",
        "http://exa mple.org",
        "mailto:a@b",
    ]
)
TEXTS = FORMATTED | VALUES | st.text(max_size=8) | st.from_regex(r"[a-z0-9\n]{0,6}", fullmatch=True)
NUMBERS = st.integers(-5, 30) | st.sampled_from([0.5, 1.0, 2.5, 1e30, -0.0, 2**53 + 1, 10**25])


def flat(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    annotations = {"title": st.text(max_size=5), "description": st.text(max_size=5)}
    return st.fixed_dictionaries({}, optional={**annotations, **keywords})


def typed(kind: str, **keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return flat(**keywords).map(lambda schema: {"type": kind, **schema})


LISTED = st.lists(VALUES, min_size=1, unique=True)
TITLED = LISTED.map(lambda values: [{"const": value, "title": value.upper()} for value in values])
SMALL = st.integers(0, 6)
FORMATS = st.sampled_from(["email", "uri", "date", "date-time"])

PROPERTIES = st.one_of(
    typed("string", minLength=SMALL, maxLength=SMALL, pattern=PATTERNS),
    typed("string", format=FORMATS),
    typed("number", minimum=NUMBERS, maximum=NUMBERS),
    typed("integer", minimum=NUMBERS, maximum=NUMBERS),
    typed("boolean"),
    st.tuples(typed("string"), LISTED).map(lambda pair: {**pair[0], "enum": pair[1]}),
    st.tuples(typed("string"), TITLED).map(lambda pair: {**pair[0], "oneOf": pair[1]}),
    st.tuples(typed("array", minItems=SMALL, maxItems=SMALL), TITLED).map(
        lambda pair: {**pair[0], "items": {"anyOf": pair[1]}}
    ),
    st.tuples(typed("array"), LISTED).map(
        lambda pair: {**pair[0], "items": {"type": "string", "enum": pair[1]}}
    ),
)
ANSWERS = st.one_of(
    TEXTS, NUMBERS, st.booleans(), st.none(), st.lists(VALUES, max_size=4), st.lists(NUMBERS, max_size=2)
)


def possible(schema: dict[str, Any]) -> bool:
    """Bounds that leave no answer are refused when the form is made, so there is nothing to compare."""
    options = schema.get("items", {}).get("anyOf", range(99))
    return bool(
        schema.get("minLength", 0) <= schema.get("maxLength", 99)
        and schema.get("minimum", -1e99) <= schema.get("maximum", 1e99)
        and schema.get("minItems", 0) <= min(schema.get("maxItems", 99), len(options))
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    properties = draw(st.dictionaries(NAMES, PROPERTIES.filter(possible), max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    schema = {"type": "object", "properties": properties, "required": required}
    answer = {name: draw(likely(properties[name])) for name in properties if draw(st.integers(0, 3))}
    if not draw(st.integers(0, 5)):
        answer["unknown"] = draw(ANSWERS)
    return schema, answer


def likely(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Mostly of the right kind, so that the finer rules get their turn."""
    right: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXTS,
        "number": NUMBERS,
        "integer": NUMBERS,
        "boolean": st.booleans(),
        "array": st.lists(VALUES, max_size=3),
    }
    return st.one_of(right[schema["type"]], right[schema["type"]], ANSWERS)


@pytest.mark.slow
@given(cases())
def test_we_agree_with_jsonschema_but_for_the_rules_that_are_stricter(
    case: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, answer = case
    form = parse_form(schema, Revision.NOVEMBER_2025)
    ours = {problem.rule for problem in check_answer(form, answer)}
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    theirs = validator.is_valid(answer)
    if not ours:
        assert theirs
    elif ours - STRICTER.keys():
        assert not theirs


@pytest.mark.parametrize(
    ("schema", "answer", "rule"),
    [
        ({}, {"x": 1}, "unknown_field"),
        (
            {"x": {"type": "array", "items": {"type": "string", "enum": ["a"]}}},
            {"x": ["a", "a"]},
            "unique_items",
        ),
        ({"x": {"type": "string"}}, {"x": "\ud800"}, "unicode"),
        ({"x": {"type": "string", "format": "email"}}, {"x": "a b@"}, "format"),
        ({"x": {"type": "string", "pattern": "^a$"}}, {"x": "a\n"}, "pattern"),
    ],
)
def test_each_stricter_rule_is_one(schema: dict[str, Any], answer: dict[str, Any], rule: str) -> None:
    whole = {"type": "object", "properties": schema}
    (problem,) = check_answer(parse_form(whole, Revision.NOVEMBER_2025), answer)
    assert problem.rule == rule
    assert rule in STRICTER
    assert Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(answer)


@pytest.mark.parametrize(
    ("format_", "text", "reason"),
    [
        ("date", "0000-01-01", "RFC 3339 counts from the year 0"),
        ("date-time", "1990-12-31T23:59:60Z", "a leap second, from RFC 3339's own examples"),
    ],
)
def test_we_accept_what_the_rfc_has_and_datetime_has_not(format_: str, text: str, reason: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "format": format_}}}
    assert check_answer(parse_form(schema, Revision.NOVEMBER_2025), {"x": text}) == (), reason
    assert not Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(
        {"x": text}
    )
