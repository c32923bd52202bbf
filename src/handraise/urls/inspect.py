"""Judge a link: ok, warn or danger, with the reasons, and the form in which to show and open it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from handraise.display import for_line
from handraise.errors import UnsafeUrl
from handraise.urls.imitation import (
    BrandTable,
    brand_list,
    check_host_spelling,
    check_imitation,
    check_spelling,
)
from handraise.urls.international import check_international
from handraise.urls.network import LinkSender, LinkTransport, check_network, check_site, sender_of
from handraise.urls.parameters import check_parameters, check_redirects, read_parameters
from handraise.urls.parse import ParsedUrl, UrlPiece, parse_url, pieces_of, read_written, unicode_host

UrlVerdict = Literal["ok", "warn", "danger"]
"""How bad a link is."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One finding as a sentence for a person, and how bad it is on its own."""

    sentence: str
    severity: UrlVerdict


_DANGER = {
    "scheme_not_allowed": "This is not a web address: only http and https links may be opened.",
    "parse_failure": "A browser cannot read this address.",
    "backslash": "It contains a backslash, which a browser reads as a slash: the site may be another one.",
    "irregular_slashes": "It has too many or too few slashes after the scheme.",
    "control_chars": "It contains control characters that a browser removes without saying so.",
    "invisible_char": "It contains invisible characters.",
    "bidi_char": "It contains characters that turn text around, so that it reads differently.",
    "userinfo": "There is a name or password before the site (the part before @ is not the site).",
    "percent_in_host": "The name of the site is partly hidden behind % codes.",
    "invalid_host_char": "The name of the site has a character that no real domain name has.",
    "invalid_punycode": "The name of the site claims to be an encoded international name and is not one.",
    "ip_obfuscated": "It is a numeric address in a disguised form.",
    "loopback_from_remote": "A server elsewhere sends you to your own computer.",
    "metadata_address": "It leads to the address where cloud machines keep their credentials.",
    "private_ip": "A server elsewhere sends you into your own network.",
    "local_name": "A server elsewhere sends you to a name that exists only in your own network.",
    "mixed_script": "The name mixes letters of different alphabets, as forgeries do.",
    "whole_script_confusable": "The name is written in another alphabet but looks like Latin letters.",
    "digit_lookalike": "The name has characters that look like digits and are not, or mixes kinds of digits.",
    "deceptive_punctuation": "The name has a character that looks like a slash, a dot or another separator.",
    "stacked_marks": "The name has accents piled up, or where they cannot be seen.",
    "brand_confusable": "The name looks like a well-known one, but is spelled with other characters.",
    "brand_in_subdomain": "A well-known name stands in front, but the site belongs to someone else.",
    "redirect_to_script": "A parameter makes the page go to something that is not a web address.",
}

_WARN = {
    "surrounding_space": "There is white space around the address.",
    "encoded_bidi": "It contains encoded characters that turn text around.",
    "encoded_control": "It contains encoded control characters.",
    "userinfo_lookalike": "An @ behind the site's name makes another name look like the site.",
    "irregular_dots": "The name of the site is written with unusual dots.",
    "host_rewritten": "The name of the site is written with unusual characters; a browser changes them.",
    "trailing_dot": "The name of the site ends with a dot, or has an empty part.",
    "ip_literal": "The site is a bare number, not a name: nothing says whose it is.",
    "address_in_name": "The name of the site contains a numeric address, which is not where it leads.",
    "local_network": "It leads into your own network.",
    "single_label_host": "The name of the site is a single word; where it leads depends on your network.",
    "public_suffix_host": "The site is an ending under which others have their names, not a site of its own.",
    "insecure_http": "The connection is not encrypted; others can read and change it.",
    "odd_port": "It uses an unusual port.",
    "unusual_script": "The name uses an alphabet that is hardly ever used in domain names.",
    "symbol_in_name": "The name contains a symbol or an emoji.",
    "deviation_char": "The name has a character that some programs read as a different name.",
    "punycode": "The name is in its encoded form, which nobody can read.",
    "brand_label_in_subdomain": "A well-known name is in the address, but the site belongs to someone else.",
    "brand_combosquat": "A well-known name is part of the domain, but the domain is a different one.",
    "brand_edit_distance": "The domain is one letter away from a well-known one.",
    "brand_other_suffix": "The name is a well-known one, with a different ending.",
    "brand_outside_host": "A well-known name stands behind the site's name, but the site is a different one.",
    "shared_host": "Anyone can get a page under this domain.",
    "shortener": "It is a shortened link; where it leads cannot be seen.",
    "file_like_tld": "The domain looks like the name of a file.",
    "long_host": "The name of the site is very long.",
    "long_url": "The address is very long.",
    "open_redirect": "A parameter makes the page send you on to another site.",
    "presigned_url": "The link carries a signature: anyone who has the link gets in.",
    "preauthenticated_url": "Anyone who opens the link is signed in.",
    "credentials_in_url": "The link contains a password, key or token.",
    "pii_in_url": "The link contains personal data.",
}

