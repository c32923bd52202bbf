"""No secret is left in a trace, and everything else still can be read."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.trace.masks import Masks, mask_links

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CARD = "4111 1111 1111 1111"


def masked(*messages: dict[str, Any]) -> str:
    masks = Masks()
    return json.dumps([masks.mask(message) for message in messages])


def asked(name: str, title: str, message: str = "Please") -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {"type": "string", "title": title}}}
    return {
        "id": 1,
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    }


def answered(name: str, value: str) -> dict[str, Any]:
    return {"id": 1, "result": {"action": "accept", "content": {name: value}}}


@pytest.mark.shows("S5")
@pytest.mark.parametrize(
    "message",
    [
        {"params": {"arguments": {"note": f"use {TOKEN} please"}}},
        {"params": {"arguments": {"card": CARD}}},
        {"params": {"arguments": {"card": [CARD]}}},
        {"params": {"arguments": {"number": 4111111111111111}}},
        {"params": {"arguments": {TOKEN: 1}}},
        {"params": {"arguments": {"password": "hunter2secret", "apiKey": "hunter2secret"}}},
        {"result": {"content": [{"type": "text", "text": "postgres://ada:hunter2secret@db/x"}]}},
        {"error": {"code": -32603, "message": f"bad key {TOKEN}"}},
        {"params": {"arguments": {"where": PurePosixPath(f"/home/{TOKEN}")}}},
        {TOKEN: 1},
    ],
)
def test_what_gives_itself_away_is_masked(message: dict[str, Any]) -> None:
    shown = masked(message)
    assert "[masked: " in shown
    for secret in (TOKEN, CARD, "4111111111111111", "hunter2secret"):
        assert secret not in shown


@pytest.mark.shows("S5")
@pytest.mark.parametrize(
    "question",
    [
        asked("p1", "Your password"),
        asked("p1", "Here", "Type your password into the box"),
        {"result": {"inputRequests": {"q": asked("p1", "API key")}}},
        {"id": 1, "method": "elicitation/create", "params": {"requestedSchema": {"properties": {"p1": 1}}}},
    ],
)
def test_the_answer_to_a_field_that_asked_for_a_secret_is_masked(question: dict[str, Any]) -> None:
    assert "correct horse" not in masked(question, answered("p1", "correct horse"))
    responses = {"q": {"action": "accept", "content": {"p1": "correct horse"}}}
    assert "correct horse" not in masked(question, {"params": {"inputResponses": responses}})


def test_an_ordinary_answer_is_shown() -> None:
    assert "correct horse" in masked(asked("p1", "Your favourite animal"), answered("p1", "correct horse"))


def test_what_is_no_plain_data_is_shown_as_its_text() -> None:
    assert Masks().mask({"where": PurePosixPath("/tmp/notes")}) == {"where": "/tmp/notes"}


def test_the_protocols_own_words_are_shown() -> None:
    message = {"id": 7, "params": {"_meta": {"progressToken": 7}, "cursor": "abc", "token_budget": 5}}
    assert Masks().mask(message) == message


def test_the_state_of_a_round_is_shortened() -> None:
    assert masked({"params": {"requestState": "hr1.secretsecretsecret"}}).count("secret") == 0


@pytest.mark.shows("S5")
@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://a.example/connect?e=Zk3q&x", "https://a.example/connect?e=…&…"),
        ("https://ada:pw@a.example/x#token=1", "https://…@a.example/x#…"),
        ("https://a.example", "https://a.example"),
        ("https://a.example/enter/Zk3qZk3qZk3qZk3qZk3q12/now", "https://a.example/enter/…/now"),
        (
            "https://a.example/some-rather-long-words-in-a-path",
            "https://a.example/some-rather-long-words-in-a-path",
        ),
        ("see https://a.example/?k=v, then", "see https://a.example/?k=… then"),
        ("file:///home/ada/Notes", "file:///home/ada/Notes"),
    ],
)
def test_links_say_where_they_lead_and_open_nothing(link: str, shown: str) -> None:
    assert mask_links(link) == shown


@pytest.mark.shows("S5")
def test_a_link_in_a_message_is_masked() -> None:
    masked = Masks().mask({"params": {"url": "https://a.example/connect?e=Zk3q"}})
    assert masked == {"params": {"url": "https://a.example/connect?e=…"}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_whatever_crosses_can_be_masked(message: dict[str, Any]) -> None:
    json.dumps(Masks().mask(message))


def test_what_is_very_deep_or_very_long_is_cut() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert "too deep" in masked({"params": deep})
    assert len(masked({"params": {"text": "a" * 100_000}})) < 3000
