"""Links in a text, with everything masked that could open a door: user names, values of parameters, random paths."""

from __future__ import annotations

import re
from typing import Final

GONE: Final = "…"

_LINK: Final = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,30}://[^\s\"<>]+")
_RANDOM: Final = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_~-]{20,}(?=/|$)")


def mask_links(text: str) -> str:
    """The text; its links still say where they lead, and no longer let anybody in."""
    return _LINK.sub(lambda found: _masked(found[0]), text) if "://" in text else text


def _masked(link: str) -> str:
    scheme, _, rest = link.partition("://")
    rest, hash_mark, _fragment = rest.partition("#")
    rest, question_mark, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    _userinfo, at, host = host.rpartition("@")
    named = "&".join(map(_named, query.split("&")))
    return "".join(
        (
            f"{scheme}://",
            f"{GONE}@" if at else "",
            host,
            slash + _RANDOM.sub(GONE, path),
            question_mark + named,
            f"#{GONE}" if hash_mark else "",
        )
    )


def _named(parameter: str) -> str:
    """A parameter with its value gone. One without a name is a value."""
    name, equals, _value = parameter.partition("=")
    return f"{name}={GONE}" if equals else (GONE if parameter else "")
