"""What a field gives away besides its words: how many digits it takes, its pattern, an example, dots for letters."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from handraise.forms import UNSET, Integer, Number, Text
from handraise.forms.formats import compile_pattern
from handraise.secrets.characters import fold
from handraise.secrets.checksums import all_seed_words, longest_run_of_seed_words
from handraise.secrets.connections import holds_url_password
from handraise.secrets.providers import QUOTED_BEGINNINGS
from handraise.secrets.scan import holds_private_key, value_kind

Carrier: TypeAlias = Text | Integer | Number
"""Fields that a secret fits into as it is."""


compiled: Final = lru_cache(maxsize=None)(re.compile)
"""Compiled at first use, so that importing costs little. The cache of `re` itself takes longer to look into."""


_BEGINNINGS: Final = (*QUOTED_BEGINNINGS, ("token", "eyJ"))


_CARDS: Final = (
    "4111111111111111",
    "4111 1111 1111 1111",
    "5555555555554444",
    "5555 5555 5555 4444",
    "378282246310005",
    "4111111111111111 12/29 123",
    "12/29 123 4111111111111111",
)
"""Card numbers for tests, as their networks print them."""
_NO_CARDS: Final = ("9999999999999999", "9999 9999 9999 9999", "999999999999999", "4", "a b", "12/29", "123")
_LOGINS: Final = tuple(
    f"{scheme}://{{}}db.example.org/app"
    for scheme in ("postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "redis", "amqp", "https")
)
_EXPIRES: Final = ("12/29", "12-29", "12 / 29", "1229")


_FEW: Final = 1000
_FEWEST: Final = 100
"""A number between the two has three digits, as the code of a card."""


class Hint(NamedTuple):
    """A kind of secret that the shape of a field speaks for, and why."""

    kind: str
    doubtful: bool
    because: str


_DIGITS: Final = (
    r"\^?\(?(?:\\d|\[0-9\]|\[\\d ?\]|\[0-9[ -]{1,2}\])(?:\{(\d{1,2})(?:,(\d{1,2}))?\}|([+*]))\)?\$?"
)
_GROUP: Final = r"\(?(?:\?:)?([1-9]?)(?:\\d|\[0-9\])\{(\d{1,2})\}(?:\[? ?-?\]?\??\)?)(?:\{(\d)\}|(\?))?"
"""Digits of one group in a pattern: how many, and how often the group comes."""
_DIGITS_SHOWN: Final = (
    r"(?i)(?:e\.?g\.?|example:?|z\.\s?b\.)?\s?(\d{3,4}|\d{16})(?: (?:or|oder|ou|o) (\d{3,4}))?"
)
_PLACES: Final = (
    r"(?i)(?:digits?|numbers?|ziffern?|chiffres?|cifras?|cijfers?|цифры)?\s?"
    r"(\d{1,2})\s?(?:to|-|–|bis|à|a|t/m|по)\s?(\d{1,2})"
)
_BLANKS: Final = r"(?:[_▢□]\s?){4,8}|(?:[\dX#_•*]{4}[ -]){3}[\dX#_•*]{4}|\d{3}[ -]\d{3}"
"""Places for digits: "_ _ _ _", "XXXX XXXX XXXX XXXX", "000 000"."""
_WORDS: Final = r"\((?:\\w|\[a-z\])\+?(?:\{[\d,]+\})?(?: |\\s)\+?\)\{(?:11|14|17|20|23)\}"
_HEX64: Final = r"\[(?=[^\]]*0-9)(?=[^\]]*[aA]-[fF])[^\]]{6,9}\]\{64\}"
_WIF: Final = r"\[5KL\]|1-9A-HJ-NP-Za-km-z\]\{5[0-2]"
_FORTY: Final = r"\[(?=[^\]]*/)(?=[^\]]*\+)[^\]]{8,20}\]\{40\}"
_SOCIAL: Final = r"(?:\\d|\[0-9\])\{3\}-?(?:\\d|\[0-9\])\{2\}-?(?:\\d|\[0-9\])\{4\}"
_CURVE_KEY: Final = r"\[[^\]]*\+/[^\]]*\]\{43\}="
_NUMBER_AND_COLON: Final = r"(?:\\d|\[0-9\])\{8,10\}:"
_SIX_TIMES_EIGHT: Final = r"\{6\}-\)\{7\}"
_THREE_PARTS: Final = r"\^?(?:\[A-Za-z0-9[_-]*\]|\[\\w-\])\+(?:\\\.(?:\[A-Za-z0-9[_-]*\]|\[\\w-\])[+*]){2}\$?"
_NUMBERED_WORDS: Final = r"(?i)\bword ?1\b.*\bword ?(?:12|24)\b"
_DOTS: Final = r"\s*[*•●⬤∙]{4,}\s*"
_LOCKS: Final = frozenset("🔑🔒🔐🗝")
_MONTH_AND_YEAR: Final = r"(?i)\bMM\s?[/.-]\s?(?:YY|JJ|AA)(?![A-Z])"
_EXAMPLE: Final = (
    r"(?i)(?:\be\.?g\.?|\bexample:?|\blike|\bsuch as|\bz\.?\s?b\.?|\bex\.?:?|\bp\. ?ej\.?|\bнапример|例[:：]?)"
    r"\s*[\"'“„]?(\S{6,60})"
)
_RULES_FOR_IT: Final = (
    r"(?i)\b\d{1,2}\s?(?:-|–|to|bis|à|a)\s?\d{2,3}"
    r" (?:characters|chars|zeichen|caract[eè]res|caracteres|znaków|символов)"
    r"|\b(?:at least|min\.?|minimum|mindestens|au moins|al menos|almeno|не менее|co najmniej) \d{1,2}"
    r" (?:characters|chars|zeichen|caract[eè]res|caracteres|caratteri|символов|znaków)"
)
NOTORIOUS: Final = frozenset({
    "admin123", "welcome1", "s3cret", "secret123", "hunter2", "letmein", "qwerty123", "password1",
    "password123", "passw0rd", "p@ssw0rd", "changeme", "iloveyou", "qwerty", "dragon", "monkey",
    "abc12345", "trustno1", "sunshine1", "abc123", "correct-horse-battery-staple",
    "correcthorsebatterystaple", "tr0ub4dor&3",
})  # fmt: skip
_CARD_MASK: Final = r"(?<![\w-])(?:[X#0_•*]{4}[ -]){3}[X#0_•*]{3,4}(?![\w-])"
_BESIDE_A_CARD: Final = r"(?i)\b(?:MM|month)\s?[/.-]\s?(?:YY|year)|\b(?:3|three) digits"
_BEGUN: Final = (
    r"otpauth://|[\"'`“](?:Authorization|X-Api-Key|Cookie|Proxy-Authorization):"
    r"|(?<![\w-])(?:eyJ[\w-]{0,200}(?:\.|…)|\d{8,10}:AA\w{8}|(?:key|api|secret|token)_(?:live|test|prod)_"
    r"|hooks\.slack\.com/services/T|AIza\w{4}|AGE-SEC)"
    r"|(?<![\w-])BEGIN (?:OPENSSH|RSA|EC|DSA|PGP|ENCRYPTED|PRIVATE)\b(?! PUBLIC)"
    r"|\bWIFI:(?:[A-Z]:[^;]{0,40};){0,3}P:"
    r"|\bIDENTIFIED BY\b|\b(?:sig|code|access_token|id_token)="
)
_PRINTING: Final = (
    r"(?i)\b(?:gh auth token|aws configure (?:get|export)|find-generic-password|print-(?:access|identity)-token"
    r"|get-access-token|get-session-token|config view\b.{0,30}--raw"
    r"|kubectl get secrets?\b.{0,60}-o|op (?:read|item get)|vault (?:kv get|read|token)|pass show"
    r"|heroku auth:token|npm token|docker-credential|git credential fill|wg showconf|bw get|lpass show)"
    r"|\b(?:type|run|execute|enter)\s{1,3}[`\"']?(?:env|printenv|set|history)\b"
    r"|\b(?:echo|printenv|print|cat|less|head|type|more)\s{1,3}[$%{~./\\\w-]{0,60}"
    r"(?:api_?key|token\b|secret|passw|credentials|id_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)|\.env\b|\.netrc|\.npmrc|\.pgpass)"
)
"""Commands that print a secret."""
_SEEDS_BEGUN: Final = r"((?:[a-z]{3,8}[ ,]+){2,11})(?:\.\.\.|…)"
_MAY_SHOW_ONE: Final = r"\d{3}\D{0,5}\d{3}|(?:\d ){6}|[\w+/-]{16}|://|-----"
_SHORTEST_MASK: Final = 22
"""A mask for a card and what stands beside it take at least so many signs."""
_MANY_WORDS: Final = 10
"""No secret shows itself in less."""
_CACHED: Final = 600
"""Longer texts are looked at again each time, so that nobody can fill the cache with them."""
_UNUSUAL_OR_DIGIT: Final = r"[^A-Za-z ,?!()]"
"""What a secret, a mask or an example of one has in it, and few sentences do."""
_COMPLEX: Final = r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s.,:;/@+-])\S{8,40}"


def digits_of(field: Carrier, roles: Set[str]) -> tuple[int, int] | None:
    """How many digits the field takes, at least and at most; None if it says nothing about that."""
    for role, number in (("sixteen", 16), ("six", 6), ("three", 3), ("four", 4)):
        if role in roles:
            return number, number
    if isinstance(field, Integer | Number):
        if field.minimum is None or field.maximum is None:
            return None
        low, high = int(field.minimum), int(field.maximum)
        full = str(low).strip("0") == "1" and set(str(high)) == {"9"}
        return (len(str(low)), len(str(high))) if full else None
    if found := compiled(_DIGITS_SHOWN).fullmatch(field.description or field.title or ""):
        return len(found[1]), len(found[2] or found[1])
    if field.title and (places := compiled(_PLACES).fullmatch(field.title)):
        counted = max(0, int(places[2]) - int(places[1])) + 1
        return counted, counted
    for text in (field.title, field.description):
        if text and is_mask(text):
            blanks = len(re.sub(r"[\s-]", "", text))
            return blanks, blanks
    if (pattern := pattern_of(field)) and (found := compiled(_DIGITS).fullmatch(pattern)):
        if found[3] is None:
            return int(found[1]), int(found[2] or found[1])
        return (field.min_length, field.max_length) if field.min_length and field.max_length else None
    if pattern and (counted := _grouped_digits(pattern)):
        return counted, counted
    if not pattern and field.max_length == 3 and not field.min_length:
        return 3, 3
    if not pattern and field.min_length and field.max_length and field.max_length - field.min_length <= 3:
        return field.min_length, field.max_length
    return None


def single_digit(field: Carrier) -> tuple[int, int] | None:
    """One digit, if the field takes no more: a number up to nine, or a text of one sign."""
    if isinstance(field, Text):
        return (1, 1) if field.max_length == 1 or pattern_of(field).strip("^$") in {r"\d", "[0-9]"} else None
    return (1, 1) if field.minimum == 0 and field.maximum == 9 else None


def counts_few(field: Carrier) -> bool:
    """Whether it is a number with a low limit, which counts things. A single digit may be one of a secret."""
    if isinstance(field, Text) or field.maximum is None or single_digit(field):
        return False
    return field.maximum < _FEW and (field.minimum or 0) < _FEWEST


def takes_postal_code(field: Text, in_india: bool = False) -> bool:
    """Whether it takes six digits of which the first is no zero, as postal codes in India are."""
    pattern = pattern_of(field).strip("^$")
    return re.fullmatch(r"\[1-9\](?:\\d|\[0-9\])\{5\}", pattern) is not None or (
        in_india and pattern in {r"\d{6}", "[0-9]{6}"}
    )


def is_mask(text: str) -> bool:
    """Whether a text is nothing but places for digits."""
    return compiled(_BLANKS).fullmatch(text.upper()) is not None


def _grouped_digits(pattern: str) -> int:
    """How many digits a pattern of groups takes, such as (\\d{4} ){3}\\d{4}; 0 if it takes something else."""
    bare = pattern.removeprefix("^").removesuffix("$")
    groups = list(re.finditer(_GROUP, bare))
    if not groups or "".join(group[0] for group in groups) != bare:
        return 0
    return sum(
        (len(first) + int(size)) * int(times or 1) for first, size, times, _ in (g.groups() for g in groups)
    )


def pattern_of(field: Carrier) -> str:
    """The pattern that an answer has to match, as text."""
    if not isinstance(field, Text) or field.pattern is None:
        return ""
    return field.pattern if isinstance(field.pattern, str) else field.pattern.pattern


def month_and_year(field: Carrier) -> bool:
    """Whether the field wants a month and a year of two digits, as cards have them."""
    pattern = pattern_of(field)
    return any(
        compiled(_MONTH_AND_YEAR).search(text) for text in (field.title, field.description) if text
    ) or ("1[0-2]" in pattern and _takes_some(pattern, _EXPIRES, ("29/12", "13/29", "12/29/29", "12/2029")))


@lru_cache(maxsize=1024)
def _takes_some(pattern: str, wanted: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether the pattern takes one of these texts, and none of the others."""
    try:
        takes = compile_pattern(pattern)
    except ValueError:
        return False
    return any(map(takes, wanted)) and not any(map(takes, others))


