"""Links that imitate a well-known name, and tricks of spelling that a browser repairs and a person misreads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

from handraise.urls.international import skeleton
from handraise.urls.parse import ParsedUrl, WrittenUrl
from handraise.urls.tables import public_suffix, read_table, registrable_domain

_PLAIN = re.compile(r"[!-\[\]-~]*")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Not the joiners and variation selectors: scripts and emoji need them, and a host keeps or refuses them."""
_ENCODED_BIDI = re.compile(r"%(?:D8%9C|E2%80%(?:8[EF]|A[A-E])|E2%81%A[6-9])", re.IGNORECASE)
_ENCODED_CONTROL = re.compile(r"%(?:[01][0-9A-F]|7F)", re.IGNORECASE)
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")
_ODD_IN_NAME = re.compile(r"[^a-z0-9._\-]")
_LONG = 2000
_AT_BEHIND_HOST = re.compile(r"/?[?#][^/=&]*@([^/?#&]*)")


def check_spelling(written: WrittenUrl) -> Iterator[str]:
    """Tricks that can be seen without understanding the URL."""
    if "\\" in re.split(r"[?#]", written.text, maxsplit=1)[0]:
        yield "backslash"
    elif written.slashes != "//" and _is_web(written.text):
        yield "irregular_slashes"
    if not _PLAIN.fullmatch(written.text):
        yield from _check_characters(written.text)


def _is_web(text: str) -> bool:
    return text.lstrip().lower().startswith(("http:", "https:"))


def _check_characters(text: str) -> Iterator[str]:
    inner = text.strip(" \t\r\n")
    if inner != text:
        yield "surrounding_space"
    if _CONTROL.search(inner):
        yield "control_chars"
    if _BIDI.search(inner):
        yield "bidi_char"
    if _INVISIBLE.search(inner):
        yield "invisible_char"


def check_host_spelling(link: ParsedUrl) -> Iterator[str]:
    """Tricks that show when the written host is compared with the real one."""
    if "@" in link.written.authority:
        yield "userinfo"
    if name_behind_at(link) is not None:
        yield "userinfo_lookalike"
    if len(link.href) > _LONG:
        yield "long_url"
    if _ENCODED_BIDI.search(link.written.text):
        yield "encoded_bidi"
    if _ENCODED_CONTROL.search(link.parts.path):
        yield "encoded_control"
    if link.kind == "name":
        yield from _check_name_spelling(link)


def name_behind_at(link: ParsedUrl) -> str | None:
    """The text that an @ behind the host makes look like the host: `https://github.com#@this`."""
    match = _AT_BEHIND_HOST.match(link.parts.path + link.parts.query + link.parts.fragment)
    return match[1] if match else None


def _check_name_spelling(link: ParsedUrl) -> Iterator[str]:
    written = link.written.host
    if "%" in written:
        yield "percent_in_host"
    elif written.lower() != link.host:
        yield from _check_rewritten(written, link.unicode_host)
    if link.host.endswith(".") or ".." in link.host or link.host.startswith("."):
        yield "trailing_dot"
    if _ODD_IN_NAME.search(link.host):
        yield "invalid_host_char"


def _check_rewritten(written: str, meant: str) -> Iterator[str]:
    straight = written.translate(_DOTS)
    if straight != written:
        yield "irregular_dots"
    # Soft hyphens and the like have a reason of their own; case and composition are no trick.
    visible = _INVISIBLE.sub("", straight)
    if normalize("NFC", visible.lower()) != meant and normalize("NFC", visible).lower() != meant:
        yield "host_rewritten"


@dataclass(frozen=True, slots=True)
class BrandTable:
    """Well-known names, laid out so that imitations are found by looking up."""

    domains: frozenset[str]
    """The registrable domains that belong to them."""
    endings: Mapping[str, frozenset[str]]
    """Each name that is imitated, and the endings under which it is genuine."""
    skeletons: frozenset[str]
    shortened: Mapping[str, frozenset[str]]
    """Each name whole and with one letter left out: where typing errors meet it."""
    ordinary: frozenset[str]
    """Names that are everyday words."""
    among_words: frozenset[str]
    """Names with honest neighbours."""
    innocent: frozenset[str]
    lures: frozenset[str]


@lru_cache(maxsize=32)
def brand_list(added: frozenset[str] = frozenset()) -> BrandTable:
    """The shipped names together with the domains that the user added."""
    shipped = read_table("brands.toml")
    owned = {name: set(domains) for name, domains in shipped["brands"].items()}
    for domain in map(str.lower, added):
        registered = registrable_domain(domain) or domain
        owned.setdefault(registered.partition(".")[0], set()).add(registered)
    return BrandTable(
        domains=frozenset(shipped["known"]["domains"]).union(*owned.values()),
        endings={name: frozenset(map(public_suffix, domains)) for name, domains in owned.items()},
        skeletons=frozenset(map(skeleton, owned)),
        shortened=_shortened(owned),
        ordinary=frozenset(shipped["words"]["ordinary"].split()),
        among_words=frozenset(shipped["words"]["among_words"].split()),
        innocent=frozenset(shipped["words"]["innocent"].split()),
        lures=frozenset(shipped["words"]["lures"].split()),
    )


