"""Take a URL apart the way browsers do, and keep how it was written beside what it means.

The parser is `ada-url`, which follows the WHATWG URL standard; `href` is the
standard's own serialisation. It is regular, so one pattern takes it apart again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ada_url import idna_to_unicode, normalize_url

from handraise.urls.tables import registrable_domain

HostKind = Literal["name", "ipv4", "ipv6", "none"]

_SERIALISED = re.compile(
    r"([^:]*:)(?:(//)([^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(:\d+)?)?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL
)
_WRITTEN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?P<slashes>[/\\]*)(?P<authority>[^/\\?#]*)", re.DOTALL)
_IPV4 = re.compile(r"\d+\.\d+\.\d+\.\d+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_REMOVED = re.compile(r"[\t\n\r]")


class UrlParts(NamedTuple):
    """A serialised URL, each part with its marks; joined together they are the URL again."""

    scheme: str
    slashes: str
    userinfo: str
    host: str
    port: str
    path: str
    query: str
    fragment: str


@dataclass(frozen=True, slots=True)
class WrittenUrl:
    """How the other side spelled the URL, split where a browser splits it."""

    text: str
    slashes: str
    authority: str

    @property
    def host(self) -> str:
        """The host as it was written, without user name and port."""
        host = self.authority.rpartition("@")[2]
        if host.startswith("["):
            return host.partition("]")[0] + "]"
        return host.partition(":")[0]


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """A URL that a browser can read, and what is known of its host."""

    written: WrittenUrl
    href: str
    parts: UrlParts
    kind: HostKind
    domain: str | None
    """The registrable domain; None for numbers, single words and bare suffixes."""
    unicode_host: str
    """The host with its encoded labels decoded. Not yet fit to be shown."""

    @property
    def host(self) -> str:
        """The host as it is opened: encoded, without user name and port."""
        return self.parts.host


def read_written(text: str) -> WrittenUrl:
    """Split the text as it stands, whether or not it can be parsed."""
    match = _WRITTEN.match(_REMOVED.sub("", text.strip(_C0_AND_SPACE)))
    if match is None:
        return WrittenUrl(text, "//", "")
    return WrittenUrl(text, match["slashes"], match["authority"])


def parse_url(written: WrittenUrl) -> ParsedUrl | None:
    """The URL as a browser understands it, or None when it does not."""
    href = parse_href(written.text)
    if href is None:
        return None
    parts = split_href(href)
    kind = _kind(parts.host)
    domain = registrable_domain(parts.host) if kind == "name" else None
    return ParsedUrl(written, href, parts, kind, domain, unicode_host(parts.host))


def split_href(href: str) -> UrlParts:
    """Take the browser's own serialisation apart again."""
    match = _SERIALISED.fullmatch(href)
    assert match is not None  # a serialised URL always has a scheme
    return UrlParts(*match.groups(""))


def unicode_host(host: str) -> str:
    """The host with its encoded labels decoded."""
    return str(idna_to_unicode(host)) if "xn--" in host else host


def parse_href(text: str) -> str | None:
    """The browser's own serialisation; lone surrogates become U+FFFD as in every browser API."""
    try:
        return str(normalize_url(_SURROGATES.sub("\ufffd", text)))
    except ValueError:
        return None


def _kind(host: str) -> HostKind:
    if not host:
        return "none"
    if host[0] == "[":
        return "ipv6"
    return "ipv4" if _IPV4.fullmatch(host) else "name"


UrlPieceKind = Literal["scheme", "userinfo", "subdomain", "domain", "port", "path", "query", "fragment"]


class UrlPiece(NamedTuple):
    """A stretch of the link. The one of kind `domain` is to be emphasised."""

    kind: UrlPieceKind
    text: str


def pieces_of(href: str, domain: str | None) -> tuple[UrlPiece, ...]:
    """The pieces of a serialised link in order; joined together they are the link again."""
    parts = split_href(href)
    registered = len(parts.host.rstrip(".")) - len(domain) if domain else 0
    pieces = (
        UrlPiece("scheme", parts.scheme + parts.slashes),
        UrlPiece("userinfo", parts.userinfo),
        UrlPiece("subdomain", parts.host[:registered]),
        UrlPiece("domain", parts.host[registered:]),
        UrlPiece("port", parts.port),
        UrlPiece("path", parts.path),
        UrlPiece("query", parts.query),
        UrlPiece("fragment", parts.fragment),
    )
    return tuple(piece for piece in pieces if piece.text)