def _takes_card(pattern: str) -> bool:
    return _takes_some(pattern, _CARDS, _NO_CARDS)


def _takes_login(pattern: str) -> bool:
    """Whether it takes an address with a user and a password, and none without."""
    logins = tuple(each.format("app:pw12@") for each in _LOGINS)
    return _takes_some(pattern, logins, tuple(each.format("") for each in _LOGINS))


def shown_kind(field: Carrier, roles: Set[str], generic: bool) -> Hint | None:
    """The kind that the pattern, an example or a mask of the field shows."""
    return _by_pattern(pattern_of(field), roles) or _by_example(field, roles, generic)


def _by_pattern(pattern: str, roles: Set[str]) -> Hint | None:
    if not pattern:
        return None
    because = f"the pattern {pattern[:40]}"
    if "PRIVATE KEY" in pattern:
        return Hint("private_key", False, because)
    if compiled(_NUMBER_AND_COLON).search(pattern):
        return Hint("token", False, because)
    if compiled(_WORDS).search(pattern):
        return Hint("seed_phrase", False, because)
    if compiled(_WIF).search(pattern) or (
        compiled(_HEX64).search(pattern) and not roles.isdisjoint({"wallet", "key"})
    ):
        return Hint("private_key", False, because)
    if compiled(_SOCIAL).search(pattern):
        return Hint("national_id", False, because)
    if compiled(_CURVE_KEY).search(pattern) or compiled(_SIX_TIMES_EIGHT).search(pattern):
        return Hint("private_key", False, because)
    if compiled(_THREE_PARTS).fullmatch(pattern):
        return Hint("token", True, because)
    if _takes_card(pattern):
        return Hint("card_number", False, because)
    if "://" in pattern and _takes_login(pattern):
        return Hint("connection_string", False, because)
    if quoted := quoted_in(_beginning(pattern)):
        return quoted._replace(because=because)
    if compiled(_FORTY).search(pattern):
        return Hint("api_key", "provider" not in roles, because)
    return None