def one_letter_left_out(name: str) -> Iterator[str]:
    """The name itself, then without its first letter, without its second, and so on."""
    yield name
    for place in range(len(name)):
        yield name[:place] + name[place + 1 :]


def _shortened(names: Mapping[str, object]) -> Mapping[str, frozenset[str]]:
    meets: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        for short in one_letter_left_out(name):
            meets[short].add(name)
    return {short: frozenset(found) for short, found in meets.items()}


_SHORTEST_TYPO = 6
"""Shorter names have too many honest neighbours: they count only under their own ending."""
_LONGEST_NAME = 253
"""Longer ones do not exist in the DNS."""
_BETWEEN_WORDS = re.compile(r"[^a-z0-9]+")


def check_imitation(link: ParsedUrl, brands: BrandTable, own_domain: str | None) -> Iterator[str]:
    """The findings about a link that is neither the server's own nor a well-known one.

    The server's own domain may be imitated too: the person knows and trusts it.
    """
    if link.domain is not None and len(link.host) <= _LONGEST_NAME:
        ending = public_suffix(link.domain)
        labels = link.unicode_host.rstrip(".").split(".")[: -(ending.count(".") + 1)]
        yield from _check_subdomain(labels, brands, own_domain)
        yield from _check_name(labels, ending, brands, own_domain)
    if _is_named_behind_host(link, brands):
        yield "brand_outside_host"


def _check_subdomain(labels: list[str], brands: BrandTable, own_domain: str | None) -> Iterator[str]:
    words = _BETWEEN_WORDS.split(".".join(labels))
    if any(".".join(pair) in brands.domains for pair in pairwise(words)) or _contains(words, own_domain):
        yield "brand_in_subdomain"
    elif any(part in brands.endings for label in labels[:-1] for part in _parts(label)):
        yield "brand_label_in_subdomain"


def _contains(words: list[str], domain: str | None) -> bool:
    inside = _BETWEEN_WORDS.sub(".", domain) if domain else None
    return inside is not None and f".{inside}." in f".{'.'.join(words)}."


def _check_name(labels: list[str], ending: str, brands: BrandTable, own_domain: str | None) -> Iterator[str]:
    name = labels[-1]
    own_name = own_domain.partition(".")[0] if own_domain else ""
    if any(_looks_like_brand(label, brands) for label in labels):
        yield "brand_confusable"
    elif name in brands.endings:
        yield "brand_other_suffix"
    elif name != own_name and skeleton(name) == skeleton(own_name):
        yield "brand_confusable"
    elif _is_joined(name, brands):
        yield "brand_combosquat"
    elif _is_mistyped(name, ending, brands):
        yield "brand_edit_distance"


def _parts(label: str) -> set[str]:
    """The label, the parts between its hyphens, and the label without hyphens (`pay-pal`)."""
    return {label, *label.split("-"), label.replace("-", "")} if "-" in label else {label}


def _looks_like_brand(label: str, brands: BrandTable) -> bool:
    """The label, or a part of it, reads as a brand and is spelled differently."""
    return any(
        part not in brands.endings and part not in brands.innocent and skeleton(part) in brands.skeletons
        for part in _parts(label)
    )


def _is_joined(name: str, brands: BrandTable) -> bool:
    """`github-anything`; `slack-login` but not `slack-anything`; `paypallogin` and `pay-pal` too."""
    if "-" in name:
        parts = _parts(name)
        inviting = not brands.lures.isdisjoint(parts)
        return any(part in brands.endings and (inviting or part not in brands.ordinary) for part in parts)
    return any(
        (head in brands.endings and tail in brands.lures) or (head in brands.lures and tail in brands.endings)
        for head, tail in ((name[:place], name[place:]) for place in range(2, len(name) - 1))
    )


def _is_mistyped(name: str, ending: str, brands: BrandTable) -> bool:
    if name in brands.innocent:
        return False
    near = {brand for short in one_letter_left_out(name) for brand in brands.shortened.get(short, ())}
    return any(_one_slip_apart(name, brand) and _is_telling(brand, ending, brands) for brand in near)


def _is_telling(brand: str, ending: str, brands: BrandTable) -> bool:
    return ending in brands.endings[brand] or (
        len(brand) >= _SHORTEST_TYPO and brand not in brands.among_words
    )


def _one_slip_apart(first: str, second: str) -> bool:
    """One letter more, less or different, or two neighbours swapped."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    return (len(first) <= 1 and len(second) <= 1) or (len(first) == 2 and first == second[::-1])


def _is_named_behind_host(link: ParsedUrl, brands: BrandTable) -> bool:
    names = [segment.lstrip("@") for segment in link.parts.path.split("/") if "." in segment]
    names.append(name_behind_at(link) or "")
    return any(registrable_domain(name.lower()) in brands.domains for name in names)
