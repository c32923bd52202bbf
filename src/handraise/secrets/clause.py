"""One clause: is the secret in it asked for, denied, or only mentioned in passing?

Every question looks at a bounded window around the word, so that a clause costs linear time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Final

from handraise.secrets.lexicon import COMMON, Lexicon, Rule, Sense
from handraise.secrets.words import Mark

_WINDOW: Final = 12
_SELF_MADE: Final = frozenset({"password", "passphrase", "pin"})
"""What a person chooses; an API key is created by somebody else."""
_ASKING: Final = frozenset({"ask", "ask after"})
_SETTING_OUT: Final = frozenset({"ask", "set", "what"})
_OPENING: Final = frozenset({"ask", "set", "what", "question", "who"})
_CLOSING: Final = frozenset({"ask after", "what after"})
_PLACED: Final = frozenset({"number", "figures", "front", "back", "on the back", "embossed", "sixteen"})
"""A number and its place on a card, unless they are those of something else."""
_OTHER_QUESTION: Final = frozenset({"other question", "who"})
_OTHER_ANSWER: Final = frozenset({"ordinary", "head", "belongings"})
_NO_OTHER_ANSWER: Final = frozenset({
    "signs", "figures", "number", "string", "digit", "some words", "word", "code", "key", "predicate",
    "question",
})  # fmt: skip
"""What secrets are made of, and verbs."""
_ANOTHER_THING: Final = frozenset({"stop", "head", "ordinary"})


class Clause:
    """The marks of one clause, and the roles they play in the languages of the text."""

    def __init__(
        self,
        marks: Sequence[Mark],
        languages: int,
        *,
        denied_before: bool = False,
        forbidden_before: bool = False,
        questions: bool = False,
    ) -> None:
        self.marks = marks
        self.languages = languages
        self.roles = [
            {role for role, spoken in mark.entry.roles.items() if spoken & languages} for mark in marks
        ]
        for at in range(len(marks) - 2):
            if not _PLACED.isdisjoint(self.roles[at]) and self._of_something_else(at):
                self.roles[at] -= _PLACED
        self._present = set().union(*self.roles)
        self.asks = not _ASKING.isdisjoint(self._present)
        self._buts = self._places("but")
        ends_list = forbidden_before and self._ends_list()
        self._denied_before = denied_before and not self._buts and (not self.asks or ends_list)
        self._negs = self._places("neg")
        self._without = self._places("without")
        self._negs_after = self._places("neg after")
        negs, self._needed = {*self._negs, *self._negs_after}, -1
        if self._without and not negs <= set(self._without):  # "we cannot go on without your password"
            self._needed = self._without[0]
            self._negs, self._without, self._negs_after = [], [], []
        self._questions = self._places("question")
        self.questions = bool(self._questions)
        """It asks how, when or why."""
        self.examples = self._places("such as")
        self.about_someone = "who" in self._present
        self.own = "your" in self._present or any("your" in mark.text.split() for mark in marks)
        """It is about something of the person's: "your password"."""
        self.denies = bool(self._negs or self._without or self._negs_after or self._denied_before)
        self.forbids = self.denies and (forbidden_before or self._forbids())
        """It says what not to enter, and the next clause may go on with it."""
        self.requests = questions or self._requests()
        self.refers_back = (self.asks or "what" in self._present) and all(
            mark.filler or "what" in roles for mark, roles in zip(marks, self.roles, strict=True)
        )
        """It asks for what was named before: "Enter it here"."""
        self.says_it = "it" in self._present
        self.refers = "refers" in self._present
        """It asks for what was denied before: "but we need yours"."""

    @cached_property
    def ascii(self) -> bool:
        """No letter of it needs another script."""
        return all(mark.text.isascii() for mark in self.marks)

    @cached_property
    def bare(self) -> bool:
        """It names nothing but a secret."""
        return all(mark.filler or mark.names_secret for mark in self.marks)

    def _forbids(self) -> bool:
        """ "Do not write your password", "no passwords": an imperative, or nothing but the list itself."""
        verb = any("ask" in roles for roles in self.roles)
        return verb or all(
            mark.filler or mark.names_secret or not roles.isdisjoint({"neg", "please"})
            for mark, roles in zip(self.marks, self.roles, strict=True)
        )

    def _ends_list(self) -> bool:
        """ "… or card numbers here", after "do not write your password"."""
        begins = next(
            (roles for mark, roles in zip(self.marks, self.roles, strict=True) if not mark.filler), set()
        )
        return (
            "ask" not in begins and "ask" not in self.roles[0] and any("and" in roles for roles in self.roles)
        )

    def _requests(self) -> bool:
        """Whether it begins or ends with the word that asks: "Tell us …", "Which …", … してください."""
        for place, (mark, roles) in enumerate(zip(self.marks, self.roles, strict=True)):
            if not _OPENING.isdisjoint(roles):
                return not any("it" in roles for roles in self.roles[place + 1 : place + 2])
            if not mark.filler:
                break
        return not _CLOSING.isdisjoint(self.roles[-1])

    @cached_property
    def asks_something_else(self) -> bool:
        """ "Which program opens your mail?", "How often do you sign in?": the answer is a program, a number."""
        if "often" in self._present:
            return True
        for place, (mark, roles) in enumerate(zip(self.marks, self.roles, strict=True)):
            if not roles.isdisjoint(_OTHER_QUESTION):
                return True
            if "which" in roles and " " not in mark.text:
                asked = self.roles[place + 1] if place + 1 < len(self.marks) else set()
                return not asked.isdisjoint(_OTHER_ANSWER) and asked.isdisjoint(_NO_OTHER_ANSWER)
            if not mark.filler:
                return False
        return False

    def _of_something_else(self, at: int) -> bool:
        """ "The number of the parcel", "the front of the house": with an owner, they are no code and no card's."""
        if "of" not in self.roles[at + 1] or "stop" in self.roles[at + 1]:
            return False
        owner = next(
            (
                place
                for place in range(at + 2, len(self.marks))
                if "the" not in self.roles[place] and not self.marks[place].filler
            ),
            at,
        )
        return owner > at and (self.marks[owner].unknown or not self.roles[owner].isdisjoint(_OTHER_ANSWER))

    def _places(self, role: str) -> list[int]:
        return [at for at, roles in enumerate(self.roles) if role in roles] if role in self._present else []

    def denied(self, at: int) -> bool:
        """ "Do not enter …", "without …", and "… is not needed" in a clause that asks for nothing."""
        start = max(
            (but for but in self._buts if but < at), default=-1
        )  # "not your name, only your password"
        before = any(start < denying < at for denying in (*self._negs, *self._without))
        after = bool(self._negs) and self._negs[-1] > at and not self.asks
        return (
            before or after or self._denied_before or (bool(self._negs_after) and self._negs_after[-1] > at)
        )

    def passing(self, at: int) -> bool:
        """Something else stands between the start and the secret: "the user whose password …"."""
        if self.about_someone or (self._questions and self._questions[0] < at):
            return True
        if 0 <= self._needed < at:
            return False
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

    def together(
        self, rules: Mapping[str, tuple[Rule, ...]], sentence: Set[str]
    ) -> Iterator[tuple[Sense, int, tuple[str, ...], bool]]:
        """Secrets that only several words together name: a "code", and in the same sentence "by SMS".

        Each comes with the place of the first word, the roles of the others, and whether it is described, not named.
        """
        places: dict[str, int] = {}
        for at, roles in enumerate(self.roles):
            for role in roles:
                places.setdefault(role, at)
        for rule in (rule for role in places for rule in rules.get(role, ())):
            first = places[rule.first]
            if not all(other in sentence for other in rule.others):
                continue
            if rule.doubtful:
                yield Sense(rule.kind, "doubtful"), first, rule.others, rule.described
            elif not rule.near:
                yield Sense(rule.kind, "strong"), first, rule.others, rule.described
            elif abs(first - places.get(rule.others[0], first + 9)) <= 2:
                yield Sense(rule.kind, "weak"), first, rule.others, rule.described


