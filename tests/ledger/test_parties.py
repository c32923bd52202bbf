"""Who asks and who answers, without their secrets."""

from __future__ import annotations

import pytest

from handraise.ledger.events import Principal, Server
from handraise.ledger.parties import principal_of, server_of
from handraise.questions import Origin, Person


@pytest.mark.shows("G2", "S5")
@pytest.mark.parametrize(
    ("target", "named"),
    [
        ("https://notes.example/mcp?key=sk-123", "https://notes.example"),
        ("https://ada:pw@notes.example:8443/mcp", "https://notes.example:8443"),
        ("python notes.py", "python notes.py"),
        ("python -m notes serve", "python -m notes serve"),
        ("notes --port 80 serve", "notes --port … serve"),
        ("notes --token=abc --verbose", "notes --token --verbose"),
        ("notes -k abc", "notes -k …"),
        ("notes KEY=abc", "notes …"),
        ("notes ghp_0123456789abcdefghijklmnopqrstuvwxyz", "notes …"),
        ("notes 'unclosed", "…"),
    ],
)
def test_a_target_is_named_without_what_may_be_a_secret(target: str, named: str) -> None:
    assert server_of(Origin("notes", target)).target == named


@pytest.mark.shows("G2")
def test_a_server_is_named_as_the_user_configured_it_and_its_own_name_is_a_claim() -> None:
    asked = server_of(Origin("notes", "", "The Bank", "2.0"))
    assert asked == Server("notes", None, "The Bank 2.0")


@pytest.mark.shows("G2")
def test_a_person_is_the_same_key_as_everywhere() -> None:
    ada = Person("https://login.example", "ada", "token")
    assert principal_of(ada) == Principal("https://login.example", "ada", "token")
    assert principal_of(ada).key == ada.key
