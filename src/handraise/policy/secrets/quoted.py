"""What a form shows of a secret instead of naming it: "starts with sk-", "-----BEGIN", "redis://user:password@…"."""

from __future__ import annotations

import re
from typing import Final

from handraise.policy.secrets.characters import fold
from handraise.policy.secrets.providers import PROVIDERS
from handraise.policy.secrets.scan import holds_private_key, holds_url_password

_END: Final = r"(?=$|[\s\"'`.,;:…*<>()\[\]{}\\|]|[xX]{2})"
_TOO_COMMON: Final = (
    "SK",
    "key-",
    "secret_",
    r"[MNO][A-Za-z0-9_-]{23,27}\.",
    r"\d{8,10}:AA",
    r"[A-Za-z0-9]{14}\.atlasv1\.",
)
"""Beginnings that are words themselves, or that nobody quotes."""
_BEGINNINGS: Final = tuple((each.kind, each.begins) for each in PROVIDERS if each.begins not in _TOO_COMMON)
_ANY_BEGINNING: Final = re.compile(
    rf"(?<![A-Za-z0-9_-])({'|'.join(begins for _, begins in _BEGINNINGS)}){_END}"
)


def quoted_kind(text: str) -> str | None:
    """The kind of secret that a text shows the beginning or an example of."""
    text = fold(text)
    if "://" in text and holds_url_password(text):
        return "connection_string"
    if "-----" in text and holds_private_key(text):
        return "private_key"
    if beginning := _ANY_BEGINNING.search(text):
        return next(kind for kind, begins in _BEGINNINGS if re.fullmatch(begins, beginning[1]))
    return None