# The head-noun rule: a "token limit", a "Name des Tokens" and a トークンの上限 are no tokens.

_NOUN_ENDINGS: Final = ("ing", "tion", "ment", "ness", "ity")
_ENDS_A_NOUN: Final = frozenset({"of", "the", "and", "stop", "neg", "without", "ask", "ask after", "object"})
_LINKS: Final = frozenset({"of", "the"})
_BREAKS: Final = frozenset({"and", "ask", "stop", "what"})


def has_another_head(
    clause: Clause, at: int, sense: Sense, known: Lexicon, partners: tuple[str, ...] = ()
) -> bool:
    """Whether the secret at this place only describes something else.

    `partners` are the roles of the words that the sense needs, and that are no heads for it.
    """
    return (
        _head_after(clause, at, known.head_first, partners)
        or _head_before(clause, at, known.head_first)
        or _counted(clause, at)
        or _followed_by_a_noun(clause, at, sense, known.stacking)
        or _is_object_of_a_statement(clause, at)
    )


_LAST_FOUR: Final = frozenset({"card_number", "bank_account", "national_id"})
"""The last four digits of these are on every receipt."""


def turns_part(clause: Clause, at: int, sense: Sense, known: Lexicon) -> bool:
    """Whether a part of something is no part of the secret: "part of the password policy", "last four digits"."""
    if sense.kind in _LAST_FOUR and any("last four" in roles for roles in clause.roles):
        return True
    return _head_after(clause, at, known.head_first, ("part",)) or _counted(clause, at)


