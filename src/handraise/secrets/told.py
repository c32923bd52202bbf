"""Sentences that give a secret away: "my password is …", "the gate opens with 7712", "…, that logs you in"."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from handraise.secrets.characters import UNSPACED
from handraise.secrets.clause import Clause, has_another_head
from handraise.secrets.finding import CALLED
from handraise.secrets.lexicon import Sense, lexicon
from handraise.secrets.words import clauses, languages_of, marks_of

_PLACEHOLDER: Final = (
    r"(?i)<[^>]{1,40}>|\$\{?\w+\}?|\{\{?.{1,40}\}|\*{3,}|x{4,}|\.{3}|…|your[-_ ]|change_?me"
    r"|placeholder|example"
    r"|^(?:/[\w.-]+){2,}$|^(?:user(?:name)?|pass(?:word|wd)?|token|secret|key|true|false|none|null|required|optional"
    r"|todo|redacted)$"
)
RANDOM: Final = r"[A-Za-z0-9_-]{20,200}"


class Found(NamedTuple):
    """A secret in a text: its kind, the words for it, and what gives it away."""

    kind: str
    called: str
    because: str
    doubtful: bool = False


class _Look(NamedTuple):
    """How a value has to look to be the secret that the words before it name."""

    pattern: str
    assigned: str
    """After a colon or an equals sign, which leave less doubt."""


_MIXED: Final = (
    r"(?=\S{0,99}\d)(?=\S{0,99}[^\W\d_])\S{5,200}|\S{0,99}[^\W\d_]\S{0,99}[!$%&?*#^~+=]\S{0,99}|\d{4,64}"
)
_LOOKS: Final = {
    "password": _Look(_MIXED, r"\S{5,200}"),
    "pin": _Look(r"\d{4,5}", r"\d{4,8}"),
    "otp": _Look(
        r"\d{3} ?-?\d{3}|\d{4,8}|(?=\S{0,99}\d)[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,3}",
        r"\d{3} ?-?\d{3}|\d{4,8}|[A-Z0-9-]{8,20}",
    ),
    "cvv": _Look(r"\d{3,4}", r"\d{3,4}"),
    "random": _Look(
        r"(?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])[\w.+/=~-]{12,500}",
        r"(?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])[\w.+/=~-]{10,500}",
    ),
    "words": _Look(r"(?!)", r"[^\W\d]\S*"),
}
_LOOK_OF: Final = {
    "password": "password", "passphrase": "password", "pin": "pin", "otp": "otp", "cvv": "cvv",
    "api_key": "random", "token": "random", "client_secret": "random", "private_key": "random",
    "security_answer": "words", "seed_phrase": "words",
}  # fmt: skip
_CHOSEN: Final = r"(?=\S{0,99}[^\W\d_])(?=\S{0,99}\d)\S{6,60}"
"""What people choose: letters and digits."""
_LINKED: Final = re.compile(
    r"(?i)(?:is|as|ist|als|est|es|è|é|to|jest|är|er|—|that(?:'s| is| was)|das (?:ist|war)|c'est|it's"
    r"|for (?:the|my|our)) "
)
_COPULA: Final = (
    r"(?i)(?:['’]s|\b(?:ni|yw|este|är|da)|\b(?:is|ist|est|es|è|é|jest|je|är|er|on|to|это|being|=))\s*$"
)
_RESUMED: Final = (
    r"(?i),\s*(?:c'|ce |it |das |that )(?:est|is|ist)\s*$|\b(?:lautet|reads|luidt|lyder|brzmi|yw)\s*$"
)
"""Other ways to say "is": "le mot de passe, c'est …", "lautet"."""
_SPOKEN: Final = (
    "zero oh null zéro cero nul ноль|one eins un uno een один jeden|two zwei deux dos due twee два dwa"
    "|three drei trois tres tre drie три trzy|four vier quatre cuatro quattro четыре cztery"
    "|five fünf cinq cinco cinque vijf пять pięć|six sechs seis sei zes шесть sześć"
    "|seven sieben sept siete sette zeven семь siedem|eight acht huit ocho otto восемь osiem"
    "|nine neun neuf nueve nove negen девять dziewięć"
)
"""Digits in words, from zero on."""
_SPOKEN_DIGIT: Final = {
    word: str(at) for at, words in enumerate(_SPOKEN.split("|")) for word in words.split()
}
_SPOKEN_NUMBER: Final = (
    rf"(?i)\b(?:{'|'.join(_SPOKEN_DIGIT)})(?:[ ,-]{{1,2}}(?:{'|'.join(_SPOKEN_DIGIT)})){{2,}}\b"
)
_SPACED_DIGITS: Final = r"(?<![\w.*-])\d(\s?[ *·_./,-]\s?)\d(?:\1\d){2,6}(?![\w*-]|[.,]\d)"
_ASIDE: Final = r"\s?\([^()]{1,60}\)\s?"
_SEVERAL_WORDS: Final = r"(?i)phrase|master"
"""A word before a secret of several words."""
_TWICE: Final = r"(?i)\b(double|triple) (\w{3,5})\b"
_MANY_DIGITS: Final = r"(?<!\d)\d{14,19}(?!\d)"
_SINGLE_SIGNS: Final = r"(?<!\S)[^\W\d_](?: [^\W_]){3,30}(?!\S)"
"""A word with blanks between its letters: "H e d g e h o g 7 7"."""
_YEAR: Final = r"(?:19|20)\d\d"
_TWO_GROUPS: Final = r"\d{3}[ -]\d{3}(?![\w-])"
_SIX: Final = r"\d{3}[ -]?\d{3}"
_CANDIDATE: Final = rf"[^\s{UNSPACED}]+"
_SENTENCE_END: Final = r"[.!?;\n](?=\s)|\n"
_ASSIGNED: Final = r"\s*(?:[:=：→]|->)\s*[\"'“„«»]?\s*$"
_QUOTED: Final = "\"'“”„«»‘’,;()[]<>"
_BEFORE: Final = 80
_LONGEST_VALUE: Final = 500
_MOST_CANDIDATES: Final = 100
_OPENING: Final = r"\d{4,8}[#*]?|\d{1,2}(?:-\d{1,2}){2,8}|\d{3}[ -]\d{3}|\d{2}[A-Z]\d{2}"
"""How the code of a door, a lock or a phone looks."""
_CHOSEN_WORD: Final = (
    r"[^\W\d_]{4,}(?:[-_.][^\W\d_]+)*[-_.]?\d{1,4}[!#$%&*?+]{0,2}|[^\W\d_]{4,}[!#$%&*?+]{1,2}\d{1,4}"
)
"""What people choose most: a word, and then digits and perhaps a sign."""
_APART: Final = r"(?:[,:;?–—→-]|\b(?:so|now|still|remains?)|\b(?:is|ist|est|es|è|é|jest|är|er|on))\s*$"
_SIGNS: Final = "!#$%&*?+"
_TIME: Final = r"(?:[01]\d|2[0-3])(?:00|15|30|45)"
_DENYING: Final = frozenset({"neg", "neg after", "without", "count"})
_BLOCKING: Final = frozenset({"head", "neg", "neg after", "without", "stop", "count", "predicate"})


def told_in(text: str) -> Found | None:
    """A sentence that gives a secret away: "my password is …", "PIN: …"."""
    if len(text) < 6:
        return None
    text = re.sub(
        _TWICE, lambda found: " ".join([found[2]] * (2 if found[1].lower() == "double" else 3)), text
    )
    spoken = re.sub(_SPOKEN_NUMBER, _in_digits, text)
    if re.search(_MANY_DIGITS, spoken) and not re.search(_MANY_DIGITS, text):
        return Found(
            "card_number", CALLED["card_number"], "as many digits as a card has stand there in words"
        )
    text = re.sub(_SINGLE_SIGNS, lambda run: re.sub(r"\s", "", run[0]), spoken)
    text = re.sub(_SPACED_DIGITS, lambda found: re.sub(r"\D", "", found[0]), text)
    for number, found in enumerate(re.finditer(_CANDIDATE, text)):
        if number == _MOST_CANDIDATES:
            return None
        grouped = re.compile(_TWO_GROUPS).match(text, found.start())
        value = (grouped or found)[0].strip(_QUOTED).rstrip(".,:")
        before = text[max(0, found.start() - _BEFORE) : found.start()]
        if inside := re.match(r"([^=:]*[=:])(?=[^=])", value):  # "pw=Tr0ub4dor", "pass:letmein"
            before, value = f"{before}{inside[1][:-1]}:", value[inside.end() :].strip(_QUOTED)
        if not 3 <= len(value) <= _LONGEST_VALUE:
            continue
        after = text[(grouped or found).end() :]
        if (told := _named_after(value, after)) is not None:
            return told
        if not before.strip():
            continue
        assigned = re.search(_ASSIGNED, before) is not None
        if not assigned and value.isalpha() and not re.search(_SEVERAL_WORDS, before):
            continue
        if (
            told := _named_before(before, value, assigned, after) or _described(before, value, after)
        ) is not None:
            return told
    return None


def _described(before: str, value: str, after: str) -> Found | None:
    """A value that the words around it describe and do not name."""
    apart = re.search(_APART, before) is not None and (value[-1] in _SIGNS or not before.endswith(", "))
    if apart and re.fullmatch(_CHOSEN_WORD, value) and _names_password(before):
        return Found("password", CALLED["password"], "it stands apart after the word for it")
    if re.fullmatch(_YEAR, value) or not re.fullmatch(_OPENING, value):
        return None
    sentence = re.split(_SENTENCE_END, before)[-1], re.split(_SENTENCE_END, after[:_BEFORE])[0]
    marks, following = (
        [mark for segment in clauses(text) for mark in marks_of(segment.known)] for text in sentence
    )
    if not marks:
        return None
    roles = frozenset().union(*(mark.entry.roles for mark in (*marks, *following)))
    if not roles.isdisjoint(_DENYING):
        return None
    linked = re.search(_ASSIGNED, before) or re.search(_COPULA, before)
    last = next((mark.entry.roles.keys() for mark in reversed(marks) if not mark.filler), roles)
    told = linked or not last.isdisjoint({"code", "typed", "input", "access", "entering"})
    opens = not roles.isdisjoint({"access", "entering", "drawn"}) or "unlocking" in last
    names_one = "code" in roles or (opens and not re.fullmatch(_TIME, value))
    if told and not roles.isdisjoint({"locked", "guarded"}) and (names_one or value[-1] in "#*"):
        return Found("pin", CALLED["pin"], "it opens something")
    said = not roles.isdisjoint({"code", "says"}) and "ordinary" not in roles
    if said and re.fullmatch(_SIX, value) and not roles.isdisjoint({"the app", "gadget", "arrived"}):
        return Found("otp", CALLED["otp"], "it just arrived, or an app shows it")
    return None


def _names_password(text: str) -> bool:
    """Whether a word of the text names a password, and no noun or denial beside it turns it into"
    " something else."""
    known = lexicon()
    for segment in clauses(text):
        marks = marks_of(segment.known)
        clause = Clause(marks, languages_of(text, marks))
        for at, mark in enumerate(marks):
            for sense in mark.entry.senses:
                if sense.kind == "password" and sense.strength == "strong":
                    return not clause.denied(at) and not has_another_head(clause, at, sense, known)
    return False


