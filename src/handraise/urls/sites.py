"""What kind of site an unknown domain is: shared, a shortener, like a file, or absurdly long."""

from __future__ import annotations

from collections.abc import Iterator

from handraise.urls.parse import Link
from handraise.urls.suffixes import is_shared, public_suffix
from handraise.urls.tables import words

_FILE_ENDINGS = (".zip", ".mov")
_LONG_HOST = 80
_MANY_LABELS = 6
_LONG_LABEL = 40


def check_site(link: Link) -> Iterator[str]:
    """What is to be said about a domain that nobody vouches for."""
    if link.domain in words("hosts.toml", "shorteners"):
        yield "shortener"
    elif link.domain is not None and is_shared(public_suffix(link.domain)):
        yield "shared_host"
    if link.host.endswith(_FILE_ENDINGS):
        yield "file_like_tld"
    labels = link.host.split(".")
    if len(link.host) > _LONG_HOST or len(labels) > _MANY_LABELS or max(map(len, labels)) > _LONG_LABEL:
        yield "long_host"
