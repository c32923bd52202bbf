"""Turn the lexicons as people write them into the file that is loaded: `python -m tests.secrets.compile`.

A file is read as it stands, one language each:

    order: last            where a head noun stands: "password length", or "first": "longueur du mot de passe"
    endings: 2             how many letters an inflection may add to an entry with a star
    letters: äöüß          letters that speak for the language
    stacks: nouns          whether an unknown word after another is its head: "password strategy"

    [password]             a section is a role; its entries are separated by commas
    *passwort*, kennwort*  `*x` may end a compound, `x*` may take an ending or begin a compound
    (you|i) (would|) type  alternatives: this is four phrases

Capitals and accents may be written or left out: words are compared without them.
A section named for a kind of secret may be `weak` or `bare` (see `Sense`). The sections named in `rules`
are groups of words that mean something only together: `otp = code + delivered` in one sentence,
`api_key = key ~ provider` side by side, `password ! typed + unlocking` for a description that leaves no doubt,
and `password ? secrecy + signs` for one that does. All other sections are parts of speech.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_
from pathlib import Path
from typing import Any, Final

from handraise.secrets import lexicon
from handraise.secrets.characters import UNSPACED, fold
from handraise.secrets.finding import CALLED
from handraise.secrets.lexicon import COMMON, COMPILED, UNKNOWN_HEAD, Rule, load

_FOLDER: Final = Path(lexicon.__file__).parent
_WORD: Final = re.compile(rf"[{UNSPACED}]+|[^{UNSPACED}\s'-]+")
_LITTLE: Final = ("of", "the")
_FILLERS: Final = {
    "the",
    "of",
    "and",
    "tie",
    "please",
    "generic",
    "carrier",
    "service",
    "ask",
    "ask after",
    "set",
    "it",
    "but",
}
_GRAMMAR: Final = {"head", "ordinary", "the", "of", "and", "tie", "object", "stop", "neg", "neg after", "without"} | {
    "ask", "ask after", "set", "what", "what after", "who", "question", "count", "a", "it", "predicate"
}  # fmt: skip
_OWN: Final = {*CALLED, "benign", "unless", "not"}
"""Roles that a stem does not lend to the forms that are written out."""


@dataclass(slots=True)
class _Draft:
    """The lexicon while its files are read."""

    phrases: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    words: set[str] = field(default_factory=set)
    stems: dict[str, int] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)
    rules: list[Rule] = field(default_factory=list)
    letters: dict[str, int] = field(default_factory=dict)
    head_first: int = 0
    stacking: int = 0

    def add(self, phrase: str, role: str, language: int, endings: int) -> None:
        """Enter a phrase under a role; a phrase of Latin words counts in one piece too."""
        words = [self._learn(word, endings) for word in _WORD.findall(phrase)]
        self._enter(" ".join(words), role, language)
        joined = "".join(word.strip("*") for word in words)
        if len(words) > 1 and joined.isascii():
            words = [self._learn(joined + ("*" if phrase.endswith("*") else ""), endings)]
            self._enter(words[0], role, language)
        if phrase.startswith("*"):
            self.inner.add(words[0].strip("*"))

    def _learn(self, word: str, endings: int) -> str:
        """Remember which words there are; a star for endings stays part of the word."""
        bare = _without_article(word.strip("*"))
        if not word.endswith("*"):
            self.words.add(bare)
            return bare
        self.stems[bare] = max(endings, self.stems.get(bare, 0))
        return bare + "*"

    def _enter(self, phrase: str, role: str, language: int) -> None:
        roles = self.phrases[phrase]
        roles[role] = roles.get(role, 0) | language


def compile_lexicon(texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The compiled form of these files, given as names and contents."""
    draft = _Draft()
    draft.phrases[UNKNOWN_HEAD] = {"head": COMMON}
    for number, (name, text) in enumerate(sorted(texts), start=1):
        _read(draft, text, COMMON if name == "common.txt" else 1 << number)
    _inflect(draft)
    _lend_groups(draft)
    grouped = {rule.first for rule in draft.rules}
    entries: dict[str, int] = {}
    phrases = {
        phrase: entries.setdefault(json.dumps(_entry(draft, phrase, grouped), sort_keys=True), len(entries))
        for phrase in sorted(draft.phrases)
    }
    beginnings = {beginning for phrase in phrases for beginning in _beginnings(phrase)}
    return {
        "entries": [json.loads(entry) for entry in entries],
        "phrases": phrases,
        "beginnings": sorted(beginnings),
        "others": sorted(draft.words - phrases.keys() - beginnings),
        "stems": dict(sorted(draft.stems.items())),
        "inner": _by_start(draft.inner, 3),
        "runs": _by_start((word for word in draft.words if re.match(f"[{UNSPACED}]", word)), 1),
        "little": sorted(phrase for phrase, roles in draft.phrases.items() if _is_little(phrase, roles)),
        "rules": draft.rules,
        "letters": draft.letters,
        "head_first": draft.head_first,
        "stacking": draft.stacking,
    }


def _read(draft: _Draft, text: str, language: int) -> None:
    role, endings = "", 0
    for letter in "".join(re.findall(r"(?m)^letters:(.*)$", text)).strip():
        draft.letters[letter] = draft.letters.get(letter, 0) | language
    for line in fold(text).casefold().splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            role = line.strip("[]")
        elif role == "rules":
            draft.rules.append(_rule(line))
        elif role:
            for phrase in (each for written in line.split(",") for each in _spelled_out(written.strip())):
                draft.add(phrase, role, language, endings)
                if "wifi" in phrase:
                    draft.add(phrase.replace("wifi", "wi fi"), role, language, endings)
        elif line == "order: first":
            draft.head_first |= language
        elif line == "stacks: nouns":
            draft.stacking |= language
        elif line.startswith("endings:"):
            endings = int(line.removeprefix("endings:"))


