"""Find secrets, personal data, signatures and redirects in a link."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

from handraise.urls.imitation import BrandTable
from handraise.urls.network import LinkSender, address_of, is_loopback
from handraise.urls.parse import ParsedUrl, parse_url, read_written
from handraise.urls.tables import read_table, words

_TIMES_ENCODED = 3


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
_CAPITAL_AND_DIGIT = re.compile(r"(?=.*[A-Z])(?=.*\d)")
_BETWEEN = re.compile(r"[?#;&]")
_KEY_SEPARATORS = re.compile(r"[^a-z0-9]")
_LINK_THAT_SIGNS_IN = re.compile(
    r"/(?:magic(?:-?link)?|reset-?password|password-?reset|auto-?login|one-?time-?login|verify-?email)/[\w.~-]{16,}",
    re.I,
)
_HOOK = re.compile(
    r"https://(?:hooks\.slack\.com/services/\w+/[\w/-]{8,}|discord(?:app)?\.com/api/webhooks/\w+/[\w/-]{8,}|"
    r"api\.telegram\.org/(?:file/)?bot\d+:[\w-]{20,})"
)
_REQUEST_TOKENS = frozenset(("oauthtoken", "token"))


def read_parameters(link: ParsedUrl) -> list[Parameter]:
    """The parameters of the query, then those of the fragment (`#access_token=…`, `#/page?token=…`)."""
    return _read(link.parts.query[1:].split("&") + link.parts.fragment[1:].rpartition("?")[2].split("&"))


def _hidden_parameters(link: ParsedUrl, parameters: list[Parameter]) -> Iterator[Parameter]:
    """Parameters in other places: behind a semicolon, in the path, and in a link that is the value of another one."""
    texts = [link.parts.path, link.parts.query[1:], *(parameter.value for parameter in parameters)]
    for _ in range(_TIMES_ENCODED):
        found = _read(pair for text in texts for pair in _BETWEEN.split(text)[1:])
        yield from found
        texts = [parameter.value for parameter in found]


def _read(pairs: Iterable[str]) -> list[Parameter]:
    return [
        Parameter(_KEY_SEPARATORS.sub("", unquote_plus(name).lower()), unquote_plus(value))
        for name, sign, value in (pair.partition("=") for pair in pairs)
        if sign
    ]


def check_parameters(link: ParsedUrl, parameters: list[Parameter], brands: BrandTable) -> Iterator[str]:
    """The findings about data that must not travel in a link. They come from parameters' names and values' shapes."""
    parameters = [*parameters, *_hidden_parameters(link, parameters)]
    if link.domain in brands.domains and _last_step(link) in _named("approves"):
        parameters = [each for each in parameters if not _is_request_token(each)]
    keys = {parameter.key for parameter in parameters if parameter.value}
    telling = [
        parameter for parameter in parameters if parameter.value and not _says_nothing(parameter.value)
    ]
    if any(together <= keys for together in _signed()):
        yield "presigned_url"
    if not keys.isdisjoint(_named("signs_in")) or _LINK_THAT_SIGNS_IN.search(link.parts.path):
        yield "preauthenticated_url"
    steps = unquote(link.parts.path).split("/")
    if any(map(_is_credential, telling)) or _HOOK.match(link.href) or any(map(_is_key, steps)):
        yield "credentials_in_url"
    if any(map(_is_personal, telling)) or any(map(_is_personal_value, steps)):
        yield "pii_in_url"


def _last_step(link: ParsedUrl) -> str:
    return link.parts.path.rstrip("/").rpartition("/")[2].lower()


def _is_request_token(parameter: Parameter) -> bool:
    return parameter.key in _REQUEST_TOKENS and not _SECRET_VALUE.match(parameter.value)


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


def _is_key(step: str) -> bool:
    """Whether a step of a path looks like a key: it has a key's shape, and capitals and digits, as few names have."""
    return _SECRET_VALUE.fullmatch(step) is not None and _CAPITAL_AND_DIGIT.match(step) is not None


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


_LEADS_AWAY = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[/\\]\s*[/\\])", re.I)
_SCRIPT = re.compile(r"[\s\x00-\x20]*(?:javascript|data|vbscript|file|blob)\s*:", re.I)
_LINK_IN_PATH = re.compile(r"/(https?:/.*)", re.I | re.DOTALL)


def check_redirects(
    link: ParsedUrl, parameters: list[Parameter], asker: LinkSender, brands: BrandTable
) -> Iterator[str]:
    """Where the page would send the person on to."""
    authorization = _is_authorization(parameters)
    known, own = link.domain in brands.domains, asker.owns(link)
    if authorization and known and not own:
        yield "direct_third_party_authorize"
    for key, value in _targets(link, parameters):
        target = _decoded(value)
        if _SCRIPT.match(target):
            yield "redirect_to_script"
        elif (
            key == "redirecturi"
            and authorization
            and (known or _returns_to(target, asker, loopback=own or asker.local))
        ):
            continue  # the permission page has to send its answer back to the site that asked
        elif known and _last_step(link) in _named("shares"):
            continue
        elif _leads_elsewhere(target, link, asker):
            yield "open_redirect"


def _is_authorization(parameters: list[Parameter]) -> bool:
    keys = {parameter.key for parameter in parameters}
    return "clientid" in keys and not keys.isdisjoint(_named("authorization"))


def _targets(link: ParsedUrl, parameters: list[Parameter]) -> Iterator[Parameter]:
    searches = _last_step(link) not in _named("goes_on")
    for parameter in parameters:
        if parameter.key in _named("sends_on") and not (parameter.key == "q" and searches):
            yield parameter
    if inner := _LINK_IN_PATH.search(link.parts.path):
        yield Parameter("path", inner[1])


def _decoded(value: str) -> str:
    for _ in range(_TIMES_ENCODED):
        if "%" not in value:
            break
        value = unquote(value)
    return value


def _leads_elsewhere(value: str, link: ParsedUrl, asker: LinkSender) -> bool:
    if not _LEADS_AWAY.match(value):
        return False
    target = parse_url(read_written(value if ":" in value.partition("/")[0] else link.parts.scheme + value))
    if target is None or target.kind == "none":
        return False
    return not (asker.owns(target) or _same_site(link, target))


def _returns_to(value: str, asker: LinkSender, *, loopback: bool) -> bool:
    target = parse_url(read_written(value))
    if target is None:
        return False
    return asker.owns(target) or (loopback and is_loopback(target, address_of(target)))


def _same_site(link: ParsedUrl, target: ParsedUrl) -> bool:
    return target.host == link.host if link.domain is None else target.domain == link.domain
