"""The person's language: the desk's own words, and numbers and dates as the person writes them.

All texts of the desks are in one catalogue, `words.toml`, each in every language. `sentences.toml` translates what
other packages say about a question: why a link is doubtful, why a rule refused. A server's own words stay as they are.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Any, Final

_NUMERIC_DATE: Final = re.compile(r"(\d{1,4})[./-] ?(\d{1,2})[./-] ?(\d{1,4})\.?")
_WORDED_DATE: Final = re.compile(r"(?:[^\W\d]+[.,]? +)??(\d{1,2})\.? +([^\W\d]+)\.?,? +(\d{4})")
_MONTH_FIRST: Final = re.compile(r"(?:[^\W\d]+, +)?([^\W\d]+)\.? +(\d{1,2}),? +(\d{4})")
_TIME: Final = re.compile(
    r"(.*?)(?:T|,? +(?:at +|um +)?)(\d{1,2}):(\d{2})(?::(\d{2}))?(?: *Uhr)? *(Z|[+-]\d{2}:?\d{2})?", re.I
)
_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3}){1,9}")
_SPACES: Final = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009 '’", ""))


@dataclass(frozen=True, slots=True)
class Language:
    """One language, with the signs that its numbers have. Calling it gives a text of the catalogue."""

    code: str
    decimal: str
    group: str
    month_first: bool = False
    """Whether 7/4 is the fourth of July."""
    dates: str = "%Y-%m-%d"
    """How a date is typed, for `strftime`."""

    def __call__(self, key: str, /, **values: Any) -> str:
        """The text with this key. Where it has a plural, `count` chooses."""
        text = catalogue()[key][self.code]
        if isinstance(text, list):
            text = text[0 if values["count"] == 1 else 1]
        return str(text).format(**values) if values else str(text)

    def sentence(self, english: str) -> str:
        """Translate a sentence of another package, with the numbers in it. One without a translation stays English."""
        if self.code == "en":
            return english
        if _GROUPED.fullmatch(english):
            return self.number(int(english.replace(",", "")))
        for pattern, text in _sentences():
            if found := pattern.fullmatch(english):
                return text.format(**{name: self.sentence(part) for name, part in found.groupdict().items()})
        return english

    def sentences(self, english: str) -> str:
        """Several of them, with semicolons between them."""
        return "; ".join(map(self.sentence, english.split("; ")))

    def number(self, value: float, *, grouped: bool = True) -> str:
        """A number as people write it: 1000000, not 1e+06. Without groups it can be typed again."""
        whole = int(value) if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15) else None
        text = f"{whole:,}" if whole is not None else _plain_float(value)
        if not grouped:
            text = text.replace(",", "")
        return text.translate(str.maketrans(",.", self.group + self.decimal))

    def read_number(self, text: str) -> int | float:
        """The number that somebody typed. ValueError when it is none.

        Of 1.234 and 1,234 the language decides which is a thousand. What can be read in one way only (12,5) is taken
        in every language; a desk then shows how it was read.
        """
        typed = "".join(str(unicodedata.decimal(c, c)) for c in text.strip()).translate(_SPACES)
        found = re.fullmatch(r"([+\-−]?)([\d.,]*\d[\d.,]*)((?:[eE][+-]?\d+)?)", typed)
        if found is None:
            raise ValueError(text)
        sign, digits, exponent = "-" if found[1] in ("-", "−") else "", found[2], found[3]
        plain = sign + self._without_groups(digits) + exponent
        if "." not in plain and not exponent:
            if len(plain) > 4000:
                raise ValueError(text)
            return int(plain)
        number = float(plain)
        if not isfinite(number):
            raise ValueError(text)
        return number

    def _without_groups(self, digits: str) -> str:
        signs = [c for c in digits if c in ".,"]
        if not signs:
            return digits
        last = signs[-1]
        is_group = signs.count(last) > 1 or (
            len(set(signs)) == 1 and last == self.group and re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits)
        )
        if is_group:
            whole, point, part = digits, "", ""
        else:
            whole, point, part = digits.rpartition(last)
        if re.search(r"[.,]", whole) and not re.fullmatch(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*", whole):
            raise ValueError(digits)
        return f"{re.sub('[.,]', '', whole) or '0'}{'.' if point else ''}{part}"

    def day(self, day: date) -> str:
        """A date in words, with the day of the week, so that nobody takes the month for the day."""
        return self(
            "date",
            weekday=catalogue()["weekdays"][self.code][day.weekday()],
            day=day.day,
            month=catalogue()["months"][self.code][day.month - 1],
            year=day.year,
        )

    def moment(self, when: datetime) -> str:
        """A date and time in words, with its distance from UTC."""
        return f"{self.day(when.date())}, {when:%H:%M}{f':{when:%S}' if when.second else ''} (UTC{_offset(when)})"

    def read_date(self, text: str) -> date:
        """The date that somebody typed: 2026-07-28, 28.7.2026, 28 July 2026. ValueError when it is none."""
        typed = text.strip()
        if found := _NUMERIC_DATE.fullmatch(typed):
            first, second, third = (int(part) for part in found.groups())
            if len(found[1]) == 4:
                return date(first, second, third)
            if len(found[3]) != 4:
                raise ValueError(text)
            month_first = self.month_first and "." not in typed
            return date(third, first, second) if month_first else date(third, second, first)
        if found := _WORDED_DATE.fullmatch(typed):
            return date(int(found[3]), _month(found[2]), int(found[1]))
        if found := _MONTH_FIRST.fullmatch(typed):
            return date(int(found[3]), _month(found[1]), int(found[2]))
        raise ValueError(text)

    def read_moment(self, text: str, zone: tzinfo | None) -> datetime:
        """The date and time that somebody typed; without an offset it is in this zone. ValueError when it is none."""
        found = _TIME.fullmatch(text.strip())
        if found is None:
            raise ValueError(text)
        day, offset = self.read_date(found[1]), found[5]
        local = datetime.combine(day, time(int(found[2]), int(found[3]), int(found[4] or 0)))
        if offset is None:
            return local.replace(tzinfo=zone) if zone is not None else local.astimezone()
        return datetime.fromisoformat(f"{local.isoformat()}{offset.upper().replace('Z', '+00:00')}")

    def left(self, seconds: float) -> str:
        """How much time is left, roughly and never too much."""
        if seconds < 60:
            return self("seconds_left", count=max(0, int(seconds)))
        size, key = next(each for each in _SIZES if seconds >= each[0])
        return self(f"{key}_left", count=int(seconds // size))

    def ago(self, seconds: float) -> str:
        """How long ago, roughly."""
        if seconds < 2:
            return self("just_now")
        size, key = next(each for each in (*_SIZES, (1, "seconds")) if seconds >= each[0])
        return self(f"{key}_ago", count=int(seconds // size))


_SIZES: Final = ((86400, "days"), (3600, "hours"), (60, "minutes"))

ENGLISH: Final = Language("en", ".", ",")
AMERICAN: Final = Language("en", ".", ",", month_first=True, dates="%m/%d/%Y")
GERMAN: Final = Language("de", ",", ".", dates="%d.%m.%Y")


@cache
def catalogue() -> Mapping[str, Any]:
    """Every text of the desks, by its key, in every language."""
    return tomllib.loads(files("handraise.desks").joinpath("words.toml").read_text(encoding="utf-8"))


@cache
def _sentences() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The sentences of other packages in German: what each looks like in English, and its translation."""
    text = files("handraise.desks").joinpath("sentences.toml").read_text(encoding="utf-8")

    def pattern(english: str) -> re.Pattern[str]:
        numbers = re.escape(english).replace(r"\{count\}", "(?P<count>[0-9,]+)")
        return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", numbers), re.S)

    return tuple((pattern(english), german) for english, german in tomllib.loads(text).items())


