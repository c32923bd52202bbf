"""Requests to authorization servers over TLS: to the address that was checked, under the name that was meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from tests.issuers.tls import THIS_COMPUTER, Vouched, served_by_tls, vouch

from handraise.errors import AccountError
from handraise.issuers.reach import ANYWHERE, PUBLIC, Reach
from handraise.issuers.wire import fetch, post

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W8")]


async def _told(request: Request) -> Response:
    return JSONResponse({"host": request.headers["host"], "method": request.method})


async def _away(request: Request) -> Response:
    return RedirectResponse("/told")


async def _endless(request: Request) -> Response:
    return Response(b"[" + b" " * 2_000_000 + b"]")


APP = Starlette(
    routes=[
        Route("/told", _told, methods=["GET", "POST"]),
        Route("/away", _away),
        Route("/endless", _endless),
    ]
)


@pytest.fixture(scope="module")
def vouched(tmp_path_factory: pytest.TempPathFactory) -> Vouched:
    return vouch(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("reach", [ANYWHERE, THIS_COMPUTER], ids=["looked up", "pinned"])
async def test_the_name_counts_for_the_server_and_for_its_certificate(
    reach: Reach, vouched: Vouched, monkeypatch: pytest.MonkeyPatch
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
        with pytest.raises(AccountError, match="private network"):
            await fetch(f"{url}/told", PUBLIC)


async def test_a_server_that_nobody_vouches_for_is_not_believed(vouched: Vouched, tmp_path: Path) -> None:
    async with served_by_tls(APP, vouched) as url:
        with pytest.raises(AccountError, match="ConnectError"):
            await fetch(f"{url}/told", THIS_COMPUTER)


def at(*addresses: str) -> tuple[Reach, list[str]]:
    """A reach whose resolver gives these addresses, and the names that it was asked for."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return addresses

    return replace(THIS_COMPUTER, resolve=resolve), asked


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
