"""The URLs of a protected resource are those that the SDK makes, without the SDK."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.issuers.tls import THIS_COMPUTER, Vouched, served_by_tls, vouch

from handraise.errors import AccountError
from handraise.issuers import (
    ANYWHERE,
    PUBLIC,
    AllowedAddresses,
    covers,
    fetch,
    metadata_urls,
    post,
    resource_of,
    verifying_keys,
)

HOSTS = st.sampled_from(
    ["https://a.example", "HTTPS://A.example", "https://a.example:8443", "http://b.example"]
)
PATHS = st.sampled_from(["", "/", "/api", "/api/", "/api2", "/api/mcp", "/api/mcp?x=1", "/api#part"])
URLS = st.builds(lambda host, path: host + path, HOSTS, PATHS)


@given(URLS, URLS)
def test_a_token_is_for_what_the_sdk_says(resource: str, url: str) -> None:
    assert covers(resource, url) == check_resource_allowed(url, resource)
    assert resource_of(url) == resource_url_from_server_url(url)


@pytest.mark.parametrize("told", [None, "https://a.example/about"])
@given(url=URLS)
def test_a_server_is_looked_for_where_the_sdk_looks(told: str | None, url: str) -> None:
    assert metadata_urls(url, told) == build_protected_resource_metadata_discovery_urls(told, url)


KEY = {"kty": "EC", "crv": "P-256", "kid": "one"}


@pytest.mark.shows("W8", "L8")
@pytest.mark.parametrize(
    "marks", [{}, {"use": "sig"}, {"alg": "ES256"}, {"key_ops": ["verify"]}, {"key_ops": ["verify", "sign"]}]
)
def test_a_key_for_signatures_verifies(marks: dict[str, Any]) -> None:
    assert verifying_keys({"keys": [{**KEY, **marks}]}, "ES256") == [{**KEY, **marks}]


@pytest.mark.shows("W8", "L8")
@pytest.mark.parametrize(
    "marks",
    [
        {"use": "enc"},
        {"use": ""},
        {"use": ["sig"]},
        {"key_ops": []},
        {"key_ops": ["decrypt"]},
        {"key_ops": "verify"},
        {"alg": "ES384"},
        {"alg": "none"},
        {"alg": "RSA-OAEP"},
        {"kty": "oct"},
        {"kty": None},
    ],
    ids=str,
)
def test_a_key_for_something_else_does_not(marks: dict[str, Any]) -> None:
    assert verifying_keys({"keys": [{**KEY, **marks}]}, "ES256") == []


@pytest.mark.shows("W8", "L8")
@pytest.mark.parametrize("algorithm", ["none", "HS256", "", None, 1, ["ES256"]], ids=str)
def test_no_key_verifies_an_algorithm_that_others_could_sign_by(algorithm: object) -> None:
    assert verifying_keys({"keys": [KEY]}, algorithm) == []


@pytest.mark.shows("W8", "L8")
@pytest.mark.parametrize("published", [{}, {"keys": None}, {"keys": {}}, {"keys": ["x", 1, None]}], ids=str)
def test_no_key_is_found_in_what_is_no_key_set(published: dict[str, Any]) -> None:
    assert verifying_keys(published, "ES256") == []


async def _told(request: Request) -> Response:
    return JSONResponse({"host": request.headers["host"], "method": request.method})


async def _away(request: Request) -> Response:
    return RedirectResponse("/told")


async def _endless(request: Request) -> Response:
    return Response(b"[" + b" " * 2_000_000 + b"]")


async def _packed(request: Request) -> Response:
    return Response(gzip.compress(b'{"a": 1}'), headers={"content-encoding": "gzip"})


async def _deep(request: Request) -> Response:
    return Response(b"[" * 500_000)


async def _dripping(request: Request) -> Response:
    async def drops() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    return StreamingResponse(drops())


APP = Starlette(
    routes=[
        Route("/told", _told, methods=["GET", "POST"]),
        Route("/away", _away),
        Route("/endless", _endless),
        Route("/packed", _packed),
        Route("/deep", _deep),
        Route("/dripping", _dripping),
    ]
)


@pytest.fixture(scope="module")
def vouched(tmp_path_factory: pytest.TempPathFactory) -> Vouched:
    return vouch(tmp_path_factory.mktemp("tls"))


@pytest.mark.anyio
@pytest.mark.shows("W8")
@pytest.mark.parametrize("reach", [ANYWHERE, THIS_COMPUTER], ids=["looked up", "pinned"])
async def test_the_name_counts_for_the_server_and_for_its_certificate(
    reach: AllowedAddresses, vouched: Vouched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(vouched.authority))
    async with served_by_tls(APP, vouched) as url:
        told = await fetch(f"{url}/told", reach)
        assert told == {"host": url.removeprefix("https://"), "method": "GET"}
        assert (await post(f"{url}/told", {}, "a=b", reach))[1]["method"] == "POST"
        with pytest.raises(AccountError, match="status 307"):
            await fetch(f"{url}/away", reach)
        with pytest.raises(AccountError, match="without end"):
            await fetch(f"{url}/endless", reach)
        for odd in ("packed", "deep"):  # nothing is unpacked: a few bytes could be gigabytes
            with pytest.raises(AccountError, match="no JSON object"):
                await fetch(f"{url}/{odd}", reach)
        with pytest.raises(AccountError, match="private network"):
            await fetch(f"{url}/told", PUBLIC)


@pytest.mark.anyio
@pytest.mark.shows("W8")
async def test_a_server_that_nobody_vouches_for_is_not_believed(vouched: Vouched, tmp_path: Path) -> None:
    async with served_by_tls(APP, vouched) as url:
        with pytest.raises(AccountError, match="ConnectError"):
            await fetch(f"{url}/told", THIS_COMPUTER)


def at(*addresses: str) -> tuple[AllowedAddresses, list[str]]:
    """A reach whose resolver gives these addresses, and the names that it was asked for."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return addresses

    return replace(THIS_COMPUTER, resolve=resolve), asked