def _in_digits(spoken: re.Match[str]) -> str:
    """ "seven three zero eight" as 7308."""
    return "".join(_SPOKEN_DIGIT[word.lower()] for word in re.findall(r"\w+", spoken[0]))


def _named_after(value: str, after: str) -> Found | None:
    """A value, and then the words for it: "… is the API key", "…, that is my password"."""
    random = re.fullmatch(RANDOM, value) is not None and looks_random(value)
    if not random and not re.fullmatch(_CHOSEN, value):
        return None
    following = after[:40].lstrip(_QUOTED + " -–")
    for segment in list(clauses(following))[:1]:
        marks = marks_of(segment.known)[:5]
        clause = Clause(marks, languages_of(following, marks))
        for at, mark in enumerate(marks):
            if (kind := _kind_at(clause, at)) is not None:
                fits = (
                    _LOOK_OF[kind] in ("random", "password") if random else kind in ("password", "passphrase")
                )
                owned = random or "your" in set().union(*clause.roles[:at]) or _LINKED.match(following)
                owned = owned or re.match(r"\W?\s?\((?:the|my|our)\b", after)
                return (
                    Found(kind, CALLED[kind], f"the word {mark.text!r} follows") if fits and owned else None
                )
            roles = clause.roles[at]
            if "unlocking" in roles and "it" in set().union(*clause.roles[:at]):  # "…, that logs you in"
                return Found("password", CALLED["password"], f"the words {mark.text!r} follow")
            if ("it" not in roles and not _BLOCKING.isdisjoint(roles)) or (mark.unknown and random):
                break
    return None