def language_of_browser(accept_language: str) -> Language:
    """The language of a request, by its `Accept-Language`; English for everybody who names none of ours."""
    wanted = []
    for at, part in enumerate(accept_language[:1000].split(",")):
        name, _, weight = part.strip().partition(";q=")
        try:
            wanted.append((-float(weight or 1), at, name))
        except ValueError:
            continue
    found = (_known(name) for _, _, name in sorted(wanted))
    return next((language for language in found if language is not None), ENGLISH)


def language_of_terminal(environment: Mapping[str, str]) -> Language:
    """The language of a terminal, by the locale that its environment names; numbers and dates may have their own."""

    def named(category: str) -> Language | None:
        names = (environment.get(name) for name in ("LC_ALL", category, "LANG"))
        return _known(next(filter(None, names), "").replace("_", "-").partition(".")[0])

    words = named("LC_MESSAGES") or ENGLISH
    numbers, times = named("LC_NUMERIC") or words, named("LC_TIME") or words
    return Language(words.code, numbers.decimal, numbers.group, times.month_first, times.dates)


def _known(name: str) -> Language | None:
    code, _, region = name.lower().partition("-")
    if code == "en":
        return AMERICAN if region == "us" else ENGLISH
    return GERMAN if code == "de" else None


@cache
def _months() -> Mapping[str, int]:
    """The months by every name and its first three letters, in every language."""
    named: dict[str, int] = {}
    for months in catalogue()["months"].values():
        for number, name in enumerate(months, 1):
            named[name.casefold()] = named[name[:3].casefold()] = number
    return named


def _month(name: str) -> int:
    found = _months().get(name.casefold()) or _months().get(name[:3].casefold())
    if found is None:
        raise ValueError(name)
    return found


def _plain_float(value: float) -> str:
    text = repr(value)
    return text if "e" in text or abs(value) < 1000 else f"{value:,}"


def _offset(when: datetime) -> str:
    offset = when.utcoffset() or timedelta()
    return "" if not offset else f"{when:%z}"[:3] + ":" + f"{when:%z}"[3:5]
