"""Yes or no, and choices, that narrow a secret down or ask which kind of secret a field takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from handraise.forms import Choice, Choices, Flag, Form, Text
from handraise.secrets.checksums import longest_run_of_seed_words
from handraise.secrets.finding import PERSONAL
from handraise.secrets.reading import Mention, Reading, gravity, read
from handraise.secrets.shape import NOTORIOUS, compiled
from handraise.secrets.weighing import MANY_OPTIONS

ENTERING: Final = frozenset({"signing in", "verifying", "unlocking"})
"""Roles of words that speak of signing in."""
_OPENING: Final = frozenset({"access", "belongings", "your"})
"""Something opens, what it opens, and that it is the person's."""
_NARROWED: Final = (
    ("password", _OPENING),
    ("pin", frozenset({"your", "bank", "number"})),
    ("pin", frozenset({"your", "card", "four"})),
    ("pin", frozenset({"cash machine", "number"})),
)
"""Words around options that are values or ranges."""
_FOR_THE_CHOSEN: Final = frozenset({"ask", "ask after", "contents", "copy it", "generic", "figures"})
"""Roles of words that ask for what was chosen before."""
_ONE_SIGN: Final = r"[0-9A-Za-zА-Яа-я]"
_RANGE: Final = r"(\w{1,6})\s?(?:-|–|to|bis|à)\s?(\w{1,6})"
_VALUE: Final = (
    r"(?<![\w.])(?:\d{3,}(?:[ -]\d{3,})*|(?=\w*[A-Za-z])(?=\w*\d)\w{5,}[!$%&?*#]*)(?![\w.])"
    r"(?!\s(?:days|weeks|months|years|hours|signs|characters))"
)
_LOOKS_TYPED: Final = (
    r"\d{2}(?:-\d{2}){2}|(?=\S{0,99}\d)(?=\S{0,99}[^\W\d_])[^\s/:]{5,30}|[^\W\d_]{4,}[!$%&?*#]+\S*|\d{2,8}"
)


def chosen(
    message: str,
    request: Reading,
    form: Form[Any],
    context: frozenset[str],
    counts: Callable[[Mention], bool],
) -> Iterator[tuple[str | None, Mention]]:
    """Yes or no, and choices, that narrow a secret down: "Which of these is your password?"."""
    signs = [each for each in form.fields if isinstance(each, Choice | Choices) and _enumerates_signs(each)]
    for field in form.fields:
        if isinstance(field, Flag):
            readings = [request, read(field.title or ""), read(field.description or "")]
            narrowed = any({"narrow", "part"} & reading.roles for reading in readings) or any(
                _shows_a_value(text) for text in (message, field.title or "")
            )
        elif isinstance(field, Choice | Choices):
            readings = [request, read(field.title or ""), read(field.description or ""), read(field.name)]
            values = _enumerates_values(field)
            ranges = values or _narrowing(field)
            narrowed = field in signs or ranges or "narrow" in readings[1].roles | request.roles
            named = any({"password", "pin"} & reading.harmless for reading in readings[:2])
            if _offers_passwords(field) or (
                named and not all(each.label.isdigit() for each in field.options) and values
            ):
                yield field.name, Mention("password", True, True, True, True, words=("values of one",))
            if "unlocking" in request.roles and any(len(each.label) == 1 for each in field.options):
                yield field.name, Mention("password", True, True, True, True, words=("unlocking",))
            for kind, roles in _NARROWED:
                if ranges and any(reading.roles >= roles for reading in readings):
                    yield field.name, Mention(kind, True, True, True, True, words=tuple(sorted(roles)))
        else:
            continue
        readings = [
            reading
            for reading in readings
            if "other question" not in reading.roles or "which" in reading.roles
        ]
        owned = {mention for reading in readings for mention in reading.own}
        if isinstance(field, Choice | Choices):
            owned |= {
                each
                for reading in readings
                for each in reading.mentions
                if each.doubtful or each.asked or values or field in signs or each.kind == "security_answer"
            }
            owned |= {
                each
                for reading in readings
                for each in reading.passing
                if values or field in signs or each.kind == "otp"
            }
        answers = {each for each in owned if each.kind == "security_answer" and not isinstance(field, Flag)}
        for mention in sorted(owned if narrowed else answers, key=gravity):
            if mention.kind != "personal_data" and counts(mention):
                yield field.name, mention._replace(words=(*mention.words, "options that narrow it down"))
                break
    digits = [each for each in signs if "digit" in read(each.title or each.name).roles]
    if len(digits) >= 3 or (len(signs) >= 3 and not context.isdisjoint(ENTERING | {"card", "bank"})):
        for field in digits or signs:
            yield field.name, Mention("pin", True, True, True, True, words=("digit by digit",))


def of_a_chosen_kind(form: Form[Any], fields: Iterable[Text]) -> Iterator[tuple[str, Mention]]:
    """Options that are kinds of secrets, and a field for the one that was chosen: "API key", then "Paste it here"."""
    for field in form.fields:
        if not isinstance(field, Choice):
            continue
        named = [_credential(option.label) for option in field.options[:MANY_OPTIONS]]
        kinds = sorted((mention for mention in named if mention is not None), key=gravity)
        if 2 * len(kinds) >= len(named):
            for taking in fields:
                if not read(taking.title or taking.name).roles.isdisjoint(_FOR_THE_CHOSEN):
                    yield taking.name, kinds[0]


def _credential(text: str) -> Mention | None:
    """The credential that a text names, if it names one."""
    reading = read(text)
    named = [Mention(kind, True, True, True, True, words=(text,)) for kind in reading.harmless]
    mentions = [each for each in (*reading.mentions, *named) if each.kind not in PERSONAL]
    return min(mentions, key=gravity, default=None)


def _narrowing(field: Choice | Choices) -> bool:
    """Whether most options say where something lies: "above 5000", "odd"."""
    labels = [option.label for option in field.options[:MANY_OPTIONS]]
    return 2 * sum("narrow" in read(label).roles for label in labels) > len(labels)


def _enumerates_signs(field: Choice | Choices) -> bool:
    """Whether the options are the signs that something is made of: ten digits, half an alphabet."""
    values = [option.value for option in field.options]
    return len(values) >= 8 and all(compiled(_ONE_SIGN).fullmatch(value) for value in values)


def _shows_a_value(text: str) -> bool:
    """Whether a yes-or-no question names a value: "Is 4711 your PIN?". "90 days" is none."""
    return compiled(_VALUE).search(text) is not None or not NOTORIOUS.isdisjoint(
        text.lower().rstrip("?!. ").split()
    )


def _offers_passwords(field: Choice | Choices) -> bool:
    """Whether most options are passwords that everybody knows."""
    known = [option for option in field.options if option.label.lower() in NOTORIOUS]
    return 2 * len(known) > len(field.options)


def _enumerates_values(field: Choice | Choices) -> bool:
    """Whether the options look like secrets themselves, or narrow one down: "hunter2", "482913", "0000-2499"."""
    labels = [option.label for option in field.options]
    looks = [
        compiled(_LOOKS_TYPED).fullmatch(label)
        or compiled(_RANGE).fullmatch(label)
        or label.lower() in NOTORIOUS
        for label in labels
    ]
    return len([look for look in looks if look]) * 2 >= len(labels) or (
        len(labels) >= 4 and longest_run_of_seed_words(" ".join(labels)) >= len(labels)
    )
