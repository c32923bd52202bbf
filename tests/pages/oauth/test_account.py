"""What an author may say about an account, and what is refused before anybody is asked."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.errors import SetupError
from handraise.pages.oauth import Account, Endpoints, FromVariable


def test_an_account_is_known_by_its_name_in_small_letters() -> None:
    account = Account("Git  Place!", "id", "https://git.example", {"repo": "Read your code", "user": ""})
    assert account.service == "git-place"
    assert account.registration.host == "git.example"
    assert account.wishes == (("repo", "Read your code"), ("user", ""))


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://git.example"},
        {"issuer": "https://user@git.example"},
        {"issuer": None},
        {"client_id": ""},
        {"scopes": ("repo user",)},
        {"service": "../up"},
        {"logo": b"<html>"},
        {"parameters": {"redirect_uri": "https://evil.example"}},
    ],
    ids=str,
)
@pytest.mark.shows("L8")
def test_what_cannot_be_safe_is_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"name": "Git", "client_id": "id", "issuer": "https://git.example"}
    with pytest.raises(SetupError):
        Account(**{**right, **wrong})


def test_endpoints_are_reached_by_https_or_on_this_computer() -> None:
    Endpoints("https://git.example/authorize", "http://127.0.0.1:7000/token")
    with pytest.raises(SetupError):
        Endpoints("https://git.example/authorize", "http://git.example/token")


@pytest.mark.shows("S5")
def test_a_client_secret_is_shown_by_nothing_and_a_missing_variable_is_named() -> None:
    account = Account("Git", "id", "https://git.example", client_secret="client-secret-77")
    assert "client-secret-77" not in repr(account) + repr(account.registration)
    with pytest.raises(SetupError, match="GIT_SECRET"):
        FromVariable("GIT_SECRET").reveal({})
    assert FromVariable("GIT_SECRET").reveal({"GIT_SECRET": "s"}) == "s"
