"""One clause: is the secret in it asked for, denied, or only part of something else?

Every question looks at a bounded window around the word, so that a clause costs linear time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import accumulate, zip_longest
from operator import or_
from typing import Final

from handraise.policy.secrets.lexicon import COMMON, Lexicon, Rule, Sense
from handraise.policy.secrets.marks import Mark

_WINDOW: Final = 12
_NOUN_ENDINGS: Final = ("ing", "tion", "ment", "ness", "ity")
_SELF_MADE: Final = frozenset({"password", "passphrase", "pin"})
"""What a person chooses; an API key is created by somebody else."""


class ClauseView:
    """The marks of one clause, read in the languages of the whole text."""

    def __init__(self, marks: list[Mark], languages: int, denied_before: bool) -> None:
        self.marks = marks
        self._languages = languages
        neg = [self._is(mark, "neg") for mark in marks]
        neg_after = [self._is(mark, "neg after") for mark in marks]
        self._neg_left = list(accumulate(neg, or_, initial=False))
        self._neg_right = list(accumulate(reversed(neg), or_, initial=False))[::-1]
        self._neg_after_right = list(accumulate(reversed(neg_after), or_, initial=False))[::-1]
        self.asks = any(self._is(mark, "ask", "ask after") for mark in marks)
        self._denied_before = denied_before and not self.asks
        self.denies = self._neg_left[-1] or self._neg_after_right[0] or self._denied_before
        self.refers_back = self.asks and all(mark.filler for mark in marks)
        """It asks for what was named before: "Enter it here"."""
        self.bare = all(mark.filler or mark.names_secret for mark in marks)
        self._about_someone = any(self._is(mark, "who") for mark in marks)
        self._question_left = list(
            accumulate((self._is(mark, "question") for mark in marks), or_, initial=False)
        )

    def _is(self, mark: Mark, *roles: str) -> bool:
        return any(mark.entry.roles.get(role, 0) & self._languages for role in roles)

    def denied(self, at: int) -> bool:
        """ "Do not enter …", and "… is not needed" in a clause that asks for nothing."""
        after = self._neg_after_right[at + 1] or (self._neg_right[at + 1] and not self.asks)
        return self._neg_left[at] or after or self._denied_before

    def turned(self, at: int, sense: Sense, known: Lexicon, partner: str) -> bool:
        """The head noun is another word: "token limit", "Name des Tokens", トークンの上限.

        `partner` is the role of a word that the sense needs, and that is no head for it.
        """
        return (
            self._head_after(at, partner)
            or self._head_before(at, known.head_first)
            or self._counted(at)
            or self._followed_by_a_noun(at, sense, known.stacking)
            or self._is_object_of_a_statement(at)
        )

    def _head_after(self, at: int, partner: str) -> bool:
        tied, gap = False, 0
        following = self.marks[at + 1 : at + 1 + _WINDOW]
        for mark, after in zip_longest(following, following[1:]):
            limits_the_value = after is not None and after.text.isdigit()  # "min 8 characters"
            if self._is(mark, "head") and partner not in mark.entry.roles and not limits_the_value:
                return True
            if tied and self._is(mark, "ordinary"):
                return True
            if self._is(mark, "a") and after and self._is(after, "head"):  # "give the token a name"
                return True
            if self._is(mark, "tie"):
                tied = True
            elif self._is(mark, "of", "the", "and", "stop", "neg", "ask", "ask after", "object"):
                return False
            else:
                gap += 1
                if gap > 2:
                    return False
        return False

    def _head_before(self, at: int, head_first: int) -> bool:
        languages, linked, gap = self._languages, False, 0
        for mark in self._backwards(at):
            roles = mark.entry.roles
            if self._is(mark, "of", "the"):
                languages &= roles.get("of", 0) | roles.get("the", 0)
                linked = linked or self._is(mark, "of")
            elif self._is(mark, "ask") and not linked:
                return False
            elif self._is(mark, "head", "ordinary"):
                nouns = (
                    roles.get("head", 0) | roles.get("ordinary", 0)
                    if linked
                    else roles.get("head", 0) & head_first
                )
                if nouns & languages:
                    return True
                gap += 1
            elif self._is(mark, "and", "ask", "stop"):
                return False
            else:
                gap += 1
            if gap > (2 if linked else 1):
                return False
        return False

    def _counted(self, at: int) -> bool:
        """ "Number of tokens", "количество попыток ввода пароля": how many, not which."""
        for mark in self._backwards(at):
            if self._is(mark, "count"):
                return True
            if self._is(mark, "and"):
                return False
        return False

    def _followed_by_a_noun(self, at: int, sense: Sense, stacking: int) -> bool:
        following = self.marks[at + 1 : at + 2]
        if not following or not following[0].unknown or not all(mark.text.isascii() for mark in self.marks):
            return False
        if self._languages != COMMON and not self._languages & stacking:
            return False
        in_a_sentence = at + 2 == len(self.marks) >= 4
        return sense.strength == "weak" or in_a_sentence or following[0].text.endswith(_NOUN_ENDINGS)

    def _is_object_of_a_statement(self, at: int) -> bool:
        """ "The place where the token is kept" where the object comes first: トークンを保存する場所."""
        following = self.marks[at + 1 : at + 1 + _WINDOW]
        if len(following) < 2 or not self._is(following[0], "object"):
            return False
        turns = any(self._is(mark, "head", "stop") for mark in following[1:3])
        return turns or not any(self._is(mark, "ask after") for mark in following)

    def passing(self, at: int) -> bool:
        """Something else stands between the start and the secret: "the user whose password …"."""
        if self._about_someone or self._question_left[at]:
            return True
        for mark in self._backwards(at):
            if self._is(mark, "ask", "set", "what"):
                return False
            if self._is(mark, "stop"):
                return True
        return at > _WINDOW

    def asked(self, at: int, sense: Sense) -> bool:
        """A verb requests it, a question is about it, or the clause names nothing else."""
        return self.bare or self._asked_before(at, sense) or self._asked_after(at)

    def _asked_before(self, at: int, sense: Sense) -> bool:
        unknown = 0
        for mark in self._backwards(at):
            if self._is(mark, "ask"):
                return unknown <= 6
            if self._is(mark, "set"):
                return sense.kind in _SELF_MADE
            if self._is(mark, "what"):
                return unknown <= 1
            unknown += mark.unknown
        return False

    def _asked_after(self, at: int) -> bool:
        unknown = 0
        for mark in self.marks[at + 1 : at + 1 + _WINDOW]:
            if self._is(mark, "ask after"):
                return unknown <= 4
            if self._is(mark, "what after"):
                return unknown <= 1
            if self._is(mark, "stop", "head", "ordinary"):
                return False
            unknown += mark.unknown
        return False

    def _backwards(self, at: int) -> Iterator[Mark]:
        return reversed(self.marks[max(0, at - _WINDOW) : at])

    def together(self, rules: Sequence[Rule], sentence: Set[str]) -> Iterator[tuple[Sense, int, str]]:
        """Secrets that only several words together name: a "code", and in the same sentence "by SMS".

        Each comes with the place of the first word and the role of the second.
        """
        places: dict[str, int] = {}
        for at, mark in enumerate(self.marks):
            for role in mark.entry.roles:
                places.setdefault(role, at)
        for rule in rules:
            first, second = places.get(rule.first), places.get(rule.second)
            if rule.near:
                if first is not None and second is not None and abs(first - second) <= 2:
                    yield Sense(rule.kind, "weak"), first, rule.second
            elif first is not None and rule.second in sentence:
                yield Sense(rule.kind, "strong"), first, rule.second
