"""Does what the person typed hold a secret? Read before it leaves (S4).

Only what can be told from the value itself is reported: a key with a known beginning, a private key, a signed
token, a connection string with its password, a card number with its check digit, a wallet's phrase with its
checksum. A password looks like any other word; that is what judging the form is for.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from handraise.policy.secrets.cards import holds_card_number
from handraise.policy.secrets.finding import CALLED, SecretFinding, tier_of
from handraise.policy.secrets.mnemonic import holds_seed_phrase
from handraise.policy.secrets.providers import provider_of

_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|PuTTY-User-Key-File-\d"
    r"|LS0tLS1CRUdJTiB(?:SU0EgUFJJVkFUR|QUklWQVRF|FQyBQUklWQVRF|PUEVOU1NIIFBSSVZBVEU|FTkNSWVBURUQgUFJJVkFURS)"
)
_JWT: Final = re.compile(
    r"(?<![\w.-])(eyJ[A-Za-z0-9_-]{8,2000})\.[A-Za-z0-9_-]{4,20000}\.[A-Za-z0-9_-]{0,2000}"
)
_HEADER: Final = re.compile(
    r"(?i)\b(?:authorization\s{0,3}:\s{0,3})?(?:bearer|basic)\s{1,3}(?=\D{0,60}\d)[A-Za-z0-9._~+/=-]{16,4000}"
)
_URL_PASSWORD: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@?#]{0,100}:[^\s/@?#]{1,200}@[^\s/@]"
)
_PASSWORD_PAIR: Final = re.compile(
    r"(?i)(?<![a-z])(?:password|passwd|pwd|accesskey)\s{0,3}=\s{0,3}[^;&\s]{3,200}"
)
_HOST_PAIR: Final = re.compile(
    r"(?i)(?<![a-z])(?:host|server|data source|user id|uid|user|username|database|dbname|initial catalog"
    r"|jdbc:\w{2,20}:)\s{0,3}[=/]"
)
_SETTING: Final = re.compile(
    r"(?<![A-Za-z])(?:[A-Z][A-Z0-9]{0,30}_){0,6}(?:API_?KEY|SECRET|SECRET_KEY|ACCESS_KEY|TOKEN|PASSWORD|PRIVATE_KEY)"
    r"\s{0,3}=\s{0,3}[\"']?[^\s\"']{8,500}"
)


def scan_answer(content: Mapping[str, object]) -> tuple[SecretFinding, ...]:
    """The fields of an answer that hold a secret. The findings never carry the value."""
    return tuple(
        SecretFinding(name, tier_of(kind), kind, f"What was typed into {name!r} holds {called}.")
        for name, value in content.items()
        for kind, called in _found(value)
    )


def _found(value: object) -> Iterator[tuple[str, str]]:
    """At most one kind, with the words for it."""
    for text in _texts(value):
        if provider := provider_of(text):
            yield provider.kind, f"{CALLED[provider.kind]} of {provider.name}"
            return
        for kind, holds in _CHECKS:
            if holds(text):
                yield kind, CALLED[kind]
                return


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value)] if abs(value) < 10**30 else []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def holds_private_key(text: str) -> bool:
    """Whether the text holds the beginning of a private key in PEM, OpenSSH, PGP or PuTTY form."""
    return _PRIVATE_KEY.search(text) is not None


def holds_url_password(text: str) -> bool:
    """Whether the text holds a URL with a password in it."""
    return _URL_PASSWORD.search(text) is not None


def _holds_signed_token(text: str) -> bool:
    return _HEADER.search(text) is not None or any(_is_header(found[1]) for found in _JWT.finditer(text))


def _is_header(part: str) -> bool:
    """The first part of a JWT says how it is signed; three dotted words do not."""
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return False
    return isinstance(header, dict) and "alg" in header


def _holds_connection_string(text: str) -> bool:
    if holds_url_password(text):
        return True
    return _PASSWORD_PAIR.search(text) is not None and _HOST_PAIR.search(text) is not None


def _holds_setting(text: str) -> bool:
    return _SETTING.search(text) is not None


_CHECKS: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    ("private_key", holds_private_key),
    ("token", _holds_signed_token),
    ("connection_string", _holds_connection_string),
    ("client_secret", _holds_setting),
    ("card_number", holds_card_number),
    ("seed_phrase", holds_seed_phrase),
)
