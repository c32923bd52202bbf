"""What a text mentions, and how: asked for, denied, or turned into something harmless.

"Password" asks. "Password length", "longueur du mot de passe" and 密码长度 do not: the head noun is another.
"Never enter your password" denies. "The user whose password expired" mentions in passing.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from handraise.policy.secrets.clause import Clause
from handraise.policy.secrets.heads import has_another_head
from handraise.policy.secrets.lexicon import Sense, lexicon
from handraise.policy.secrets.marks import Mark, languages_of, marks_of
from handraise.policy.secrets.quoted import quoted_kind
from handraise.policy.secrets.words import clauses

_DENYING: Final = frozenset({"neg", "neg after"})
_CACHED: Final = 600
"""Longer texts are read again each time, so that nobody can fill the cache with them."""


class Mention(NamedTuple):
    """A kind of secret that a text names."""

    kind: str
    firm: bool
    """False when the word has other meanings too, so that other words may excuse it."""
    asked: bool
    """The clause requests it, or consists of nothing else."""
    closing: bool
    """Nothing else is requested after it, so that this is what a person answers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All that judging a form needs to know of one text."""

    mentions: frozenset[Mention]
    harmless: frozenset[str]
    """Kinds that are named only as part of something else: "token budget"."""
    roles: frozenset[str]
    """Roles of all words, except in clauses that deny."""
    plain: frozenset[str]
    """Roles that every word shares, little words aside: "the code" is plainly a code, "postal code" is not."""
    generic: bool
    """The text names nothing in particular: "value", "input", "x1"."""
    denies: bool
    """Something in it is denied: "do not …"."""
    quotes: str | None
    """The kind of secret that it shows the beginning or an example of."""


def read(text: str) -> Reading:
    """Read one name, title, description or message."""
    return _read_once(text) if len(text) <= _CACHED else _read(text)


@lru_cache(maxsize=4096)
def _read_once(text: str) -> Reading:
    return _read(text)


def _read(text: str) -> Reading:
    sentences = _sentences(text)
    marks = [mark for sentence in sentences for clause, _ in sentence for mark in clause]
    roles = frozenset(role for mark in marks for role in mark.entry.roles)
    spared = frozenset(kind for mark in marks for kind in mark.entry.spares)
    plain, generic = _plain(marks), _generic(marks)
    if _DENYING.isdisjoint(roles) and not any(mark.entry.telling for mark in marks):
        return Reading(frozenset(), spared, roles, plain, generic, denies=False, quotes=quoted_kind(text))
    found = _Found(roles)
    languages = languages_of(text, marks)
    for sentence in sentences:
        found.read(sentence, languages)
    return Reading(
        frozenset(found.mentions()),
        spared | found.harmless,
        roles - found.denied_roles,
        plain,
        generic,
        found.denies,
        quotes=None if found.denies else quoted_kind(text),
    )


def _sentences(text: str) -> list[list[tuple[list[Mark], bool]]]:
    """Sentences of clauses, each with its marks and whether it ends with a question mark."""
    sentences: list[list[tuple[list[Mark], bool]]] = []
    for clause in clauses(text):
        if not clause.continues:
            sentences.append([])
        sentences[-1].append((marks_of(clause.words), clause.questions))
    return sentences


class _Found:
    """What is found while the sentences of a text are read, one after the other."""

    def __init__(self, roles: frozenset[str]) -> None:
        self.harmless: set[str] = set()
        self.denied_roles: set[str] = set()
        self.denies = False
        self._roles = roles
        self._named: list[tuple[Sense, bool, int, int]] = []
        """Senses, whether they are asked for, and the numbers of their sentence and clause."""
        self._sentence = self._clause = 0
        self._last_request = self._last_reference = -1

    def read(self, sentence: list[tuple[list[Mark], bool]], languages: int) -> None:
        """Read a sentence clause by clause; what one clause denies or turns, the next one goes on with."""
        around = {role for clause, _ in sentence for mark in clause for role in mark.entry.roles}
        self._sentence += 1
        denied = turned = False
        for marks, questions in sentence:
            self._clause += 1
            clause = Clause(marks, languages, denied_before=denied, questions=questions)
            senses = list(_senses(clause, self._roles if clause.asks else around))
            for sense, asked in senses:
                if asked is None or f"not {sense.kind}" in self._roles or (turned and not clause.asks):
                    self.harmless.add(sense.kind)
                else:
                    self._named.append((sense, asked, self._sentence, self._clause))
            turned = turned or any(asked is None for _, asked in senses)
            denied = clause.denies
            self._note(clause)

    def _note(self, clause: Clause) -> None:
        if clause.refers_back:
            self._last_reference = self._clause
        elif clause.requests:
            self._last_request = self._clause
        if clause.denies:
            self.denies = True
            self.denied_roles.update(role for mark in clause.marks for role in mark.entry.roles)

    def mentions(self) -> Iterator[Mention]:
        """What was named, now that it is known what came after it."""
        for sense, asked, sentence, clause in self._named:
            asked = asked or clause < self._last_reference
            closing = clause >= self._last_request and (asked or sentence == self._sentence)
            yield Mention(sense.kind, sense.strength == "strong", asked, closing)


def _senses(clause: Clause, sentence: Set[str]) -> Iterator[tuple[Sense, bool | None]]:
    """Every sense that the clause does not deny, with whether it is asked for; None where it is harmless."""
    known = lexicon()
    named = ((sense, at, "") for at, mark in enumerate(clause.marks) for sense in mark.entry.senses)
    for sense, at, partner in (*named, *clause.together(known.rules, sentence)):
        if clause.denied(at) or clause.passing(at):
            continue
        if has_another_head(clause, at, sense, known, partner):
            yield sense, None
        elif (asked := clause.asked(at, sense)) or sense.strength != "bare":
            yield sense, asked


def _plain(marks: list[Mark]) -> frozenset[str]:
    contents = [mark.entry.roles for mark in marks if not mark.filler]
    return frozenset(contents[0]).intersection(*contents[1:]) if contents else frozenset()


def _generic(marks: list[Mark]) -> bool:
    return all(mark.filler or (len(mark.text) <= 2 and mark.unknown) for mark in marks)
