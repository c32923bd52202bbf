"""Requests to authorization servers: JSON from the asked address only, trusted signatures, and a token's audience."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import httpx2 as httpx

from handraise.errors import AccountError, SetupError
from handraise.issuers.addresses import ANYWHERE, AllowedAddresses, require_secure_url

_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def resource_of(url: str) -> str:
    """The resource of a server's tokens: its URL without a fragment, scheme and host in lower case."""
    parts = urlsplit(url)
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment="").geturl()


def metadata_urls(url: str, told: str | None) -> list[str]:
    """The URLs of a server's metadata, in order: the given one, the one for its path, the one for its host."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    for_path = [f"{origin}{_WELL_KNOWN}{parts.path}"] if parts.path.strip("/") else []
    return [*([told] if told else []), *for_path, f"{origin}{_WELL_KNOWN}"]


def covers(resource: str, url: str) -> bool:
    """Whether a token for `resource` is one for `url` too: the same origin, and a path at or below it."""
    wide, narrow = urlsplit(resource), urlsplit(url)
    return _origin(wide) == _origin(narrow) and _folder(narrow.path).startswith(_folder(wide.path))


def _origin(parts: SplitResult) -> tuple[str, str]:
    return parts.scheme.lower(), parts.netloc.lower()


def _folder(path: str) -> str:
    """With a slash at its end, so that /api does not cover /api2."""
    return path if path.endswith("/") else f"{path}/"


ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
"""Signatures that only the issuer can make: no `none`, and none with a secret that two parties have."""
_TYPES: Final = ("RSA", "EC", "OKP")


def verifying_keys(published: Mapping[str, Any], algorithm: object) -> list[dict[str, Any]]:
    """The keys of a JSON Web Key Set that may verify a signature made by this algorithm (RFC 7517, section 4).

    A key for encryption or another algorithm does not count: others may have its secret half, or get it applied to
    their data.
    """
    keys = published.get("keys")
    if algorithm not in ALGORITHMS or not isinstance(keys, list):
        return []
    return [key for key in keys if isinstance(key, dict) and _may_verify(key, algorithm)]


def _may_verify(key: Mapping[str, Any], algorithm: object) -> bool:
    operations = key.get("key_ops")
    return (
        key.get("kty") in _TYPES
        and key.get("use") in (None, "sig")
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and key.get("alg") in (None, algorithm)
    )


_PATIENCE: Final = 10.0
_MOST_BYTES: Final = 1024 * 1024
_MOST_ADDRESSES: Final = 4


class NotThere(AccountError):
    """There is no such document."""


async def fetch(named: object, reach: AllowedAddresses = ANYWHERE) -> dict[str, Any]:
    """The JSON object at an address. AccountError for a bad address too, because a document may name anything."""
    try:
        url = require_secure_url(named)
    except SetupError as error:
        raise AccountError(str(error)) from None
    status, body = await _request("GET", url, {"accept": "application/json"}, None, reach)
    if status in (404, 405, 410):
        raise NotThere(f"{url} has no document")
    if status != 200:
        raise AccountError(f"{url} answered with status {status}")
    return _object(url, body)


async def post(
    url: str, headers: Mapping[str, str], body: str, reach: AllowedAddresses = ANYWHERE
) -> tuple[int, dict[str, Any]]:
    """Post a form or JSON; returns the status and the JSON object."""
    status, answer = await _request("POST", url, headers, body.encode("ascii"), reach)
    return status, _object(url, answer) if answer.strip() else {}


async def _request(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, reach: AllowedAddresses
) -> tuple[int, bytes]:
    try:
        addresses = await reach.addresses(url)
        async with _client(reach) as client:
            response = await _send(client, method, url, headers, content, addresses)
            body = bytearray()
            async for chunk in response.aiter_raw():  # a few packed bytes could be gigabytes
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
    """Send to the first address that accepts a connection: a computer may have no IPv6."""
    *others, last = addresses[:_MOST_ADDRESSES] if addresses else (None,)
    for address in others:
        with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await client.send(_addressed(method, url, headers, content, address), stream=True)
    return await client.send(_addressed(method, url, headers, content, last), stream=True)


def _client(reach: AllowedAddresses) -> httpx.AsyncClient:
    """A client without the environment's proxy if addresses are checked: a proxy would resolve the name again."""
    trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return httpx.AsyncClient(
        timeout=_PATIENCE, follow_redirects=False, verify=trusted, trust_env=not reach.public_only
    )


@lru_cache(maxsize=4)
def _trusted(file: str | None, folder: str | None) -> ssl.SSLContext:
    """The trusted certificates, read once: the system's list is long."""
    return httpx.create_ssl_context()


def _addressed(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, address: str | None
) -> httpx.Request:
    """A request to an address. The server and its certificate are still checked by the name."""
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
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise AccountError(f"{url} answered with something that is no JSON object")
    return found
