"""What whoever starts a gateway over HTTP reads first."""

from __future__ import annotations

import pytest

from handraise.cli.gateway import announcement
from handraise.gateway.options import Desk, Options


def test_a_gateway_over_http_says_where_clients_connect_to_what_and_where_people_answer() -> None:
    assert announcement("127.0.0.1:8765", ["notes", "files"], Options()) == [
        "The gateway is running; Ctrl+C ends it.",
        "  clients    http://127.0.0.1:8765/mcp",
        "  servers    notes, files",
        "  questions  in the client; where it does not ask, at the desk: handraise inbox",
    ]


@pytest.mark.parametrize(
    ("desk", "questions"),
    [("always", "at the desk: handraise inbox"), ("none", "in the client, and nowhere else")],
)
def test_it_says_who_is_asked_where_as_it_was_chosen(desk: Desk, questions: str) -> None:
    assert announcement("127.0.0.1:1", ["notes"], Options(desk=desk))[-1] == f"  questions  {questions}"


def test_a_shared_gateway_names_the_address_that_people_see() -> None:
    lines = announcement("0.0.0.0:8765", ["notes"], Options(), "https://gateway.example.com")
    assert lines[1] == "  clients    https://gateway.example.com/mcp, served at 0.0.0.0:8765"
    assert lines[3].endswith("at the desk: https://gateway.example.com/")


def test_a_name_with_control_characters_stays_within_its_line() -> None:
    line = announcement("127.0.0.1:1", ["no\ntes\x1b[2J"], Options())[2]
    assert line.isprintable()
