"""Requests to authorization servers: JSON comes back, from the address that was asked, and not without end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx2 as httpx

from handraise.errors import AccountError
from handraise.pages.oauth.registration import require_private_way

_PATIENCE: Final = 10.0
_MOST_BYTES: Final = 1024 * 1024


class NotThere(AccountError):
    """There is no such document."""


async def fetch(url: str) -> dict[str, Any]:
    """The JSON object at an address."""
    status, body = await _request("GET", url, {"accept": "application/json"}, None)
    if status in (404, 405, 410):
        raise NotThere(f"{url} has no document")
    if status != 200:
        raise AccountError(f"{url} answered with status {status}")
    return _object(url, body)


async def post(url: str, headers: Mapping[str, str], form: str) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object that come of a form."""
    status, body = await _request("POST", url, headers, form.encode("ascii"))
    return status, _object(url, body) if body.strip() else {}


async def _request(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None
) -> tuple[int, bytes]:
    require_private_way(url)
    body = bytearray()
    try:
        async with (
            httpx.AsyncClient(timeout=_PATIENCE, follow_redirects=False) as client,
            client.stream(method, url, headers=dict(headers), content=content) as response,
        ):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise AccountError(f"{url} answers without end")
    except httpx.HTTPError as error:
        raise AccountError(f"{url} cannot be reached: {type(error).__name__}") from None
    return response.status_code, bytes(body)


def _object(url: str, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise AccountError(f"{url} answered with something that is no JSON object")
    return found
