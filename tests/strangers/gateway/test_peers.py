"""Programs that we did not write, in front of the gateway and behind it, in both eras."""

from __future__ import annotations

import json

import pytest
from tests.strangers.programs import EVERYTHING, NOTES, through_gateway, typescript

pytestmark = [pytest.mark.stranger, pytest.mark.shows("W1", "W3")]

ERAS = ["legacy", "2026-07-28"]


@pytest.mark.parametrize("era", ERAS)
def test_the_typescript_client_is_asked_through_the_gateway(era: str, environment: dict[str, str]) -> None:
    server = through_gateway(NOTES)
    seen = typescript(era, "delete", {"title": "a"}, {"answer": "old"}, server, environment)
    assert seen["asked"] == ["Why delete a?"]
    assert seen["result"]["content"][0]["text"] == "deleted a: old"
    assert "handraise_resume" not in seen["tools"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.shows("W2")
def test_a_typescript_client_that_cannot_ask_gets_its_call_parked(
    era: str, environment: dict[str, str]
) -> None:
    server = through_gateway(NOTES, "--hold", "0")
    seen = typescript(era, "delete", {"title": "a"}, "none", server, environment)
    assert "handraise_resume" in seen["tools"]
    assert "waits for the user" in seen["result"]["content"][0]["text"]
    assert not seen["asked"]


@pytest.mark.parametrize("era", ERAS)
def test_the_everything_server_gives_the_same_through_the_gateway(
    era: str, environment: dict[str, str]
) -> None:
    direct = typescript("legacy", "echo", {"message": "hello"}, {}, EVERYTHING, environment)
    seen = typescript(era, "echo", {"message": "hello"}, {}, through_gateway(EVERYTHING), environment)
    assert seen["tools"] == direct["tools"]
    assert seen["result"]["content"] == direct["result"]["content"]


@pytest.mark.parametrize("era", ERAS)
def test_the_everything_server_asks_through_the_gateway(era: str, environment: dict[str, str]) -> None:
    server = through_gateway(EVERYTHING)
    seen = typescript(
        era, "trigger-elicitation-request", {}, {"name": "Ann", "check": True}, server, environment
    )
    assert len(seen["asked"]) == 1
    assert "Ann" in json.dumps(seen["result"])