def _spelled_out(phrase: str) -> Iterator[str]:
    """The phrases that stand for one with alternatives: "(you|i) (would|) type" is four."""
    parts = re.split(r"\(([^)]*)\)", phrase)
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    for chosen in product(*choices):
        if spelled := " ".join("".join(chosen).split()):
            yield spelled


def _rule(line: str) -> Rule:
    kind, sign, groups = re.split(r"\s*([=!?])\s*", line, maxsplit=1)
    first, *others = re.split(r"\s*[+~]\s*", groups)
    return Rule(kind, first, tuple(others), near="~" in groups, described=sign in "!?", doubtful=sign == "?")


def _inflect(draft: _Draft) -> None:
    """Let a form that is written out play the parts of its stems too.

    Which secret it names is its own affair in its own languages: "şifresiz" (without a password) is no form of
    "şifre". In other languages it knows nothing of, it is: "sifre" is a digit in Norway and a password in Turkey.
    """
    known = load({**_EMPTY, "stems": draft.stems})
    for word, roles in draft.phrases.items():
        own = reduce(or_, roles.values())
        for form in known.forms_of(word):
            for role, languages in draft.phrases.get(form, {}).items():
                lent = (
                    languages & ~own if role.partition(" ")[0] in _OWN and form != word + "*" else languages
                )
                if lent and form != word:
                    roles[role] = roles.get(role, 0) | lent


_SIZES: Final = {"six", "sixteen", "four"}
"""Groups that only the shape of a field is compared with."""


def _lend_groups(draft: _Draft) -> None:
    """Let a phrase of a group belong to the groups of its own words too: "we sent" is about something sent.

    "Never share" still denies. A phrase that names a secret, or something harmless, is only what it is.
    """
    groups = {group for rule in draft.rules for group in (rule.first, *rule.others)} | _SIZES
    for phrase, roles in draft.phrases.items():
        if groups.isdisjoint(roles) or not {"benign", "neg"}.isdisjoint(roles) or _senses(roles):
            continue
        spoken = reduce(or_, roles.values()) | COMMON
        for part in _parts(phrase):
            for role, languages in draft.phrases.get(part, {}).items():
                if (
                    (role in groups or (role == "neg" and "secrecy" in roles))
                    and languages & spoken
                    and role not in _FILLERS
                ):
                    roles[role] = roles.get(role, 0) | (languages & spoken)


def _parts(phrase: str) -> Iterator[str]:
    words = phrase.split()
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if end - start < len(words):
                yield " ".join(words[start:end])


_EMPTY: Final[dict[str, Any]] = {
    "entries": [], "phrases": {}, "beginnings": [], "others": [], "inner": {}, "runs": {}, "little": [], "rules": [],
    "letters": {}, "head_first": 0, "stacking": 0,
}  # fmt: skip


def _entry(draft: _Draft, phrase: str, grouped: set[str]) -> dict[str, Any]:
    """What a phrase does. What always names a secret is nothing else besides: "nie" is a number in Spain."""
    roles = draft.phrases[phrase]
    senses = _senses(roles)
    if any(strength == "strong" and kind != "personal_data" for kind, strength in senses):
        roles = {role: languages for role, languages in roles.items() if role not in _GRAMMAR}
    entry = {
        "roles": roles,
        "senses": senses,
        "filler": not senses and grouped.isdisjoint(roles) and not _FILLERS.isdisjoint(roles),
        "languages": reduce(or_, roles.values(), 0) & ~COMMON,
        "telling": bool(senses) or not grouped.isdisjoint(roles),
        "spares": sorted(_spared(draft, phrase)) if "benign" in roles else [],
    }
    return {name: value for name, value in entry.items() if value}


def _senses(roles: Iterable[str]) -> list[tuple[str, str]]:
    named = (role.partition(" ") for role in sorted(roles))
    return [(kind, strength or "strong") for kind, _, strength in named if kind in CALLED]


def _spared(draft: _Draft, phrase: str) -> set[str]:
    words = (form for word in phrase.split() for form in (word, word + "*"))
    return {kind for word in words for kind, _ in _senses(draft.phrases.get(word, ()))}


def _beginnings(phrase: str) -> Iterator[str]:
    words = phrase.split()
    return (" ".join(words[:length]) for length in range(1, len(words)))


def _without_article(word: str) -> str:
    """An Arabic word without the article, as the lexicon keeps it."""
    return word[2:] if word.startswith("ال") and len(word) > 4 else word


def _by_start(words: Iterable[str], length: int) -> dict[str, list[str]]:
    starts: dict[str, list[str]] = defaultdict(list)
    for word in sorted(words, key=lambda word: (-len(word), word)):
        starts[word[:length]].append(word)
    return dict(sorted(starts.items()))


def _is_little(phrase: str, roles: dict[str, int]) -> bool:
    return " " not in phrase and any(role in roles for role in _LITTLE)


def lexicon_files() -> list[tuple[str, str]]:
    """The names and contents of the files that people write."""
    return [(path.name, path.read_text("utf-8")) for path in sorted((_FOLDER / "lexicons").glob("*.txt"))]


def written(compiled: dict[str, Any]) -> str:
    """The compiled form as it is kept: one table a line."""
    tables = (
        f"{json.dumps(name)}:{json.dumps(table, ensure_ascii=False, separators=(',', ':'))}"
        for name, table in compiled.items()
    )
    return "{" + ",\n".join(tables) + "}\n"


if __name__ == "__main__":
    (_FOLDER / COMPILED).write_text(written(compile_lexicon(lexicon_files())), "utf-8")
