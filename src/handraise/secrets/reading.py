"""What a text mentions, and how: asked for, denied, or turned into something harmless.

"Password" asks. "Password length", "longueur du mot de passe" and 密码长度 do not: the head noun is another.
"Never enter your password" denies. "The user whose password expired" mentions in passing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

from handraise.secrets.characters import fold
from handraise.secrets.clause import Clause, has_another_head, turns_part
from handraise.secrets.finding import CALLED, tier_of
from handraise.secrets.lexicon import Sense, lexicon
from handraise.secrets.shape import Hint, quoted_in
from handraise.secrets.words import Mark, Segment, clauses, languages_of, marks_of, words_of

_KINDS: Final = tuple(CALLED)
_ASKING: Final = frozenset({"ask", "ask after", "what"})
_DENYING: Final = frozenset({"neg", "neg after", "without"})
_NEVER_ELSE: Final = frozenset({"pin", "otp", "cvv", "card_number"})
"""With "your" in front of it, the word has no other meaning."""
_AROUND: Final = ".,:;!?\"'“”„«»()[]"
"""Signs around a word that are no part of it."""
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
    doubtful: bool = False
    """It is described and not named."""
    part: bool = False
    """A part of it is asked for."""
    words: tuple[str, ...] = ()
    """What it rests on, as the reader sees it."""
    homonym: bool = False
    """Most people know the word for something else: "PAT", "bearer"."""
    example: bool = False
    """It is an example of a topic: "for example a wrong password"."""
    described: bool = False
    """Words of the whole sentence describe it, and none of them names it."""
    shown: bool = False
    """A pattern or an example shows it, whatever the words are."""


def gravity(mention: Mention) -> tuple[bool, int, bool, bool, int, tuple[str, ...]]:
    """A key to sort by: the firmest and gravest comes first."""
    return (
        mention.doubtful,
        tier_of(mention.kind),
        not mention.shown,
        not mention.firm,
        _KINDS.index(mention.kind),
        mention.words,
    )


class Named(NamedTuple):
    """A sense at its place in a clause."""

    sense: Sense
    words: tuple[str, ...]
    asked: bool
    part: bool = False
    """A part of the person's own is wanted."""
    turned: bool = False
    """Another noun is the head: "password length"."""
    passing: bool = False
    """It is only mentioned: "the user whose password …"."""
    described: bool = False
    """Words of the whole sentence describe it."""
    homonym: bool = False
    """See `Mention`."""


class Reading(NamedTuple):
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
    quotes: Hint | None
    """The secret that it shows the beginning or an example of."""
    passing: frozenset[Mention]
    """What it only mentions: "Did you get the code by SMS?"."""
    refers_back: bool
    """It asks for what was named before: "Type it here"."""
    own: frozenset[Mention]
    """The person's own secrets that it is about, even if it does not ask for them: "Is your PIN above 5000?"."""
    words: frozenset[str]
    """Its words."""
    pairs: frozenset[str]
    """Words that follow each other in a clause: "your phone"."""


_NO_MENTIONS: Final[frozenset[Mention]] = frozenset()


def read(text: str) -> Reading:
    """Read one name, title, description or message."""
    return _read_once(text) if len(text) <= _CACHED else _read(text)


@lru_cache(maxsize=4096)
def _read_once(text: str) -> Reading:
    return _read(text)