def _head_after(clause: Clause, at: int, head_first: int, partners: tuple[str, ...]) -> bool:
    """ "Password length", パスワードの長さ, "password expires", "give the token a name".

    Not "heslo správce": where heads come first, what follows is whose password it is.
    """
    tied, gap = False, 0
    head_last = clause.languages & ~head_first
    for place, roles in enumerate(clause.roles_after(at), start=at + 1):
        following = clause.marks[place + 1 : place + 2]
        limits_the_value = bool(following) and following[0].text.isdigit()  # "min 8 characters"
        if (
            clause.marks[place].entry.roles.get("head", 0) & head_last
            and roles.isdisjoint(partners)
            and not limits_the_value
        ):
            return True
        if "predicate" in roles or (tied and "ordinary" in roles):
            return True
        if "a" in roles and following and "head" in clause.roles[place + 1]:
            return True
        if "tie" in roles:
            tied = True
        elif not _ENDS_A_NOUN.isdisjoint(roles) or (gap := gap + 1) > 2:
            return False
    return False


def _head_before(clause: Clause, at: int, head_first: int) -> bool:
    """ "Length of the password", "longueur du mot de passe", "długość hasła"."""
    languages, linked, gap = clause.languages, False, 0
    for mark, roles in zip(clause.marks_before(at), clause.roles_before(at), strict=True):
        spoken = mark.entry.roles
        if not _LINKS.isdisjoint(roles):
            languages &= spoken.get("of", 0) | spoken.get("the", 0)
            linked = linked or "of" in roles
            continue
        nouns = spoken.get("head", 0) & (-1 if linked else head_first & ~spoken.get("ask", 0))
        nouns |= spoken.get("ordinary", 0) if linked else 0
        if nouns & languages:
            return True
        if not _BREAKS.isdisjoint(roles):
            return False
        gap += 1
        if gap > (2 if linked else 1):
            return False
    return False


def _counted(clause: Clause, at: int) -> bool:
    """ "Number of tokens", "количество попыток ввода пароля", "4 pins": how many, not which. "Pin 7" is one of many."""
    if clause.marks[at].text.endswith("s") and at and clause.marks[at - 1].text.isdigit():
        return True
    if clause.marks[at].text == "pin" and at + 1 < len(clause.marks) and clause.marks[at + 1].text.isdigit():
        return True
    for roles in clause.roles_before(at):
        if "count" in roles:
            return True
        if "and" in roles:
            return False
    return False


def _followed_by_a_noun(clause: Clause, at: int, sense: Sense, stacking: int) -> bool:
    """ "Token ring", "password cracking", "what is your password strategy": the last noun is the head."""
    following = clause.marks[at + 1 : at + 2]
    if not following or not following[0].unknown or not clause.ascii:
        return False
    if clause.languages != COMMON and not clause.languages & stacking:
        return False
    in_a_sentence = at + 2 == len(clause.marks) >= 4
    return sense.strength in {"weak", "bare"} or in_a_sentence or following[0].text.endswith(_NOUN_ENDINGS)


def _is_object_of_a_statement(clause: Clause, at: int) -> bool:
    """ "The place where the token is kept" where the object comes first: トークンを保存する場所."""
    following = clause.roles_after(at)
    if len(following) < 2 or "object" not in following[0]:
        return False
    turns = any("head" in roles or "stop" in roles for roles in following[1:3])
    return turns or not any("ask after" in roles for roles in following)
