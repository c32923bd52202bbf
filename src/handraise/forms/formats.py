"""The formats that a text field may have, as their RFCs define them, in linear time.

A new format is a name in `Format`, a line in `FORMATS`, and its `problem_` and `hint_` sentences in `desks/words.toml`.

email is an RFC 5321 mailbox, uri an RFC 3986 URI (so with its scheme), date and date-time are
RFC 3339. All are ASCII by definition. Repetition in the expressions is possessive: no backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Format = Literal["email", "uri", "date", "date-time"]
AskedFormat = Literal["email", "uri"]
"""The formats of `ask.text`; the others have a Python type of their own."""

_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_LABEL: Final = r"[A-Za-z0-9]++(?:-++[A-Za-z0-9]++)*+"
_PLAIN_EMAIL: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*+@{_LABEL}(?:\.{_LABEL})*+")
_EMAIL: Final = re.compile(
    rf'({_ATOM}(?:\.{_ATOM})*+|"(?:[ !#-\[\]-~]|\\[ -~])*+")'
    rf"@(?:({_LABEL}(?:\.{_LABEL})*+)|\[([0-9.]++)\]|\[[Ii][Pp][Vv]6:([0-9A-Fa-f:.]++)\])"
)

_PCT: Final = r"%[0-9A-Fa-f]{2}"
_PCHAR: Final = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{_PCT})"
_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*+:"
    r"(?://"
    rf"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|{_PCT})*+@)?"
    rf"(?:\[(?:([0-9A-Fa-f:.]++)|[Vv][0-9A-Fa-f]++\.[A-Za-z0-9._~!$&'()*+,;=:-]++)\]"
    rf"|(?:[A-Za-z0-9._~!$&'()*+,;=-]|{_PCT})*+)"
    r"(?::[0-9]*+)?"
    rf"(?:/{_PCHAR}*+)*+"
    rf"|/(?:{_PCHAR}++(?:/{_PCHAR}*+)*+)?"
    rf"|{_PCHAR}++(?:/{_PCHAR}*+)*+"
    r"|)"
    rf"(?:\?(?:{_PCHAR}|[/?])*+)?"
    rf"(?:#(?:{_PCHAR}|[/?])*+)?"
)

_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(
    r"[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]++)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_email(text: str) -> bool:
    """Whether the text is a mailbox as RFC 5321, 4.1.2 has it: `local@domain` or `local@[address]`."""
    if len(text) <= 64 and _PLAIN_EMAIL.fullmatch(text):
        return True  # nearly all are, and no part of them can be too long
    match = _EMAIL.fullmatch(text)
    if match is None:
        return False
    local, domain, ipv4, ipv6 = match.groups()
    if len(local) > 64 or len(text) - len(local) > 256:
        return False
    if domain is not None:
        return all(len(label) <= 63 for label in domain.split("."))
    return _is_ipv4(ipv4) if ipv6 is None else _is_ipv6(ipv6)


def is_uri(text: str) -> bool:
    """Whether the text is a URI as RFC 3986, 3 has it. Relative references are none."""
    match = _URI.fullmatch(text)
    return match is not None and (match[1] is None or _is_ipv6(match[1]))


def is_date(text: str) -> bool:
    """Whether the text is a day that the calendar has, as RFC 3339 `full-date`."""
    match = _DATE.fullmatch(text)
    return match is not None and _is_day(*map(int, match.groups()))


def is_date_time(text: str) -> bool:
    """Whether the text is a moment as RFC 3339 `date-time`: with its offset, and real."""
    date, time = text[:10], _TIME.fullmatch(text, 10)
    if time is None or not is_date(date):
        return False
    hour, minute, second = int(time[1]), int(time[2]), int(time[3])
    offset_hour, offset_minute = (int(time[5]), int(time[6])) if time[4] else (0, 0)
    if hour > 23 or minute > 59 or offset_hour > 23 or offset_minute > 59:
        return False
    if second < 60:
        return True
    offset = (offset_hour * 60 + offset_minute) * (-1 if time[4] == "-" else 1)
    return second == 60 and _ends_a_month(date, hour * 60 + minute - offset)


class TextFormat(NamedTuple):
    """One text format: its check and the words that explain it."""

    matches: Callable[[str], bool]
    wanted: str
    """The end of a sentence that says how to enter such a text, with an example."""
    may_hold_secret: bool = True
    """Whether a secret fits into such a text."""
    needs_hint: bool = True
    """Whether desks show the hint; False if they have an input of their own for it."""


FORMATS: Final[dict[Format, TextFormat]] = {
    "email": TextFormat(is_email, "an e-mail address, like ada@example.org"),
    "uri": TextFormat(is_uri, "a full address, like https://example.org/"),
    "date": TextFormat(is_date, "a date, like 2026-07-28", may_hold_secret=False, needs_hint=False),
    "date-time": TextFormat(
        is_date_time,
        "a date and time with its offset, like 2026-07-28T14:30:00Z",
        may_hold_secret=False,
        needs_hint=False,
    ),
}


def _is_day(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= _days_in(year, month)


def _days_in(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _DAYS[month - 1] + leap


def _ends_a_month(date: str, minute_utc: int) -> bool:
    """Whether a minute, counted from the date's midnight in UTC, is the last one of a month.

    A leap second comes only after that minute (RFC 3339, 5.7).
    """
    year, month, day = int(date[:4]), int(date[5:7]), int(date[8:])
    days, minute = divmod(minute_utc, 24 * 60)
    day += days
    return minute == 24 * 60 - 1 and (day == _days_in(year, month) or day == 0)


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(1 <= len(part) <= 3 and int(part) <= 255 for part in parts)


def _is_ipv6(text: str) -> bool:
    from ipaddress import AddressValueError, IPv6Address

    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


_TOKEN: Final = re.compile(
    r"""\[\^?+\]?+(?:\\.|[^\]\\])*+\]|\\.|\{([0-9]{1,9})(?:,([0-9]{0,9}))?\}|.""", re.DOTALL
)
_WIDE: Final = re.compile(r"\\[pPwWsSdD]")
_WIDE_WEIGHT: Final = 4
"""The cost of a class of thousands of characters, relative to a single character."""


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Callable[[object], bool]:
    """A function that tells whether the pattern is found in a text; ValueError if it cannot be compiled."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
        return SchemaValidator(schema).isinstance_python
    except SchemaError:
        raise ValueError(
            "it cannot be compiled (lookaround, back-references and very large repeats are not supported)"
        ) from None


_FLAGS: Final = re.compile(r"\?(?=[A-Za-z-])[A-Za-z]*+(?:-[A-Za-z]++)?[:)]")


def sets_flags(pattern: str) -> bool:
    """Whether the pattern turns flags on or off, as `(?i)` does."""
    groups = (token.end() for token in _TOKEN.finditer(pattern) if token[0] == "(")
    return any(_FLAGS.match(pattern, end) for end in groups)


def weigh_pattern(pattern: str) -> int:
    """How many characters the pattern has when its counted repeats are written out."""
    groups, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            groups.append(0)
            continue
        if text == ")" and len(groups) > 1:
            last = groups.pop() + 1
        elif token[1] is not None:
            times = max(int(token[1]), int(token[2] or 0), 1)
            groups[-1] += last * (times - 1)
            last *= times
            continue
        else:
            last = _WIDE_WEIGHT if _WIDE.search(text) else 1
        groups[-1] += last
    return sum(groups)
