"""Forms and answers written to deceive the detector, and harmless ones that look like them.

A line of `data/hostile/*.txt` is one call: a message, then its fields, then perhaps more questions.

    message | name: title / description {"pattern": "…"} | name >> next message | name: title

The detector was built with all of them in view, `held_back`, `fresh`, `final` and `final2` after a first measurement.
`wide` was written kind by kind before the rules for it. The `strangers` sets were written without sight of the
detector; all but those that are held out were in view later. `probes` and `probes2` are our own: each kind once more,
in the tone of the strangers. The weights are learned from all but those that are held out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from handraise.forms import Form, parse_form
from handraise.revisions import Revision

DATA = Path(__file__).parent / "data" / "hostile"
Half = Literal[
    "open",
    "held_back",
    "fresh",
    "final",
    "final2",
    "wide",
    "strangers",
    "strangers2",
    "strangers3",
    "strangers4",
    "strangers5",
    "strangers6",
    "strangers6_held",
    "strangers7",
    "strangers8",
    "strangers9",
    "strangers10",
    "probes",
    "probes2",
    "strangers8_held",
    "strangers9_held",
    "strangers10_held",
]
HELD_OUT: tuple[Half, ...] = ("strangers8_held", "strangers9_held", "strangers10_held")
"""The other halves of `strangers8`, `strangers9` and `strangers10`. Nobody works with them in view."""

_FIELD = re.compile(
    r"(?P<name>[^\s:{]+)(?:: (?P<title>.*?)(?: / (?P<description>.*?))?)?\s*(?P<rest>\{.*\})?", re.DOTALL
)


class Asked(NamedTuple):
    """One question of a call."""

    message: str
    form: Form[Any]


class HostileCall(NamedTuple):
    """One line: the questions that a server asks in one call."""

    kind: str
    line: str
    questions: tuple[Asked, ...]


def calls(label: Literal["asking", "harmless"], half: Half) -> Iterator[HostileCall]:
    """The calls of one file, with the kind of trick each of them is."""
    kind = ""
    for line in (DATA / f"{label}_{half}.txt").read_text("utf-8").split("\n"):
        if re.fullmatch(r"\[[a-z ]+\]", line):
            kind = line[1:-1]
        elif line:
            yield call_of(line, kind)


def call_of(line: str, kind: str = "") -> HostileCall:
    """The call that a line describes."""
    return HostileCall(kind, line, tuple(_asked(each) for each in line.split(" >> ")))


def _asked(text: str) -> Asked:
    message, *fields = text.split(" | ")
    schema = {"type": "object", "properties": dict(_property(field) for field in fields)}
    return Asked(message, parse_form(schema, Revision.NOVEMBER_2025))


def _property(text: str) -> tuple[str, dict[str, Any]]:
    found = _FIELD.fullmatch(text)
    assert found is not None, text
    texts = {name: found[name] for name in ("title", "description") if found[name]}
    return found["name"], {"type": "string", **texts, **json.loads(found["rest"] or "{}")}
