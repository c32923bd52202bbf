"""What a server says that wants an account, however it writes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.gateway.accounts.own_account import Challenge, parse_challenge

pytestmark = pytest.mark.shows("W8")

METADATA = "https://notes.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("status", "header", "wanted"),
    [
        (
            401,
            f'Bearer resource_metadata="{METADATA}", scope="read write"',
            (METADATA, ("read", "write"), False),
        ),
        (401, f"bearer realm=x, resource_metadata={METADATA}", (METADATA, (), False)),
        (401, "Basic realm=x", (None, (), False)),
        (401, "", (None, (), False)),
        (403, 'Bearer error="insufficient_scope", scope="admin"', (None, ("admin",), True)),
    ],
)
def test_it_is_read(status: int, header: str, wanted: tuple[str | None, tuple[str, ...], bool]) -> None:
    headers = [(b"WWW-Authenticate", header.encode())] if header else []
    assert parse_challenge(status, headers) == Challenge(*wanted)


@pytest.mark.parametrize("status", [200, 202, 400, 403, 404, 500])
def test_any_other_refusal_is_none(status: int) -> None:
    assert parse_challenge(status, [(b"www-authenticate", b'Bearer scope="x"')]) is None


@given(st.binary(max_size=10_000))
def test_whatever_comes_is_read_or_not_and_bounded(raw: bytes) -> None:
    challenge = parse_challenge(401, [(b"www-authenticate", b"Bearer " + raw)])
    assert challenge is not None
    assert len(challenge.scopes) <= 50
    assert len(challenge.metadata_url or "") <= 2000
