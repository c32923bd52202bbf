"""The well-known names: the list that comes with Handraise, and what the user adds to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from handraise.urls.confusables import skeleton
from handraise.urls.suffixes import public_suffix, registrable_domain
from handraise.urls.tables import read_table


@dataclass(frozen=True, slots=True)
class Brands:
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
def brand_list(added: frozenset[str] = frozenset()) -> Brands:
    """The shipped names together with the domains that the user added."""
    shipped = read_table("brands.toml")
    owned = {name: set(domains) for name, domains in shipped["brands"].items()}
    for domain in map(str.lower, added):
        registered = registrable_domain(domain) or domain
        owned.setdefault(registered.partition(".")[0], set()).add(registered)
    return Brands(
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
