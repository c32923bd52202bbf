"""One clause: is the secret in it asked for, denied, or only mentioned in passing?

Every question looks at a bounded window around the word, so that a clause costs linear time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Final

from handraise.policy.secrets.lexicon import Rule, Sense
from handraise.policy.secrets.marks import Mark

_WINDOW: Final = 12
_SELF_MADE: Final = frozenset({"password", "passphrase", "pin"})
"""What a person chooses; an API key is created by somebody else."""
_ASKING: Final = frozenset({"ask", "ask after"})
_SETTING_OUT: Final = frozenset({"ask", "set", "what"})
_OPENING: Final = frozenset({"ask", "set", "what", "question", "who"})
_CLOSING: Final = frozenset({"ask after", "what after"})
_ANOTHER_THING: Final = frozenset({"stop", "head", "ordinary"})


class Clause:
    """The marks of one clause, and the roles they play in the languages of the text."""

    def __init__(
        self, marks: Sequence[Mark], languages: int, *, denied_before: bool = False, questions: bool = False
    ) -> None:
        self.marks = marks
        self.languages = languages
        self.roles = [
            {role for role, spoken in mark.entry.roles.items() if spoken & languages} for mark in marks
        ]
        self.asks = any(not _ASKING.isdisjoint(roles) for roles in self.roles)
        self._denied_before = denied_before and not self.asks
        self._negs = self._places("neg")
        self._negs_after = self._places("neg after")
        self._questions = self._places("question")
        self._about_someone = any("who" in roles for roles in self.roles)
        self.ascii = all(mark.text.isascii() for mark in marks)
        self.denies = bool(self._negs or self._negs_after or self._denied_before)
        self.requests = questions or self._requests()
        self.refers_back = self.asks and all(mark.filler for mark in marks)
        """It asks for what was named before: "Enter it here"."""
        self.bare = all(mark.filler or mark.names_secret for mark in marks)
        """It names nothing else."""

    def _requests(self) -> bool:
        """Whether it begins or ends with the word that asks: "Tell us …", "Which …", … してください."""
        for place, (mark, roles) in enumerate(zip(self.marks, self.roles, strict=True)):
            if not _OPENING.isdisjoint(roles):
                return not any("it" in roles for roles in self.roles[place + 1 : place + 2])
            if not mark.filler:
                break
        return not _CLOSING.isdisjoint(self.roles[-1])

    def _places(self, role: str) -> list[int]:
        return [at for at, roles in enumerate(self.roles) if role in roles]

    def denied(self, at: int) -> bool:
        """ "Do not enter …", and "… is not needed" in a clause that asks for nothing."""
        before = bool(self._negs) and self._negs[0] < at
        after = bool(self._negs) and self._negs[-1] > at and not self.asks
        return (
            before or after or self._denied_before or (bool(self._negs_after) and self._negs_after[-1] > at)
        )

    def passing(self, at: int) -> bool:
        """Something else stands between the start and the secret: "the user whose password …"."""
        if self._about_someone or (self._questions and self._questions[0] < at):
            return True
        for roles in self.roles_before(at):
            if not _SETTING_OUT.isdisjoint(roles):
                return False
            if "stop" in roles:
                return True
        return at > _WINDOW

    def asked(self, at: int, sense: Sense) -> bool:
        """A verb requests it, a question is about it, or the clause names nothing else."""
        return self.bare or self._asked_before(at, sense) or self._asked_after(at)

    def _asked_before(self, at: int, sense: Sense) -> bool:
        unknown = 0
        for place in range(at - 1, max(-1, at - 1 - _WINDOW), -1):
            roles = self.roles[place]
            if "ask" in roles:
                return unknown <= 6
            if "set" in roles:
                return sense.kind in _SELF_MADE
            if "what" in roles:
                return unknown <= 1
            unknown += self.marks[place].unknown
        return False

    def _asked_after(self, at: int) -> bool:
        unknown = 0
        for place, roles in enumerate(self.roles_after(at), start=at + 1):
            if "ask after" in roles:
                return unknown <= 4
            if "what after" in roles:
                return unknown <= 1
            if not _ANOTHER_THING.isdisjoint(roles):
                return False
            unknown += self.marks[place].unknown
        return False

    def roles_before(self, at: int) -> Iterator[set[str]]:
        """The roles of the words before, nearest first."""
        return reversed(self.roles[max(0, at - _WINDOW) : at])

    def marks_before(self, at: int) -> Iterator[Mark]:
        """The words before, nearest first."""
        return reversed(self.marks[max(0, at - _WINDOW) : at])

    def roles_after(self, at: int) -> list[set[str]]:
        """The roles of the words after, nearest first."""
        return self.roles[at + 1 : at + 1 + _WINDOW]

    def together(self, rules: Sequence[Rule], sentence: Set[str]) -> Iterator[tuple[Sense, int, str]]:
        """Secrets that only several words together name: a "code", and in the same sentence "by SMS".

        Each comes with the place of the first word and the role of the second.
        """
        places: dict[str, int] = {}
        for at, mark in enumerate(self.marks):
            for role in mark.entry.roles:
                places.setdefault(role, at)
        for rule in rules:
            first = places.get(rule.first)
            if first is None or rule.second not in sentence:
                continue
            if not rule.near:
                yield Sense(rule.kind, "strong"), first, rule.second
            elif abs(first - places.get(rule.second, first + 9)) <= 2:
                yield Sense(rule.kind, "weak"), first, rule.second