@pytest.mark.anyio
@pytest.mark.shows("W8")
async def test_the_connection_goes_to_an_address_that_was_checked(
    vouched: Vouched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: whoever looks the name up a second time may be led inside."""
    monkeypatch.setenv("SSL_CERT_FILE", str(vouched.authority))
    async with served_by_tls(APP, vouched, host="127.0.0.1") as url:
        reach, asked = at("127.0.0.9", "127.0.0.1")  # nobody listens at the first
        assert (await fetch(f"{url}/told", reach))["host"] == url.removeprefix("https://")
        assert asked == ["localhost"]
        elsewhere, _ = at("127.0.0.9")
        with pytest.raises(AccountError, match="ConnectError"):
            await fetch(f"{url}/told", elsewhere)


@pytest.mark.anyio
@pytest.mark.shows("W8")
@pytest.mark.parametrize(
    "address",
    [
        "[64:ff9b::7f00:1]",  # NAT64
        "[64:ff9b:1::7f00:1]",
        "[::127.0.0.1]",  # IPv4-compatible
        "[::ffff:127.0.0.1]",  # IPv4-mapped
        "[fec0::1]",  # site-local
        "[2002:7f00:1::1]",  # 6to4
        "127.0.0.1",
        "localhost",
    ],
)
async def test_no_spelling_of_a_private_address_is_public(address: str) -> None:
    with pytest.raises(AccountError, match=r"private network|no address"):
        await fetch(f"https://{address}:9/keys", PUBLIC)


@pytest.mark.anyio
@pytest.mark.shows("W8")
async def test_a_response_that_drips_ends(vouched: Vouched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(vouched.authority))
    monkeypatch.setattr("handraise.issuers._WHOLE", 0.3)
    async with served_by_tls(APP, vouched) as url:
        async with asyncio.timeout(5):
            with pytest.raises(AccountError, match="too long"):
                await fetch(f"{url}/dripping", THIS_COMPUTER)
