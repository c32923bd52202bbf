"""What a form shows of a secret instead of naming it: "starts with sk-", "-----BEGIN", "redis://user:password@…"."""

from __future__ import annotations

import re
from typing import Final

from handraise.policy.secrets.providers import PROVIDERS
from handraise.policy.secrets.scan import holds_private_key, holds_url_password

_END: Final = r"(?=$|[\s\"'`.,;:…*<>()\[\]{}\\|]|[xX]{2})"
_BEGINNINGS: Final = tuple(
    (provider.kind, re.compile(rf"(?<![A-Za-z0-9_-])(?:{provider.begins}){_END}"))
    for provider in PROVIDERS
    if provider.begins[:3].isalnum()
    or provider.begins.startswith(("gh", "gl", "sk-", "hv", "hf_", "do[", "r8_"))
)


def quoted_kind(text: str) -> str | None:
    """The kind of secret that a text shows the beginning or an example of."""
    if holds_url_password(text):
        return "connection_string"
    if holds_private_key(text):
        return "private_key"
    return next((kind for kind, pattern in _BEGINNINGS if pattern.search(text)), None)
