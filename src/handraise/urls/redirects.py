"""Links that send the person on: redirect parameters, and authorization requests that have them by right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from handraise.urls.addresses import address_of, is_loopback
from handraise.urls.asker import Asker
from handraise.urls.brand_list import Brands
from handraise.urls.parameters import Parameter
from handraise.urls.parse import Link, parse_url, read_written
from handraise.urls.tables import words

_LEADS_AWAY = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:|[/\\]\s*[/\\])", re.I)
_SCRIPT = re.compile(r"[\s\x00-\x20]*(?:javascript|data|vbscript|file|blob)\s*:", re.I)
_LINK_IN_PATH = re.compile(r"/(https?:/.*)", re.I | re.DOTALL)
_TIMES_ENCODED = 3


def check_redirects(link: Link, parameters: list[Parameter], asker: Asker, brands: Brands) -> Iterator[str]:
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
            continue  # the permission page has to send its answer back to whoever asked
        elif _leads_elsewhere(target, link, asker):
            yield "open_redirect"


def _is_authorization(parameters: list[Parameter]) -> bool:
    keys = {parameter.key for parameter in parameters}
    return "clientid" in keys and not keys.isdisjoint(words("parameters.toml", "authorization"))


def _targets(link: Link, parameters: list[Parameter]) -> Iterator[Parameter]:
    yield from (
        parameter for parameter in parameters if parameter.key in words("parameters.toml", "sends_on")
    )
    if inner := _LINK_IN_PATH.search(link.parts.path):
        yield Parameter("path", inner[1])


def _decoded(value: str) -> str:
    for _ in range(_TIMES_ENCODED):
        if "%" not in value:
            break
        value = unquote(value)
    return value


def _leads_elsewhere(value: str, link: Link, asker: Asker) -> bool:
    if not _LEADS_AWAY.match(value):
        return False
    target = parse_url(read_written(value if ":" in value.partition("/")[0] else link.parts.scheme + value))
    if target is None or target.kind == "none":
        return False
    return not (asker.owns(target) or _same_site(link, target))


def _returns_to(value: str, asker: Asker, *, loopback: bool) -> bool:
    target = parse_url(read_written(value))
    if target is None:
        return False
    return asker.owns(target) or (loopback and is_loopback(target, address_of(target)))


def _same_site(link: Link, target: Link) -> bool:
    return target.host == link.host if link.domain is None else target.domain == link.domain