def _named_before(before: str, value: str, assigned: bool, after: str) -> Found | None:
    """The secret that the last words before a value name, if the value looks like one."""
    stem = re.sub(_ASSIGNED, "", before) if assigned else before
    stem = re.sub(_RESUMED, " is ", re.split(_SENTENCE_END, stem)[-1])
    stem = re.sub(_ASIDE, " ", stem)
    said = re.search(_COPULA, stem)
    stem = stem[: said.start()] if said else stem
    segments = list(clauses(stem))
    if not segments:
        return None
    marks = marks_of(segments[-1].known)
    if len(segments) > 1 and all(mark.filler or "what" in mark.entry.roles for mark in marks):
        marks = marks_of([*segments[-2].known, *segments[-1].known])  # "le mot de passe, c'est …"
    clause = Clause(marks, languages_of(stem, marks))
    linking = 0
    for at in range(len(marks) - 1, max(-1, len(marks) - 6), -1):
        kind = _kind_at(clause, at, after, re.match(_SIX, value + after[:4]) is not None)
        if kind is not None:
            if not said and linking & (
                marks[at].entry.languages or clause.languages
            ):  # "the password of user42"
                return None
            look = _LOOKS[_LOOK_OF[kind]]
            fits = re.fullmatch(look.assigned if assigned else look.pattern, value)
            if (
                kind == "otp" and re.fullmatch(r"\d{3}", value) and " " in marks[at].text
            ):  # "security code 123"
                kind, fits = "cvv", re.fullmatch(r"\d{3}", value)
            if (
                kind == "passphrase" or (kind == "password" and (assigned or "master" in stem))
            ) and _holds_words(f"{value}{after}"):
                return Found(kind, CALLED[kind], f"words follow the word {marks[at].text!r}")
            if kind == "seed_phrase" and not re.match(r"(?:\W+[a-z]+){2}", after):
                return None
            unclear = kind in ("cvv", "otp") or any(mark.unknown for mark in marks[at + 1 :])
            if not assigned and unclear and re.fullmatch(_YEAR, value):  # "MFA enrolled 2024"
                return None
            plain = _LOOK_OF[kind] != "words" and _is_a_word(value, after)
            if fits and is_real(value) and not plain:
                return Found(kind, CALLED[kind], f"it follows the word {marks[at].text!r}")
            return None
        if not _BLOCKING.isdisjoint(clause.roles[at]) or (len(marks[at].text) > 9 and not said):
            return None
        if marks[at].text.isascii() and "please" not in clause.roles[at]:
            linking |= marks[at].entry.roles.get("of", 0)
    return None


