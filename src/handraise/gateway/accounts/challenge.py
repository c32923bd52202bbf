"""What a server says that lets a request in only with a token (RFC 6750, section 3; RFC 9728, section 5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ACCOUNT_NEEDED: Final = -32090
"""The code of an error that says nothing about the server but that it wants an account."""
_PARAMETER: Final = re.compile(r'([A-Za-z_]{1,40})=(?:"([^"\\]{0,2000})"|([^\s,"]{1,2000}))')
_LONGEST: Final = 8192
_MOST_SCOPES: Final = 50


@dataclass(frozen=True, slots=True)
class Challenge:
    """What the server wants."""

    metadata_url: str | None = None
    """Where it publishes whose tokens it takes."""
    scopes: tuple[str, ...] = ()
    wants_more: bool = False
    """The token was good, but does not allow this."""


def parse_challenge(status: int, headers: Iterable[tuple[bytes, bytes]]) -> Challenge | None:
    """What a response wants of a person's account; None when it is about something else."""
    if status not in (401, 403):
        return None
    told = [value for name, value in headers if name.lower() == b"www-authenticate"]
    text = next((value for value in told if value[:7].lower() == b"bearer "), b"")[:_LONGEST]
    known = {
        name.lower(): quoted or bare for name, quoted, bare in _PARAMETER.findall(text.decode("latin-1"))
    }
    wants_more = known.get("error") == "insufficient_scope"
    if status == 403 and not wants_more:
        return None
    return Challenge(
        known.get("resource_metadata"), tuple(known.get("scope", "").split()[:_MOST_SCOPES]), wants_more
    )