def _beginning(pattern: str) -> str:
    """The fixed letters that a pattern begins with; of alternatives the first."""
    text, rest = "", pattern.removeprefix("^")
    token = re.compile(
        r"\((?:\?:)?([\w-]+)(?:\|[\w|-]*)?\)|\[([^\]^\\])[^\]-]*\](?![{+*?])|\\([^\w])|([\w -])(?![{+*?])"
    )
    while found := token.match(rest):
        text += next(filter(None, found.groups()))
        rest = rest[found.end() :]
    return text


def _by_example(field: Carrier, roles: Set[str], generic: bool) -> Hint | None:
    default = str(field.default) if field.default is not UNSET else ""
    if default and (quoted := quoted_in(default)):
        return quoted
    if "://" in default and compiled(_LOGIN_TO_FILL_IN).search(default):
        return Hint("connection_string", False, "an address with a place for a password")
    if generic and default.lower() in NOTORIOUS:
        return Hint("password", True, "a suggested value that is one")
    signing_in = "signing in" in roles
    for text in filter(None, (field.title, field.description, default)):
        says_rules = generic or text == field.title
        look = _look_of if len(text) <= _CACHED else _look_of.__wrapped__
        if hint := look(text, generic, says_rules, signing_in):
            return hint
    return None


@lru_cache(maxsize=4096)
def _look_of(text: str, generic: bool, says_rules: bool, signing_in: bool) -> Hint | None:
    """What a title, description or suggested value shows."""
    text = text if text.isascii() else fold(text)
    if compiled(_UNUSUAL_OR_DIGIT).search(text) is None and len(text.split()) < _MANY_WORDS:
        return None
    if compiled(_DOTS).fullmatch(text):
        return Hint("password", False, "the dots that stand for letters")
    if not _LOCKS.isdisjoint(text) and (generic or set(text.strip().replace("\ufe0f", "")) <= _LOCKS):
        return Hint("password", not signing_in, f"the sign {text.strip()}")
    digits = re.search(r"\d", text) is not None
    if says_rules and digits and compiled(_RULES_FOR_IT).search(text):
        return Hint("password", True, "rules for its characters")
    if digits and compiled(_NUMBERED_WORDS).search(text):
        return Hint("seed_phrase", False, "the places for its words")
    if (
        len(text) >= _SHORTEST_MASK
        and compiled(_BESIDE_A_CARD).search(text)
        and compiled(_CARD_MASK).search(text)
    ):
        return Hint("card_number", False, "the place for a card's number")
    if (
        text.rstrip().endswith(("...", "…"))
        and (begun := compiled(_SEEDS_BEGUN).search(text))
        and all_seed_words(begun[1])
    ):
        return Hint("seed_phrase", False, "the beginning of one")
    may_show_one = len(text.split()) >= _MANY_WORDS or compiled(_MAY_SHOW_ONE).search(text)
    if may_show_one and (kind := value_kind(text) or _seed_words(text)):
        return Hint(kind, False, "an example of one")
    found = compiled(_EXAMPLE).search(text) if generic else None
    if found and found[1].strip("\"'”.,;").lower() in NOTORIOUS:
        return Hint("password", False, "an example of one")
    if found and compiled(_COMPLEX).fullmatch(found[1]):
        return Hint("password", True, "an example of one")
    return None


