"""What a link carries along: secrets, personal data, signatures that open doors.

The protocol forbids all three to servers (a URL question MUST NOT contain
credentials or personal data and MUST NOT be pre-authenticated).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

from handraise.urls.parse import Link
from handraise.urls.tables import read_table, words


class Parameter(NamedTuple):
    """One `name=value`, decoded; `key` is the name in lower case without separators."""

    key: str
    value: str


_SECRET_VALUE = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}|gh[pousr]_\w{20,}|"
    r"github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|"
    r"ya29\.[\w-]{20,}|npm_\w{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|-----BEGIN .*|Bearer .+|"
    r"Basic [A-Za-z0-9+/=]{8,}",
    re.DOTALL,
)
_EMAIL = re.compile(
    r"(?:mailto:)?[\w.!#$%&'*+-]+@(?:[\w-]+\.)+(?!js|mjs|css|json|map|html?|png|svg)[a-z]{2,24}", re.I
)
_PHONE = re.compile(r"[+ ]\d[\d ().-]{7,18}")
_SSN = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}")
_CARD = re.compile(r"[3-6]\d{3}(?:[ -]?\d{3,6}){2,4}")
_FULL_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z.]*){1,3}")
_RANDOM = re.compile(r"(?=.*\d)[\w.~+/=-]{16,}")
_KEY_SEPARATORS = re.compile(r"[^a-z0-9]")
_LINK_THAT_SIGNS_IN = re.compile(
    r"/(?:magic(?:-?link)?|reset-?password|password-?reset|auto-?login|one-?time-?login|verify-?email)/[\w.~-]{16,}",
    re.I,
)
_HOOK = re.compile(r"https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/\w+/[\w/-]{8,}")


def read_parameters(link: Link) -> list[Parameter]:
    """The parameters of the query, then those of the fragment (`#access_token=…`, `#/page?token=…`)."""
    pairs = link.parts.query[1:].split("&") + link.parts.fragment[1:].rpartition("?")[2].split("&")
    return [
        Parameter(_KEY_SEPARATORS.sub("", unquote_plus(name).lower()), unquote_plus(value))
        for name, sign, value in (pair.partition("=") for pair in pairs)
        if sign
    ]


def check_parameters(link: Link, parameters: list[Parameter]) -> Iterator[str]:
    """What must not travel in a link, found by the names of parameters and by the shape of values."""
    keys = {parameter.key for parameter in parameters if parameter.value}
    telling = [
        parameter for parameter in parameters if parameter.value and not _says_nothing(parameter.value)
    ]
    if any(together <= keys for together in _signed()):
        yield "presigned_url"
    if not keys.isdisjoint(_named("signs_in")) or _LINK_THAT_SIGNS_IN.search(link.parts.path):
        yield "preauthenticated_url"
    if any(map(_is_credential, telling)) or _HOOK.match(link.href):
        yield "credentials_in_url"
    if any(map(_is_personal, telling)) or any(map(_is_personal_value, unquote(link.parts.path).split("/"))):
        yield "pii_in_url"


def _named(key: str) -> frozenset[str]:
    return words("parameters.toml", key)


@cache
def _endings(key: str) -> tuple[str, ...]:
    return tuple(_named(key))


@cache
def _signed() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(together.split()) for together in read_table("parameters.toml")["signed"])


def _says_nothing(value: str) -> bool:
    return value.lower() in _named("says_nothing")


def _is_credential(parameter: Parameter) -> bool:
    key, value = parameter
    if key in _named("public"):
        return False
    if key in _named("credential") or key.endswith(_endings("credential_endings")):
        return True
    return bool(
        _SECRET_VALUE.match(value) or (key in _named("credential_if_random") and _RANDOM.fullmatch(value))
    )


def _is_personal(parameter: Parameter) -> bool:
    key, value = parameter
    if key in _named("personal") or key.endswith(_endings("personal_endings")):
        return True
    return _is_personal_value(value) or (key == "name" and _FULL_NAME.fullmatch(value) is not None)


def _is_personal_value(value: str) -> bool:
    if "@" in value:
        return _EMAIL.fullmatch(value) is not None
    if not value[-1:].isdigit():
        return False
    return bool(_PHONE.fullmatch(value) or _SSN.fullmatch(value)) or _is_card(value)


def _is_card(value: str) -> bool:
    if not _CARD.fullmatch(value):
        return False
    digits = [int(digit) for digit in reversed(value) if digit.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0