def _read(text: str) -> Reading:
    said = [*clauses(text)]
    read = [marks_of(clause.known) for clause in said]
    texts = [clause.words for clause in said]
    marks = [*chain.from_iterable(read)]
    entries = [mark.entry for mark in marks]
    spared = frozenset().union(*[entry.spares for entry in entries if entry.spares])
    roles = frozenset().union(*[entry.roles for entry in entries])
    plain, words = _plain(marks), frozenset(chain.from_iterable(texts))
    generic = all(mark.filler or (mark.unknown and len(mark.text) <= 2) for mark in marks)
    pairs = frozenset([f"{one} {other}" for each in texts for one, other in pairwise(each)])
    if _DENYING.isdisjoint(roles) and not any(entry.senses for entry in entries) and not describes(roles):
        back, nothing = "it" in roles and not _ASKING.isdisjoint(roles), _NO_MENTIONS
        quotes = quoted_in(text)
        return Reading(
            nothing, spared, roles, plain, generic, False, quotes, nothing, back, nothing, words, pairs
        )
    languages = languages_of(text, marks)
    roles = frozenset(
        role for mark in marks for role, spoken in mark.entry.roles.items() if spoken & languages
    )
    found = _Found(roles)
    for sentence in _sentences(said, read):
        found.read(sentence, languages)
    return Reading(
        frozenset(found.mentions()),
        spared | found.harmless,
        roles - found.denied_roles,
        plain,
        generic,
        found.denies,
        quotes=None if found.denies else quoted_in(text),
        passing=frozenset(found.passing),
        refers_back=found.refers_back,
        own=frozenset(found.own()),
        words=words,
        pairs=pairs,
    )


def as_written(words: Iterable[str], texts: Sequence[str]) -> tuple[str, ...]:
    """The words of these texts, as they stand there, for the marks and roles that a mention rests on."""
    found = (next((seen for text in texts if (seen := _place(word, text))), word) for word in words)
    return tuple(dict.fromkeys(found))


def _place(word: str, text: str) -> str:
    """The part of a text that a mark was made from, or that plays a role; empty if there is none."""
    tokens = text.split()
    named = [(name, at) for at, token in enumerate(tokens) for name in words_of(fold(token))]
    start = 0
    for mark in marks_of([name for name, _ in named]):
        end = start + len(mark.text.split())
        if word == mark.text or word in mark.entry.roles:
            return " ".join(tokens[named[start][1] : named[end - 1][1] + 1]).strip(_AROUND)
        start = end
    return ""


def _sentences(said: Sequence[Segment], marks: Sequence[list[Mark]]) -> list[list[tuple[list[Mark], bool]]]:
    """Sentences of clauses, each with its marks and whether it ends with a question mark."""
    sentences: list[list[tuple[list[Mark], bool]]] = []
    for clause, each in zip(said, marks, strict=True):
        if not clause.continues:
            sentences.append([])
        sentences[-1].append((each, clause.questions))
    return sentences