def _seed_words(text: str) -> str | None:
    return "seed_phrase" if longest_run_of_seed_words(text) >= _MANY_WORDS else None


_LOGIN_TO_FILL_IN: Final = r"://[^\s/:@]{0,40}:[^/@]{0,40}@"
_LOGIN_AT_HOST: Final = r"(?i)(?<![\w:/])(?:user(?:name)?|login|name|u):(?:pass(?:word|wd)?|pw|pwd|p|secret)@"
_OPEN_BLOCK: Final = r"(?i)public|certificate|cert\b|csr|sign|message|parameters"
"""Blocks between dashes that are no secret."""
_END: Final = r"(?=[A-Za-z0-9-]{0,12}(?:\.\.\.|…)|$|[\s\"'`.,;:…*<>()\[\]{}\\|]|[xX]{2})"
_ORDINARY: Final = r"(?:(?:[A-Z]?[^\W\d_A-Z]*|[A-Z]{2}|\d+)(?:[ ,?!()\n]|[:.'](?=\s|$)|$))*"
"""An ordinary sentence. Every beginning of a key has other signs, or mixes letters and digits."""
_COMMAND_WORDS: Final = frozenset({
    "gh", "aws", "kubectl", "op", "vault", "pass", "heroku", "npm", "git", "wg", "bw", "lpass", "type",
    "run", "more", "execute", "enter", "echo", "printenv", "print", "cat", "less", "head",
})  # fmt: skip
"""Words that commands begin with."""
_BEGINNING: Final = (
    "start", "begin", "commenc", "empiez", "comienz", "inizi", "comec", "zaczyna", "начина", "prefix",
)  # fmt: skip
_SAID_TO_BEGIN: Final = (
    rf"(?i:\b(?:{'|'.join(_BEGINNING)})\w*)"
    r"\s(?:\w{1,5}\s){0,2}[\"'`“„«]?([A-Za-z][A-Za-z0-9_-]{1,11})(?![\w-])"
)
"""A description that says how the key begins, without its last sign: "starts with xoxb"."""


