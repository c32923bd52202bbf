"""No other site, and no other name, gets past the gate."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from handraise.site.gate import check_request

HOSTS = ("127.0.0.1:7000", "localhost:7000", "[::1]:7000")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:7000",
        "127.0.0.1",
        "127.0.0.1:7001",
        "127.0.0.1:7000.evil.example",
        "127.1:7000",
        "0.0.0.0:7000",
        "LOCALHOST.evil.example:7000",
        "",
    ],
)
def test_a_rebound_name_is_refused_even_when_it_resolves_to_this_computer(host: str) -> None:
    refusal = check_request("GET", Headers({"host": host}), HOSTS)
    assert refusal is not None
    assert refusal[0] == 421


@pytest.mark.parametrize("host", HOSTS)
def test_a_site_answers_under_its_own_names(host: str) -> None:
    assert check_request("GET", Headers({"host": host}), HOSTS) is None
    assert check_request("POST", Headers({"host": host, "origin": f"http://{host}"}), HOSTS) is None


def test_two_host_headers_are_refused() -> None:
    headers = Headers(raw=[(b"host", b"127.0.0.1:7000"), (b"host", b"evil.example")])
    assert check_request("GET", headers, HOSTS) is not None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_get_and_post_are_known(method: str) -> None:
    headers = Headers({"host": HOSTS[0], "origin": f"http://{HOSTS[0]}"})
    refusal = check_request(method, headers, HOSTS)
    assert refusal is not None
    assert refusal[0] == 405


def test_behind_https_only_a_post_from_the_https_site_counts() -> None:
    host = "mcp.example"
    own = Headers({"host": host, "origin": f"https://{host}"})
    plain = Headers({"host": host, "origin": f"http://{host}"})
    assert check_request("POST", own, [host], "https") is None
    assert check_request("POST", plain, [host], "https") is not None
