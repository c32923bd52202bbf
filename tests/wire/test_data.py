"""Every message of the collection, on each revision it names: read into values, written back the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handraise.forms import Choice, Choices, Flag, Text
from handraise.questions import FormQuestion, UrlQuestion
from handraise.revisions import Revision
from handraise.wire import (
    MISSING_CAPABILITY,
    URL_REQUIRED,
    WireAnswer,
    dump_answer,
    dump_input_required,
    dump_missing_capability,
    dump_question,
    dump_url_required,
    parse_answer,
    parse_input_responses,
    parse_question,
    parse_url_required,
)

MESSAGES = json.loads((Path(__file__).parent / "data" / "wire.json").read_text())["messages"]
BY_NAME = {message["name"]: message["message"] for message in MESSAGES}
NOT_ABOUT_ASKING = {"roots", "roots changed"}
"""Read and written by the part that keeps files inside their roots."""


def each(kind: str) -> pytest.MarkDecorator:
    found = [
        pytest.param(message["message"], Revision(revision), id=f"{message['name']} on {revision}")
        for message in MESSAGES
        for revision in message["revisions"]
        if message["kind"] == kind and message["name"] not in NOT_ABOUT_ASKING
    ]
    return pytest.mark.parametrize(("message", "revision"), found)


@pytest.mark.shows("F2", "F3", "L1")
@each("request")
def test_every_request_comes_back_as_it_was(message: dict[str, Any], revision: Revision) -> None:
    params = message["params"]
    if message["method"] == "elicitation/create":
        assert dump_question(parse_question(params, revision), revision) == params
    else:
        responses = parse_input_responses(params["inputResponses"])
        answers = {key: dump_answer(parse_answer(raw, "form")) for key, raw in responses.items()}
        assert answers == params["inputResponses"]


@pytest.mark.shows("O1")
@each("result")
def test_every_result_comes_back_as_it_was(message: dict[str, Any], revision: Revision) -> None:
    result = message["result"]
    if result.get("resultType") != "input_required":
        assert dump_answer(parse_answer(result, "form" if "content" in result else "url")) == result
        return
    requests = result.get("inputRequests", {})
    for request in requests.values():
        if request["method"] == "elicitation/create":
            params = request["params"]
            assert dump_question(parse_question(params, revision), revision) == params
    assert dump_input_required(requests, result.get("requestState")) == result


@pytest.mark.shows("N3", "N5")
@each("error")
def test_every_error_comes_back_as_it_was(message: dict[str, Any], revision: Revision) -> None:
    fault = message["error"]
    if fault["code"] == URL_REQUIRED:
        assert dump_url_required(parse_url_required(fault["data"])) == fault["data"]
    if fault["code"] == MISSING_CAPABILITY:
        assert dump_missing_capability(["form"]) == fault["data"]


def test_the_messages_mean_what_they_should() -> None:
    params = BY_NAME["deploy target"]["params"]
    question = parse_question(params, Revision.NOVEMBER_2025)
    assert isinstance(question, FormQuestion)
    assert (question.mode, question.message) == ("form", "Where should this go?")
    assert question.form.fields == (
        Choice("environment", ["staging", "production"], description="Where to deploy"),
        Flag("confirm", description="Go ahead"),
    )
    params = BY_NAME["contact with titled choice"]["params"]
    contact = parse_question(params, Revision.NOVEMBER_2025)
    assert isinstance(contact, FormQuestion)
    assert contact.form.fields == (
        Text("name", title="Your name"),
        Text("email", title="E-mail", format="email"),
        Choice("role", {"dev": "Developer", "pm": "Product manager"}, title="Role"),
    )
    params = BY_NAME["every kind of field"]["params"]
    every = parse_question(params, Revision.NOVEMBER_2025)
    assert isinstance(every, FormQuestion)
    assert every.form.fields[-1] == Choices("titled", {"#f00": "Red", "#0f0": "Green"}, required=False)
    assert parse_question(BY_NAME["URL"]["params"], Revision.NOVEMBER_2025) == UrlQuestion(
        "Allow access to your account.", "https://mcp.example.com/connect?e=Zk3q", "elicit-7f3a"
    )
    assert parse_answer(BY_NAME["accept form"]["result"], "form") == WireAnswer(
        "accept", {"environment": "production", "confirm": True}
    )
