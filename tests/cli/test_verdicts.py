from __future__ import annotations

import json
from typing import Any

import pytest

from handraise.cli.verdicts import is_refused, judge_answer, judge_question
from handraise.revisions import Revision

B = Revision.NOVEMBER_2025


def form(message: object = "Hello", **properties: object) -> str:
    return json.dumps({"message": message, "requestedSchema": {"type": "object", "properties": properties}})


def rules(report: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(problem["field"], problem["rule"]) for problem in report["problems"]]


def test_every_field_that_is_wrong_is_named_beside_what_ended_the_reading() -> None:
    report = judge_question(form("x" * 2001, a={"type": "object"}, b={"type": "string", "format": "ipv4"}), B)
    assert rules(report) == [(None, "message"), ("a", "nested"), ("b", "format")]
    assert is_refused(report)
    report = judge_question(form(a={"type": "object"}, b={"type": "array"}), B)
    assert rules(report) == [("a", "nested"), ("b", "array")]


@pytest.mark.shows("S2")
def test_personal_data_is_a_warning_and_not_refused() -> None:
    report = judge_question(
        form("Your details", ssn={"type": "string", "title": "Social security number"}), B
    )
    assert report["verdict"] == "warn"
    assert not is_refused(report)


@pytest.mark.parametrize("text", ["null", "[]", '"x"', "{}", '{"requestedSchema": 1}', '{"content": {}}'])
def test_an_answer_without_a_form_is_not_ok(text: str) -> None:
    report = judge_answer(text, B)
    assert report["ok"] is False
    assert report["problems"]


def test_a_form_that_is_wrong_makes_its_answer_wrong() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "null"}}}
    report = judge_answer(json.dumps({"requestedSchema": schema, "content": {}}), B)
    assert rules(report) == [("a", "nested"), ("b", "type")]


def test_an_answer_without_content_is_not_ok() -> None:
    schema = {"type": "object", "properties": {}}
    assert rules(judge_answer(json.dumps({"requestedSchema": schema}), B)) == [(None, "content")]


@pytest.mark.shows("S4")
def test_a_secret_that_was_typed_into_an_answer_is_not_ok() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    typed = (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----"
    )
    report = judge_answer(json.dumps({"requestedSchema": schema, "content": {"note": typed}}), B)
    assert (report["ok"], report["problems"]) == (False, [])
    assert [(secret["field"], secret["tier"], secret["kind"]) for secret in report["secrets"]] == [
        ("note", 1, "private_key")
    ]
