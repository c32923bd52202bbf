from __future__ import annotations

from typing import Any

import pytest
from mcp_types import ElicitationRequiredErrorData
from mcp_types import _v2025_11_25 as november
from mcp_types import _v2026_07_28 as july

from handraise.errors import NotSupported, UsageError, WireError
from handraise.forms import Choice, Choices, Flag, Form, Integer, Limits, Number, Text
from handraise.questions import Buttons, FormQuestion, QuestionHints, UrlQuestion
from handraise.revisions import Revision
from handraise.wire import (
    check_size,
    dump_question,
    dump_url_required,
    parse_question,
    parse_url_required,
)

A, B, C = Revision.JUNE_2025, Revision.NOVEMBER_2025, Revision.JULY_2026
MODELS: dict[Revision, Any] = {B: november, C: july}
LINK = UrlQuestion("Allow access.", "https://example.org/x", "id-1")
EVERYTHING = Form.by_hand(
    Text("text", title="Text", description="Any", min_length=1, max_length=9, pattern="^a", default="a"),
    Text("mail", format="email", required=False),
    Number("part", minimum=0, maximum=1.5, default=0.0),
    Integer("whole", minimum=0, default=0),
    Flag("flag", default=False),
    Choice("plain", ["a", "b"], default="a"),
    Choice("titled", {"a": "A", "b": "B"}),
    Choice("old", {"a": "A"}, enum_names=True),
    Choices("many", ["a", "b"], min_items=1, default=["a"]),
    Choices("titled_many", {"a": "A"}, max_items=1),
)


def rule_of(params: object, revision: Revision = B, limits: Limits | None = None) -> str:
    with pytest.raises(WireError) as refused:
        parse_question(params, revision, limits or Limits())
    return refused.value.rule


@pytest.mark.shows("F2", "F3", "N6")
@pytest.mark.parametrize("revision", [B, C])
def test_the_sdks_own_models_accept_every_kind_of_field(revision: Revision) -> None:
    params = dump_question(FormQuestion("All of it.", EVERYTHING), revision)
    model = MODELS[revision].ElicitRequestFormParams.model_validate(params)
    assert model.message == "All of it."
    for schema in params["requestedSchema"]["properties"].values():
        read = [
            kind
            for kind in MODELS[revision].PrimitiveSchemaDefinition.__args__
            if schema.keys() - {"pattern"} <= set(keys_of(kind)) and valid(kind, schema)
        ]
        assert read, schema


def keys_of(model: Any) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def valid(model: Any, value: object) -> bool:
    try:
        model.model_validate(value)
    except ValueError:
        return False
    return True


@pytest.mark.shows("N6")
def test_the_mode_is_named_where_the_revision_has_one() -> None:
    question = FormQuestion("Sure?", Form.by_hand())
    assert "mode" not in dump_question(question, A)
    assert dump_question(question, B)["mode"] == dump_question(question, C)["mode"] == "form"


@pytest.mark.shows("L1", "N6")
def test_a_link_has_an_id_on_every_revision_and_needs_it_on_one() -> None:
    params = {"mode": "url", "message": "Allow access.", "url": "https://example.org/x"}
    assert dump_question(LINK, B) == dump_question(LINK, C) == {**params, "elicitationId": "id-1"}
    assert dump_question(UrlQuestion("Allow access.", "https://example.org/x"), C) == params
    november.ElicitRequestURLParams.model_validate(dump_question(LINK, B))
    july.ElicitRequestURLParams.model_validate(dump_question(LINK, C))
    with pytest.raises(NotSupported) as refused:
        dump_question(LINK, A)
    assert refused.value.mode == "url"
    with pytest.raises(UsageError, match="elicitation_id"):
        dump_question(UrlQuestion("Allow access.", "https://example.org/x"), B)


@pytest.mark.shows("N3")
@pytest.mark.parametrize("revision", Revision)
def test_without_a_mode_it_is_a_form_even_with_a_url(revision: Revision) -> None:
    params = {
        "message": "Hello",
        "url": "https://example.org/",
        "requestedSchema": {"type": "object", "properties": {}},
    }
    question = parse_question(params, revision)
    assert isinstance(question, FormQuestion)
    assert "url" not in dump_question(question, revision)
    assert rule_of({"message": "Hello", "url": "https://example.org/"}, revision) == "schema"


