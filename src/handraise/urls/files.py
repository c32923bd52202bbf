"""`file://` URIs, read and written strictly: one spelling of a path, and nothing hidden in it.

A root names the files that a server may touch. Anything that two readers could read differently is refused: an encoded
slash, a `..`, a host, a query. Paths are POSIX paths.
"""

from __future__ import annotations

import re
from pathlib import PurePath, PurePosixPath
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from handraise.errors import SetupError, WireError

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
