"""Who is behind a request, from what the transport has verified."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from handraise.server.person import principal_of

ISSUER = "https://id.example"


def principal(client: str, subject: str | None) -> tuple[Any, str]:
    claims = {"iss": ISSUER, **({} if subject is None else {"sub": subject})}
    token = AccessToken(token="t", client_id=client, scopes=[], subject=subject, claims=claims)
    before = auth_context_var.set(AuthenticatedUser(token))
    try:
        return principal_of(None)  # type: ignore[arg-type]
    finally:
        auth_context_var.reset(before)


@pytest.mark.shows("L11")
@pytest.mark.parametrize("subject", ["app", "client app"])
def test_nobody_passes_for_a_client_that_comes_by_itself(subject: str) -> None:
    itself, person = principal("app", None)[0], principal("other", subject)[0]
    assert person.issuer == ISSUER
    assert itself.key != person.key


@pytest.mark.shows("L11")
def test_what_retries_have_in_common_is_unambiguous() -> None:
    assert principal("app", "ann x")[1] != principal("x app", "ann")[1]
    assert principal("x app", "ann")[1] != principal("app", "ann")[1]