@pytest.mark.shows("N3", "N6")
def test_an_unknown_mode_and_a_link_on_the_first_revision_are_refused() -> None:
    form = {"message": "x", "requestedSchema": {"type": "object", "properties": {}}}
    for mode in ("voice", "FORM", "", None, 1, ["form"]):
        assert rule_of({**form, "mode": mode}) == "mode"
    assert rule_of({"mode": "url", "message": "x", "url": "https://example.org/"}, A) == "mode"


@pytest.mark.parametrize(
    ("rule", "params"),
    [
        ("params", None),
        ("params", []),
        ("message", {"requestedSchema": {}}),
        ("message", {"message": 1, "requestedSchema": {}}),
        ("schema", {"message": "x"}),
        ("url", {"mode": "url", "message": "x", "elicitationId": "1"}),
        ("url", {"mode": "url", "message": "x", "elicitationId": "1", "url": 1}),
        ("url", {"mode": "url", "message": "x", "elicitationId": "1", "url": ""}),
        ("elicitation_id", {"mode": "url", "message": "x", "url": "https://example.org/"}),
        (
            "elicitation_id",
            {"mode": "url", "message": "x", "url": "https://example.org/", "elicitationId": 7},
        ),
        ("unicode", {"message": "\ud800", "requestedSchema": {"type": "object", "properties": {}}}),
    ],
)
def test_params_that_are_no_question_are_refused_by_rule(rule: str, params: object) -> None:
    assert rule_of(params) == rule


@pytest.mark.shows("F8")
def test_a_question_is_bounded() -> None:
    schema = {"type": "object", "properties": {}}
    assert parse_question({"message": "ä" * 32_768, "requestedSchema": schema}, B).message
    assert rule_of({"message": "ä" * 32_769, "requestedSchema": schema}) == "message"
    assert rule_of({"message": "x", "requestedSchema": schema, "_meta": "x" * 1_100_000}) == "bytes"
    deep: Any = {}
    for _ in range(9):
        deep = {"x": deep}
    assert rule_of({"message": "x", "requestedSchema": {**schema, "x": deep}}) == "depth"
    assert parse_question(
        {"message": "x" * 70_000, "requestedSchema": schema}, B, Limits(message=70_000)
    ).message


@pytest.mark.shows("N5", "L3")
def test_links_that_have_to_come_first_are_listed() -> None:
    data = dump_url_required([LINK, UrlQuestion("Pay.", "https://example.org/pay", "id-2")])
    ElicitationRequiredErrorData.model_validate(data)
    november.Data.model_validate(data)
    assert [question.elicitation_id for question in parse_url_required(data)] == ["id-1", "id-2"]


@pytest.mark.shows("N5")
@pytest.mark.parametrize(
    "elicitations",
    [
        None,
        [],
        {},
        "x",
        [{"message": "x", "requestedSchema": {"type": "object", "properties": {}}}],
        [dump_question(LINK, B), {"mode": "form", "message": "x", "requestedSchema": {}}],
        [dump_question(UrlQuestion("Allow access.", "https://example.org/x"), C)],
    ],
)
def test_anything_but_links_that_come_first_is_refused(elicitations: object) -> None:
    with pytest.raises(WireError):
        parse_url_required({"elicitations": elicitations})
    with pytest.raises(WireError):
        parse_url_required(elicitations)


@pytest.mark.shows("D2f", "F8")
def test_an_author_learns_every_way_in_which_a_question_is_too_large() -> None:
    fields: list[Any] = [
        Choice("colour", [f"c{n}" for n in range(2001)]),
        *(Text(f"t{n}") for n in range(50)),
    ]
    found = check_size(FormQuestion("x" * 65_537, Form.by_hand(*fields)))
    assert [sentence.split(";")[0] for sentence in found] == [
        "The message has 65,537 bytes",
        "The form has 51 fields",
        "colour has 2,001 options",
    ]
    assert check_size(FormQuestion("x" * 65_536, Form.by_hand(*fields[1:]))) == ()
    assert check_size(UrlQuestion("x" * 20_000, "https://example.org/")) == ()
    assert check_size(FormQuestion("How much?", Form.by_hand(Text("t"))), Limits(bytes=50)) == (
        "The question has more than 50 bytes.",
    )


def test_hints_travel_with_a_question_and_do_not_change_it() -> None:
    asked = FormQuestion(
        "Go on?", Form.by_hand(Flag("answer")), hints=QuestionHints(3, Buttons("Go", "Stay"))
    )
    for revision in Revision:
        back = parse_question(dump_question(asked, revision), revision)
        assert back.hints == asked.hints
    assert asked == FormQuestion("Go on?", Form.by_hand(Flag("answer")))