@lru_cache(maxsize=1)
def _any_beginning() -> re.Pattern[str]:
    """Compiled at first use, as the other long ones are."""
    return re.compile(rf"(?<![A-Za-z0-9_-])({'|'.join(begins for _, begins in _BEGINNINGS)}){_END}")


def quoted_in(text: str) -> Hint | None:
    """The secret that a text shows the beginning or an example of, or that a command in it prints."""
    text = text if text.isascii() else fold(text)
    if "://" in text and holds_url_password(text):
        return Hint("connection_string", False, "an address with a password")
    if "@" in text and compiled(_LOGIN_AT_HOST).search(text):
        return Hint("connection_string", False, "an address with a password")
    if "-----" in text and holds_private_key(text):
        return Hint("private_key", False, "the first line of one")
    if "-----BEGIN" in text and not compiled(_OPEN_BLOCK).search(text):
        return Hint("private_key", True, "-----BEGIN")
    words = text.lower()
    if not compiled(_ORDINARY).fullmatch(text):
        if found := compiled(_BEGUN).search(text) or compiled(_PRINTING).search(text):
            return Hint("token", False, found[0][:40].strip())
        if (beginning := _any_beginning().search(text)) and (kind := _kind_of(beginning[1])):
            return Hint(kind, False, beginning[1])
    elif not _COMMAND_WORDS.isdisjoint(words.split()) and (found := compiled(_PRINTING).search(text)):
        return Hint("token", False, found[0][:40].strip())
    begins = any(verb in words for verb in _BEGINNING)
    if begins and (said := compiled(_SAID_TO_BEGIN).search(text)):
        kinds = (_kind_of(said[1] + sign) for sign in ("", "_", "-", "."))
        return next((Hint(kind, False, said[1]) for kind in kinds if kind), None)
    return None


def _kind_of(beginning: str) -> str | None:
    return next((kind for kind, begins in _BEGINNINGS if re.fullmatch(begins, beginning)), None)
