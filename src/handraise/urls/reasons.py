"""Why a link is called what it is called: one table of names, severities and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

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
    """The worst severity among reasons that are in order; no reason is no objection."""
    return REASONS[reasons[0]].severity if reasons else "ok"
