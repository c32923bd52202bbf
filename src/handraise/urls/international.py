"""International names: which are honest, after the policy of Chromium's IDN display.

A label is honest when its letters are of one script (or of a set that is used
together, as in Japanese), the script is in everyday use, and it does not pass
for Latin. References: "Internationalized Domain Names in Google Chrome"; UTS #39, 5.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from unicodedata import category, decimal, normalize

from handraise.urls.confusables import looks_latin, looks_numeric, passes_for_separator
from handraise.urls.parse import Link
from handraise.urls.scripts import USED_TOGETHER, has_everyday_letters, script_of

_AT_HOME: Final[Mapping[str, frozenset[str]]] = {
    script: frozenset(domains.split())
    for script, domains in {
        "Cyrillic": "bg by kg kz mk mn ru rs su tj ua uz",
        "Greek": "gr cy",
        "Armenian": "am",
        "Georgian": "ge",
        "Hebrew": "il",
        "Arabic": "ae dz eg iq ir jo kw lb ly ma om pk qa sa sd sy tn ye",
        "Thai": "th",
        "Lao": "la",
        "Myanmar": "mm",
        "Ethiopic": "et er",
    }.items()
}
"""Top-level domains where a script is at home, so that a name in it is no disguise."""
_DEVIATIONS: Final = frozenset("ßς\u200c\u200d")
"""Characters that IDNA 2003 read as a different name."""
_STROKE_IN_LATIN: Final = re.compile(r"[a-z0-9][ノソゾンヽ丿丶〆ー一ㅡㅣ丨][a-z0-9]|[a-z0-9][ノソンヽ丿丶]$")
"""East Asian strokes that pass for a slash or a dash between Latin letters."""
_STACKED: Final = re.compile("[\u0300-\u036f]{4}|([\u0300-\u036f])\\1|[ijl\u0131]\u0307")


def check_international(link: Link, *, own: bool) -> Iterator[str]:
    """What is to be said about labels beyond ASCII; `idn_label` when there is nothing worse.

    `own` is the server's own domain: how it is encoded tells nothing.
    """
    if "xn--" not in link.host:
        return
    labels = [label for label in link.unicode_host.split(".") if label]
    found = {
        reason
        for label in labels
        if label.startswith("xn--") or not label.isascii()
        for reason in _check_label(label, top=labels[-1])
    }
    if not found:
        found.add("punycode" if not own and "xn--" in link.written.host.lower() else "idn_label")
    yield from found


def _check_label(label: str, *, top: str) -> Iterator[str]:
    if label.startswith("xn--"):
        yield "invalid_punycode"
        return
    yield from _check_script(label, top)
    yield from _check_digits(label)
    yield from _check_characters(label)


def _check_script(label: str, top: str) -> Iterator[str]:
    script = script_of(label)
    if script is None and has_everyday_letters(label):
        yield "mixed_script"
    elif script not in ("Latin", *USED_TOGETHER) and looks_latin(label) and not _at_home(script, top):
        yield "whole_script_confusable"
    elif script is None:
        yield "unusual_script"


def _at_home(script: str | None, top: str) -> bool:
    return not top.isascii() or (script is not None and top in _AT_HOME.get(script, ()))


def _check_digits(label: str) -> Iterator[str]:
    zeros = {ord(character) - decimal(character) for character in label if category(character) == "Nd"}
    if len(zeros) > 1 or looks_numeric(label):
        yield "digit_lookalike"


def _check_characters(label: str) -> Iterator[str]:
    if passes_for_separator(label) or _STROKE_IN_LATIN.search(label):
        yield "deceptive_punctuation"
    elif any(
        category(character)[0] not in "LMN" and character not in "-·\u30fb\u200c\u200d" for character in label
    ):
        yield "symbol_in_name"
    if _STACKED.search(normalize("NFD", label)):
        yield "stacked_marks"
    if not _DEVIATIONS.isdisjoint(label):
        yield "deviation_char"
