"""The lists that the checks go by: data files, read at first use, and the public suffix list."""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


def read_data(name: str) -> str:
    """The text of a data file of this package."""
    return files("handraise.urls").joinpath("data", name).read_text(encoding="utf-8")


@cache
def read_table(name: str) -> dict[str, Any]:
    """A TOML file of this package, as it stands."""
    return tomllib.loads(read_data(name))


@cache
def words(name: str, key: str) -> frozenset[str]:
    """A list of words in a TOML file of this package."""
    return frozenset(read_table(name)[key].split())


_LONGEST_NAME = 253


@cache
def _suffixes(*, only_icann: bool) -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # at first use: reading the list takes a while

    return PublicSuffixList(only_icann=only_icann)


def registrable_domain(host: str) -> str | None:
    """The name that somebody registered, under a public suffix.

    Suffixes that a company opened to everyone (`github.io`, `vercel.app`) count:
    the page below is somebody else's. Unknown endings count as one-word suffixes.
    """
    if len(host) > _LONGEST_NAME:  # nothing endless is remembered
        return _registrable_domain.__wrapped__(host)
    return _registrable_domain(host)


@lru_cache(maxsize=1024)
def _registrable_domain(host: str) -> str | None:
    domain: str | None = _suffixes(only_icann=False).privatesuffix(host)
    return domain


def public_suffix(domain: str) -> str:
    """The ending of a registrable domain."""
    return domain.partition(".")[2]


@lru_cache(maxsize=1024)
def is_shared(suffix: str) -> bool:
    """Whether a public suffix is one that a company opened to everyone."""
    return bool(_suffixes(only_icann=True).publicsuffix(suffix) != suffix)