class _Found:
    """What is found while the sentences of a text are read, one after the other."""

    def __init__(self, roles: Set[str]) -> None:
        self.harmless: set[str] = set()
        self.denied_roles: set[str] = set()
        self.denies = self.refers_back = False
        self._roles = roles
        self.passing: set[Mention] = set()
        self._own: list[tuple[Mention, int]] = []
        """The person's own secrets, with the number of the clause."""
        self._named: list[tuple[Named, bool, bool, int, int]] = []
        """What is named, whether as the person's own or as an example, and the numbers of its sentence and clause."""
        self._denied: list[tuple[Sense, str]] = []
        """Secrets that the text says it does not want. "We never store passwords, but we need yours" does."""
        self._sentence = self._clause = 0
        self._last_request = self._last_reference = -1

    def read(self, sentence: list[tuple[list[Mark], bool]], languages: int) -> None:
        """Read a sentence clause by clause; what one clause denies or turns, the next one goes on with."""
        around = {
            role: mark.text
            for clause, _ in sentence
            for mark in clause
            for role, spoken in mark.entry.roles.items()
            if spoken & languages
        }
        self._sentence += 1
        first = self._clause
        denied = forbidden = turned = example = False
        for marks, questions in sentence:
            self._clause += 1
            clause = Clause(
                marks, languages, denied_before=denied, forbidden_before=forbidden, questions=questions
            )
            named = list(
                _named(clause, self._roles if clause.asks or clause.requests else around.keys(), around)
            )
            example = (example or bool(clause.examples)) and not clause.own and not clause.asks
            for each in named:
                kind = each.sense.kind
                if each.turned or f"not {kind}" in self._roles or (turned and not clause.asks):
                    self.harmless.add(kind)
                    continue
                if clause.own and each.sense.strength != "bare":
                    firm = each.sense.strength == "strong" or (
                        each.sense.strength == "weak" and kind in _NEVER_ELSE
                    )
                    doubtful = each.sense.strength == "doubtful"
                    own = Mention(
                        kind, firm, each.asked, not clause.questions, doubtful, each.part, each.words
                    )._replace(described=each.described)
                    self._own.append((own, self._clause))
                if each.passing:
                    firm = each.sense.strength == "strong"
                    self.passing.add(Mention(kind, firm, False, True, words=each.words))
                else:
                    begged = clause.own and clause.asks and each.asked
                    last = first + len(sentence) if each.described else self._clause
                    self._named.append((each, begged, example, self._sentence, last))
            if (
                self._denied
                and not clause.denies
                and (clause.refers or (clause.refers_back and clause.says_it))
            ):
                sense, text = self._denied[-1]
                again = Named(sense if clause.refers else Sense(sense.kind, "doubtful"), (text,), asked=True)
                self._named.append((again, False, False, self._sentence, self._clause))
            turned = turned or any(each.turned for each in named)
            denied, forbidden = clause.denies, clause.forbids
            self._note(clause)

    def _note(self, clause: Clause) -> None:
        self.refers_back = self.refers_back or clause.refers_back or (clause.asks and clause.says_it)
        if clause.refers_back:
            self._last_reference = self._clause
        elif clause.requests:
            self._last_request = self._clause
        if clause.denies:
            self.denies = True
            self._denied += [
                (sense, mark.text)
                for mark in clause.marks
                for sense in mark.entry.senses
                if sense.strength != "bare" and sense.kind != "personal_data"
            ]
            self.denied_roles.update(role for mark in clause.marks for role in mark.entry.roles)

    def own(self) -> Iterator[Mention]:
        """The person's own secrets that the text is about."""
        for mention, clause in self._own:
            yield mention._replace(closing=mention.closing and clause >= self._last_request)

    def mentions(self) -> Iterator[Mention]:
        """What was named, now that it is known what came after it."""
        for named, begged, example, sentence, clause in self._named:
            asked = named.asked or clause < self._last_reference
            said = asked or named.described or sentence == self._sentence
            closing = named.part or (clause >= self._last_request and said)
            strength = named.sense.strength
            firm = strength == "strong" or (strength == "weak" and (begged or named.part))
            doubtful = strength == "doubtful"
            mention = Mention(named.sense.kind, firm, asked, closing, doubtful, named.part, named.words)
            yield mention._replace(homonym=named.homonym, example=example, described=named.described)


def _named(clause: Clause, sentence: Set[str], around: Mapping[str, str]) -> Iterator[Named]:
    """Every sense that the clause does not deny.

    A part of the person's own secret is asked for, whatever the words around it are.
    """
    known = lexicon()
    part = (clause.own or clause.asks) and "part" in around
    named = ((sense, at, (), False) for at, mark in enumerate(clause.marks) for sense in mark.entry.senses)
    for sense, at, partners, described in (*named, *clause.together(known.rules, sentence)):
        others = (around[partner] for partner in partners if partner in around)
        words = tuple(dict.fromkeys((clause.marks[at].text, *others)))
        if part and sense.strength != "bare" and not turns_part(clause, at, sense, known):
            because = tuple(dict.fromkeys((*words, around["part"])))
            yield Named(sense, because, asked=True, part=True, described=described)
            continue
        if clause.denied(at):
            continue
        passing = clause.asks_something_else if described else clause.passing(at)
        turned = not described and has_another_head(clause, at, sense, known, partners)
        asked = not turned and not passing and clause.asked(at, sense)
        if turned and passing:
            continue
        if turned or asked or sense.strength != "bare":
            homonym = not described and not clause.own and "homonym" in clause.roles[at]
            yield Named(sense, words, asked, False, turned, passing, described, homonym)


def describes(roles: frozenset[str]) -> bool:
    """Whether all groups of a rule are there."""
    rules = lexicon().rules
    return any(roles.issuperset(rule.others) for role in roles & rules.keys() for rule in rules[role])


def _plain(marks: list[Mark]) -> frozenset[str]:
    contents = [mark.entry.roles for mark in marks if not mark.filler]
    return frozenset(contents[0]).intersection(*contents[1:]) if contents else frozenset()