def _kind_at(clause: Clause, at: int, after: str = "", six: bool = False) -> str | None:
    """The kind that the word at this place names. A plain "code" names one before six digits."""
    known = lexicon()
    senses = list(clause.marks[at].entry.senses)
    if "code" in clause.roles[at] and not senses:
        if six and all(mark.filler for mark in clause.marks[:at]):
            return "otp"
        following = (mark.entry.roles for segment in clauses(after[:60]) for mark in marks_of(segment.known))
        if {"delivered", "signing in"} & set().union(*clause.roles, *following):
            senses = [Sense("otp", "weak")]
    for sense in senses:
        if sense.kind in _LOOK_OF and not has_another_head(clause, at, sense, known):
            return None if clause.denied(at) else sense.kind
    return None


def _holds_words(text: str) -> bool:
    """Whether it begins with words that no sentence about a passphrase needs."""
    words = text.lower().split()[:4]
    return len(words) == 4 and sum(word.isalpha() and not lexicon().knows(word) for word in words) >= 3


def _is_a_word(value: str, after: str) -> bool:
    """Whether it is a word of the sentence and no value: "password: required", "password: ask Bob"."""
    if not value.isalpha():
        return False
    return lexicon().knows(value.casefold()) or len(after.split()) in (1, 2)


def is_real(value: str) -> bool:
    """Not what documentation writes in the place of a secret."""
    return re.search(_PLACEHOLDER, value) is None


def looks_random(value: str) -> bool:
    return len(value) >= 16 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