_OK = {
    "loopback": "It leads to a page on your own computer, where this server runs too.",
    "idn_label": "The name uses letters beyond a to z.",
    "direct_third_party_authorize": "It leads straight to another company's permission page.",
}

REASONS: Mapping[str, Reason] = MappingProxyType(
    {name: Reason(sentence, "danger") for name, sentence in _DANGER.items()}
    | {name: Reason(sentence, "warn") for name, sentence in _WARN.items()}
    | {name: Reason(sentence, "ok") for name, sentence in _OK.items()}
)
"""Every reason, the worst first; in this order they are listed."""

_PLACE = {name: place for place, name in enumerate(REASONS)}


def in_order(found: Iterable[str]) -> tuple[str, ...]:
    """The reasons once each, the worst first."""
    return tuple(sorted(set(found), key=_PLACE.__getitem__))


def verdict_of(reasons: tuple[str, ...]) -> UrlVerdict:
    """The worst severity among reasons that are in order; ok without reasons."""
    return REASONS[reasons[0]].severity if reasons else "ok"


@dataclass(frozen=True, slots=True)
class Inspection:
    """The facts about a link. `href` is the one form to show and to open.

    The link itself stays out of `repr`: it may carry a secret.
    """

    verdict: UrlVerdict
    reasons: tuple[str, ...]
    href: str | None = field(repr=False)
    registrable_domain: str | None
    host: str | None

    @property
    def may_be_opened(self) -> bool:
        """Whether a person may be offered to open it: it can be read, and is no danger."""
        return self.href is not None and self.verdict != "danger"

    @property
    def host_display(self) -> str | None:
        """The host with international names decoded, fit to be shown."""
        return None if self.host is None else for_line(unicode_host(self.host))

    @property
    def pieces(self) -> tuple[UrlPiece, ...]:
        """The link in pieces, with the domain to be emphasised; joined together they are `href`."""
        return () if self.href is None else pieces_of(self.href, self.registrable_domain)


def inspect_url(
    url: str,
    *,
    transport: LinkTransport = "http",
    server_host: str | None = None,
    brands: Collection[str] = (),
) -> Inspection:
    """Judge a link that a server sent.

    `transport` and `server_host` say where the server is. `brands` are domains to
    protect against imitation beside the well-known ones.
    """
    written = read_written(url)
    link = parse_url(written)
    if link is None:
        return _unreadable(in_order(("parse_failure", *check_spelling(written))))
    found = list(check_spelling(written))
    if link.parts.scheme in ("https:", "http:"):
        found += _check_web(link, sender_of(transport, server_host), brand_list(frozenset(brands)))
    else:
        found.append("scheme_not_allowed")
    reasons = in_order(found)
    return Inspection(
        verdict=verdict_of(reasons),
        reasons=reasons,
        href=link.href,
        registrable_domain=link.domain,
        host=link.host or None,
    )


def _check_web(link: ParsedUrl, asker: LinkSender, brands: BrandTable) -> Iterator[str]:
    own = asker.owns(link)
    parameters = read_parameters(link)
    yield from check_host_spelling(link)
    yield from check_network(link, asker)
    yield from check_international(link, own=own)
    if not own and link.domain not in brands.domains:
        yield from check_imitation(link, brands, asker.domain)
        yield from check_site(link)
    yield from check_parameters(link, parameters, brands)
    yield from check_redirects(link, parameters, asker, brands)


def _unreadable(reasons: tuple[str, ...]) -> Inspection:
    return Inspection("danger", reasons, None, None, None)


_FORBIDDEN: Final = frozenset(
    ("credentials_in_url", "pii_in_url", "presigned_url", "preauthenticated_url", "insecure_http")
)
"""Findings that the protocol forbids to servers. A client only warns of them."""


def require_safe_url(
    url: str, *, unsafe_plain_http: bool = False, server_host: str | None = None
) -> Inspection:
    """Check a link that this server is about to send, and give back its inspection.

    The protocol: a server MUST NOT put personal data or credentials into the URL,
    MUST NOT send one that is already authenticated, and SHOULD use https outside
    development. Loopback is development. Raises `UnsafeUrl`, which names the
    reasons and never the link.
    """
    inspection = inspect_url(url, transport="stdio", server_host=server_host)
    reasons = [
        reason
        for reason in inspection.reasons
        if reason in _FORBIDDEN or REASONS[reason].severity == "danger"
    ]
    if unsafe_plain_http and "insecure_http" in reasons:
        warnings.warn("unsafe_plain_http lets a link without encryption through", stacklevel=2)
        reasons.remove("insecure_http")
    if reasons:
        sentences = " ".join(REASONS[reason].sentence for reason in reasons)
        raise UnsafeUrl(f"This link may not be sent. {sentences}", reasons=tuple(reasons))
    return inspection
