"""A server cannot make a question whose link the protocol forbids."""

from __future__ import annotations

import pytest
from tests.urls.labelled import read_set

from handraise.errors import UnsafeUrl
from handraise.urls import require_safe_url

MINE = "mcp.example.com"


@pytest.mark.shows("L6")
def test_every_link_with_credentials_personal_data_or_a_signature_is_refused() -> None:
    for link in read_set("parameters"):
        with pytest.raises(UnsafeUrl) as refusal:
            require_safe_url(link.url, server_host=MINE)
        assert link.reasons <= set(refusal.value.reasons)


@pytest.mark.shows("L6")
def test_links_that_are_not_web_addresses_are_refused() -> None:
    for link in read_set("schemes"):
        with pytest.raises(UnsafeUrl):
            require_safe_url(link.url, server_host=MINE)


@pytest.mark.shows("L6")
@pytest.mark.parametrize(
    "url",
    [
        "https://mcp.example.com/connect?elicitationId=550e8400-e29b-41d4-a716-446655440000",
        "https://github.com/login/oauth/authorize?client_id=abc123&state=xyz789&scope=repo&nonce=n-0S6_WzA2Mj"
        "&redirect_uri=https%3A%2F%2Fmcp.example.com%2Fcb&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "https://login.example.com/authorize?client_id=c&state=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "http://127.0.0.1:8765/enter?eid=1f0a",
        "http://localhost:3000/",
        "http://[::1]:3000/",
        "https://10.0.0.5/setup",
    ],
)
def test_ordinary_links_pass_and_come_back_inspected(url: str) -> None:
    assert require_safe_url(url, server_host=MINE).href == url


@pytest.mark.shows("L6")
def test_plain_http_is_refused_outside_loopback_unless_it_is_called_unsafe() -> None:
    with pytest.raises(UnsafeUrl) as refusal:
        require_safe_url("http://mcp.example.com/connect")
    assert refusal.value.reasons == ("insecure_http",)
    with pytest.warns(UserWarning, match="unsafe_plain_http"):
        require_safe_url("http://mcp.example.com/connect", unsafe_plain_http=True)


def test_the_unsafe_switch_is_silent_where_it_changes_nothing_and_opens_no_other_door() -> None:
    require_safe_url("https://mcp.example.com/connect", unsafe_plain_http=True)
    require_safe_url("http://localhost:3000/", unsafe_plain_http=True)
    with pytest.warns(UserWarning, match="unsafe_plain_http"), pytest.raises(UnsafeUrl):
        require_safe_url("http://mcp.example.com/?password=hunter2", unsafe_plain_http=True)


@pytest.mark.shows("S5", "L6")
def test_the_refusal_explains_itself_and_never_repeats_the_secret() -> None:
    with pytest.raises(UnsafeUrl) as refusal:
        require_safe_url("https://mcp.example.com/?password=hunter2&email=alice@example.org")
    assert refusal.value.reasons == ("credentials_in_url", "pii_in_url")
    assert "password, key or token" in str(refusal.value)
    for secret in ("hunter2", "alice"):
        assert secret not in str(refusal.value) + repr(refusal.value) + refusal.value.public
