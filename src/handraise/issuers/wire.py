"""Requests to authorization servers: JSON comes back, from the address that was asked, and not without end."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import httpx2 as httpx

from handraise.errors import AccountError, SetupError
from handraise.issuers.reach import ANYWHERE, Reach, require_private_way

_PATIENCE: Final = 10.0
_MOST_BYTES: Final = 1024 * 1024
_MOST_ADDRESSES: Final = 4


class NotThere(AccountError):
    """There is no such document."""


async def fetch(named: object, reach: Reach = ANYWHERE) -> dict[str, Any]:
    """The JSON object at an address. AccountError also when that is none, as a document may name anything."""
    try:
        url = require_private_way(named)
    except SetupError as error:
        raise AccountError(str(error)) from None
    status, body = await _request("GET", url, {"accept": "application/json"}, None, reach)
    if status in (404, 405, 410):
        raise NotThere(f"{url} has no document")
    if status != 200:
        raise AccountError(f"{url} answered with status {status}")
    return _object(url, body)


async def post(
    url: str, headers: Mapping[str, str], body: str, reach: Reach = ANYWHERE
) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object that come of a form, or of JSON."""
    status, answer = await _request("POST", url, headers, body.encode("ascii"), reach)
    return status, _object(url, answer) if answer.strip() else {}


async def _request(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, reach: Reach
) -> tuple[int, bytes]:
    try:
        addresses = await reach.addresses(url)
        async with _client(reach) as client:
            response = await _send(client, method, url, headers, content, addresses)
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise AccountError(f"{url} answers without end")
    except SetupError as error:
        raise AccountError(str(error)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise AccountError(f"{url} cannot be reached: {type(error).__name__}") from None
    return response.status_code, bytes(body)


async def _send(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    headers: Mapping[str, str],
    content: bytes | None,
    addresses: tuple[str, ...] | None,
) -> httpx.Response:
    """Send to the first address that can be connected to: a machine may have no IPv6, say."""
    *others, last = addresses[:_MOST_ADDRESSES] if addresses else (None,)
    for address in others:
        with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await client.send(_addressed(method, url, headers, content, address), stream=True)
    return await client.send(_addressed(method, url, headers, content, last), stream=True)


def _client(reach: Reach) -> httpx.AsyncClient:
    """No proxy of the environment's where addresses are checked: it would look the name up anew."""
    trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return httpx.AsyncClient(
        timeout=_PATIENCE, follow_redirects=False, verify=trusted, trust_env=not reach.public_only
    )


@lru_cache(maxsize=4)
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Whom we trust, read once: the system's list is long."""
    return httpx.create_ssl_context()


def _addressed(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, address: str | None
) -> httpx.Request:
    """A request to an address, in which the name counts: for the server, and for its certificate."""
    named = httpx.URL(url)
    if address is None:
        return httpx.Request(method, named, headers=dict(headers), content=content)
    return httpx.Request(
        method,
        named.copy_with(host=address),
        headers={**headers, "host": named.netloc.decode("ascii")},
        content=content,
        extensions={"sni_hostname": named.raw_host.decode("ascii")},
    )


def _object(url: str, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise AccountError(f"{url} answered with something that is no JSON object")
    return found
