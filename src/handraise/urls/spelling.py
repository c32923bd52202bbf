"""Tricks in how a URL is written: a browser silently repairs it, a person misreads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

from handraise.urls.parse import ParsedUrl, WrittenUrl

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
    """Tricks that show when the host as written is held against the host that is meant."""
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
