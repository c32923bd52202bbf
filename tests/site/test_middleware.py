"""No other site, and no other name, gets past the gate."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request

from handraise.site.middleware import MOST_BYTES, check_request, first, has_token, read_posted

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


def posted(*chunks: bytes, kind: str = "application/x-www-form-urlencoded") -> Request:
    parts = list(chunks)

    async def receive() -> Any:
        body = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}
    return Request(scope, receive)


async def test_a_form_is_read_whole_with_its_blanks() -> None:
    values = await read_posted(posted(b"a=1&a=2&b=", b"&c=%C3%A9+x"))
    assert values == {"a": ["1", "2"], "b": [""], "c": ["é x"]}
    assert first(values, "a") == "1"
    assert first(values, "none") == ""


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (posted(b"{}", kind="application/json"), 415),
        (posted(b"a=" + b"x" * MOST_BYTES), 413),
        (posted(*[b"x" * 1024] * (MOST_BYTES // 1024 + 1), b"never read"), 413),
        (posted(b"&".join([b"a=1"] * 5001)), 400),
        (posted(b"a=%FF"), 400),
        (posted("a=é".encode()), 400),
    ],
)
async def test_what_is_no_form_or_too_much_is_refused(request_: Request, status: int) -> None:
    with pytest.raises(HTTPException) as refused:
        await read_posted(request_)
    assert refused.value.status_code == status


@pytest.mark.parametrize("token", ["", "wrong", "é", "\udcff"])
def test_only_the_pages_own_token_counts(token: str) -> None:
    assert has_token({"csrf": ["right"]}, "right")
    assert not has_token({"csrf": [token]}, "right")
    assert not has_token({}, "right")
