"""Take a URL apart the way browsers do, and keep how it was written beside what it means.

The parser is `ada-url`, which follows the WHATWG URL standard; `href` is the
standard's own serialisation. It is regular, so one pattern takes it apart again.

`file://` URIs are read and written strictly. A root names the files that a server may touch. So anything that two
readers could read differently is refused: an encoded slash, a `..`, a host, a query. Their paths are POSIX paths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from ada_url import idna_to_unicode, normalize_url

from handraise.errors import SetupError, WireError
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


RULE: Final = "file_uri"
MAX_LENGTH: Final = 4096
"""As long as a path may be on the systems we know."""

_SAFE: Final = "/-._~!$&'()*+,;=:@"  # what RFC 3986 lets stand for itself in a path
_SHAPE: Final = re.compile(r"file://(?:localhost)?(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_SPELLED: Final = re.compile(r"(?:[A-Za-z0-9/\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*")


def parse_file_uri(uri: str) -> PurePosixPath:
    """The absolute path that a `file://` URI of the other side names (RFC 8089)."""
    if len(uri) > 3 * MAX_LENGTH:
        raise _refused("it is too long")
    if not (shaped := _SHAPE.fullmatch(uri)):
        raise _refused("it starts with file:/// and has no other host than localhost")
    spelled = shaped["path"]
    if not _SPELLED.fullmatch(spelled):
        raise _refused(
            "every character outside a plain path is percent-encoded, and there is no query or fragment"
        )
    if re.search("%(?:2f|00)", spelled, re.IGNORECASE):
        raise _refused("a slash or a null character must not hide in an encoding")
    try:
        path = unquote_to_bytes(spelled).decode("utf-8")
    except UnicodeDecodeError:
        raise _refused("its encoding is not UTF-8") from None
    if problem := _ambiguous(path.removesuffix("/")):
        raise _refused(problem)
    return PurePosixPath(path)


def dump_file_uri(path: PurePath) -> str:
    """The `file://` URI of an absolute path of ours; reading it back gives the same path."""
    spelled = path.as_posix()
    if problem := _ambiguous(spelled.removesuffix("/")) if path.is_absolute() else "the path is not absolute":
        raise SetupError(f"{spelled!r} cannot be given to a server: {problem}")
    try:
        return f"file://{quote(spelled.encode('utf-8'), safe=_SAFE)}"
    except UnicodeEncodeError:
        raise SetupError(f"{spelled!r} cannot be given to a server: its name is not UTF-8") from None


def _ambiguous(path: str) -> str | None:
    """Why a path (without its last slash) could be read in two ways."""
    if "\0" in path:
        return "it holds a null character"
    if len(path.encode("utf-8", "surrogateescape")) > MAX_LENGTH:
        return "it is too long"
    parts = path.split("/")[1:]
    if "" in parts:
        return "it holds an empty segment"
    if "." in parts or ".." in parts:
        return "it holds a . or .. segment"
    return None


def _refused(why: str) -> WireError:
    return WireError(RULE, f"not a file URI that can be used: {why}")
