"""A crossing on a screen, or as one line of JSON. The other side's text is inert in both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from handraise.display import for_line
from handraise.trace.crossings import Crossing, Direction

_ARROWS: Final[dict[Direction, str]] = {"to server": "→", "to client": "←"}
_LINE: Final = 4000
_WIDTH: Final = 80

_BOLD, _CYAN, _GREEN, _YELLOW, _RED, _PLAIN = (f"\x1b[{code}m" for code in ("1", "36", "32", "33", "31", "0"))
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"(?P<name>(?=:))?')


def show_text(crossing: Crossing, *, colour: bool = False, full: bool = False) -> Iterator[str]:
    """The lines of a crossing: what it is, then the message when it has to do with asking, or when all is wanted."""
    headline = for_line(_headline(crossing))
    yield f"{_BOLD}{_RED if crossing.kind == 'error' else ''}{headline}{_PLAIN}" if colour else headline
    if crossing.message is not None and (full or crossing.about_asking):
        for depth, line in _laid_out(crossing.message, 2):
            inert = "  " * depth + for_line(line, limit=_LINE)
            yield _TOKEN.sub(_coloured, inert) if colour else inert
        yield ""


def show_json(crossing: Crossing) -> str:
    """A crossing as one line of JSON, in ASCII: nothing in it can play tricks on a terminal."""
    return json.dumps(
        {
            "at": round(crossing.at, 6),
            "direction": crossing.direction,
            "kind": crossing.kind,
            "method": crossing.method or None,
            "id": crossing.id,
            "revision": crossing.revision,
            "message": crossing.message,
        }
    )


def _headline(crossing: Crossing) -> str:
    what = crossing.method or "(no request is known for it)"
    if crossing.kind == "unreadable":
        what = "a line that is no JSON-RPC message"
    elif crossing.kind not in ("request", "notice"):
        what += f": {crossing.kind}{crossing.detail}"
    known = [] if crossing.id is None else [f"id {crossing.id}"]
    known += [] if crossing.revision is None else [crossing.revision]
    return f"{crossing.at:9.3f} s {_ARROWS[crossing.direction]} {what}" + (
        f"  ({', '.join(known)})" if known else ""
    )


def _laid_out(value: Any, depth: int, name: str = "", comma: str = "") -> Iterator[tuple[int, str]]:
    """JSON as people write it: on one line what fits there, with its depth."""
    whole = f"{name}{json.dumps(value, ensure_ascii=False)}{comma}"
    if not value or not isinstance(value, dict | list) or 2 * depth + len(whole) <= _WIDTH:
        yield depth, whole
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        members = [(f"{json.dumps(key, ensure_ascii=False)}: ", each) for key, each in value.items()]
    else:
        members = [("", each) for each in value]
    yield depth, f"{name}{opening}"
    for number, (called, each) in enumerate(members, 1):
        yield from _laid_out(each, depth + 1, called, "," if number < len(members) else "")
    yield depth, f"{closing}{comma}"


def _coloured(token: re.Match[str]) -> str:
    """Names apart from values, and what was masked apart from both. The line is inert: all its escapes are ours."""
    if token["name"] is not None:
        colour = _CYAN
    else:
        colour = _YELLOW if "[masked: " in token[0] else _GREEN
    return f"{colour}{token[0]}{_PLAIN}"
