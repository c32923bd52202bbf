from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field, create_model

from handraise.forms import Form, Problem, check_answer, dump_form, parse_form
from handraise.revisions import Revision

OPTIONS = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}, {"const": "c", "title": "C"}]


def form_of(required: list[str] | None = None, **properties: object) -> Form[Any]:
    schema = {"type": "object", "properties": properties, "required": required or []}
    return parse_form(schema, Revision.NOVEMBER_2025)


def rules_for(value: object, schema: dict[str, Any]) -> list[str]:
    return [problem.rule for problem in check_answer(form_of(x=schema), {"x": value})]


TEXT = {"type": "string", "minLength": 2, "maxLength": 3}
NUMBER = {"type": "number", "minimum": 0, "maximum": 1.5}
INTEGER = {"type": "integer", "minimum": -1, "maximum": 2**60}
FLAG = {"type": "boolean"}
CHOICE = {"type": "string", "oneOf": OPTIONS}
CHOICES = {"type": "array", "items": {"anyOf": OPTIONS}, "minItems": 1, "maxItems": 2}


@pytest.mark.shows("F6")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TEXT, "ab"),
        (TEXT, "abc"),
        (TEXT, "😀😀😀"),
        (TEXT, "e\u0301a"),
        ({"type": "string"}, ""),
        ({"type": "string"}, "x" * 100_000),
        ({"type": "string", "format": "email"}, "ada@example.org"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc"),
        (NUMBER, 0),
        (NUMBER, 1.5),
        (NUMBER, -0.0),
        ({"type": "number"}, 10**400),
        ({"type": "number"}, 5e-324),
        (INTEGER, -1),
        (INTEGER, 2**53 + 1),
        (INTEGER, 2.0),
        ({"type": "integer"}, 10**30),
        ({"type": "integer"}, 1e30),
        (FLAG, True),
        (FLAG, False),
        (CHOICE, "a"),
        (CHOICES, ["a"]),
        (CHOICES, ["c", "a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["x"]}}, []),
    ],
)
def test_a_good_answer_has_no_problem(schema: dict[str, Any], value: object) -> None:
    assert rules_for(value, schema) == []


@pytest.mark.shows("F2", "F3", "F6")
@pytest.mark.parametrize(
    ("schema", "value", "rules"),
    [
        (TEXT, "a", ["min_length"]),
        (TEXT, "😀", ["min_length"]),
        (TEXT, "abcd", ["max_length"]),
        (TEXT, 12, ["type"]),
        (TEXT, None, ["type"]),
        (TEXT, ["ab"], ["type"]),
        (TEXT, "a\ud800", ["unicode"]),
        ({"type": "string", "format": "email"}, "ada", ["format"]),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc\n", ["pattern"]),
        (
            {"type": "string", "minLength": 3, "format": "date", "pattern": "^b"},
            "a",
            ["min_length", "format", "pattern"],
        ),
        (NUMBER, -0.1, ["minimum"]),
        (NUMBER, 2, ["maximum"]),
        (NUMBER, "1", ["type"]),
        (NUMBER, True, ["type"]),
        (NUMBER, None, ["type"]),
        (NUMBER, float("nan"), ["type"]),
        (NUMBER, float("inf"), ["type"]),
        ({"type": "number"}, float("-inf"), ["type"]),
        (INTEGER, 1.5, ["type"]),
        (INTEGER, "1", ["type"]),
        (INTEGER, False, ["type"]),
        (INTEGER, float("inf"), ["type"]),
        (INTEGER, -2, ["minimum"]),
        (INTEGER, 2**60 + 1, ["maximum"]),
        (FLAG, 0, ["type"]),
        (FLAG, "true", ["type"]),
        (FLAG, None, ["type"]),
        (CHOICE, "A", ["option"]),
        (CHOICE, "d", ["option"]),
        (CHOICE, 1, ["type"]),
        (CHOICE, ["a"], ["type"]),
        (CHOICE, {"a": 1}, ["type"]),
        (CHOICES, "a", ["type"]),
        (CHOICES, [1], ["type"]),
        (CHOICES, [["a"]], ["type"]),
        (CHOICES, [], ["min_items"]),
        (CHOICES, ["d"], ["option"]),
        (CHOICES, ["a", "a"], ["unique_items"]),
        ({"type": "array", "items": {"anyOf": OPTIONS}, "maxItems": 1}, ["a", "b"], ["max_items"]),
        (CHOICES, ["a", "a", "d"], ["option", "max_items", "unique_items"]),
    ],
)
def test_every_broken_rule_is_named(schema: dict[str, Any], value: object, rules: list[str]) -> None:
    assert rules_for(value, schema) == rules


@pytest.mark.shows("F6")
@pytest.mark.parametrize(
    ("constraints", "value", "message"),
    [
        ({"gt": 0}, 0, "Enter more than 0."),
        ({"gt": 0}, -3.5, "Enter more than 0."),
        ({"lt": 0}, 0.0, "Enter less than 0."),
        ({"gt": 2.5}, 2.5, "Enter more than 2.5."),
        ({"lt": 10_000}, 10_000, "Enter less than 10000."),
        ({"ge": 0.1}, 0, "Enter 0.1 or more."),
        ({"le": 1 / 3}, 1, "Enter 0.3333333333333333 or less."),
    ],
)
def test_an_exclusive_bound_is_told_in_the_number_that_its_author_wrote(
    constraints: dict[str, float], value: float, message: str
) -> None:
    made = Form.of(create_model("Order", price=(float, Field(**constraints))))  # type: ignore[call-overload]
    for form in (made, parse_form(dump_form(made, Revision.NOVEMBER_2025), Revision.NOVEMBER_2025)):
        assert [problem.message for problem in check_answer(form, {"price": value})] == [message]


@pytest.mark.shows("F6")
def test_all_problems_come_at_once_in_the_order_of_the_form() -> None:
    form = form_of(["a", "b"], b={"type": "integer"}, a={"type": "string"}, c=FLAG)
    assert check_answer(form, {"c": "yes", "x": None, "b": "1"}) == (
        Problem("b", "type", "Enter a whole number.", "string"),
        Problem("a", "required", "This field is required.", "absent"),
        Problem("c", "type", "Answer yes or no.", "string"),
        Problem("x", "unknown_field", "The form has no such field.", "null"),
    )


@pytest.mark.shows("F6")
@pytest.mark.parametrize(
    ("content", "kind"), [(None, "null"), ([], "array"), ("a", "string"), (1, "integer")]
)
def test_content_that_is_no_object_is_one_problem(content: object, kind: str) -> None:
    (problem,) = check_answer(form_of(), content)
    assert (problem.field, problem.rule, problem.kind) == (None, "content", kind)


@pytest.mark.shows("F6")
def test_an_accept_without_required_content_is_refused() -> None:
    assert [problem.rule for problem in check_answer(form_of(["x"], x=TEXT), {})] == ["required"]
    assert check_answer(form_of(x=TEXT), {}) == ()


@pytest.mark.shows("F6", "S5")
def test_a_problem_never_carries_the_value() -> None:
    form = form_of(a=TEXT, b=INTEGER, c=CHOICE, d=CHOICES, e={"type": "string", "format": "uri"})
    content = dict.fromkeys("abcdef", "hunter2-hunter2")
    assert "hunter2" not in repr(check_answer(form, content))


@pytest.mark.shows("F6")
def test_a_field_that_was_not_asked_for_spoils_a_good_answer() -> None:
    problems = check_answer(form_of(a=TEXT), {"a": "ok", "b": "more"})
    assert [(problem.field, problem.rule) for problem in problems] == [("b", "unknown_field")]


@pytest.mark.shows("F9")
def test_an_empty_form_takes_an_empty_answer_only() -> None:
    assert check_answer(form_of(), {}) == ()
    assert [problem.rule for problem in check_answer(form_of(), {"x": 1})] == ["unknown_field"]
