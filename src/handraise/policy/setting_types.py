"""One setting: how the class of its table declares it, and which values it accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath, PureWindowsPath
from types import NoneType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from handraise.policy.places import DATABASE_URLS, database_of


@dataclass(frozen=True, slots=True)
class SettingType:
    """The values that a setting takes."""

    allowed: str
    """The allowed values, in words."""
    fits: Callable[[Any], bool]
    """Whether a value, as TOML gives it, is one of them."""
    kept_as: Callable[[Any], object] = lambda value: value
    read: Callable[[str], object] = str
    """The text of an environment variable as TOML would give it."""

    def take(self, value: object) -> object:
        """The value to keep. ValueError says in one sentence what is allowed."""
        if not self.fits(value):
            raise ValueError(self.allowed)
        return self.kept_as(value)


def one_of(*words: str) -> SettingType:
    """One of a few words."""
    quoted = [f'"{word}"' for word in words]
    return SettingType(
        f"{', '.join(quoted[:-1])} or {quoted[-1]}", lambda value: isinstance(value, str) and value in words
    )


def some_of(*words: str) -> SettingType:
    """A list with some of a few words."""
    quoted = ", ".join(f'"{word}"' for word in words)
    return SettingType(
        f"a list with any of {quoted}",
        lambda value: isinstance(value, list) and all(each in words for each in value),
        kept_as=lambda value: tuple(dict.fromkeys(value)),
    )


def whole_number(low: int, high: int) -> SettingType:
    """A whole number within bounds."""
    return SettingType(
        f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high
    )


def seconds(low: float, high: float) -> SettingType:
    """A number of seconds within bounds. NaN fails the comparison, and a bool is no number here."""
    return SettingType(
        f"a number of seconds from {low:g} to {high:g}",
        lambda value: type(value) in (int, float) and low <= value <= high,
        kept_as=float,
        read=_number,
    )


def one_line(
    allowed: str, fits: Callable[[str], bool] = lambda text: True, longest: int = 200
) -> SettingType:
    """A text on one line."""
    return SettingType(
        allowed,
        lambda value: (
            isinstance(value, str) and value.isprintable() and len(value) <= longest and fits(value)
        ),
    )


def texts(
    allowed: str,
    fits: Callable[[str], bool],
    first_fits: Callable[[str], bool] = lambda text: True,
    kept_as: Callable[[str], str] = str,
) -> SettingType:
    """A list of texts. `first_fits`: what else the first text has to be."""
    return SettingType(
        allowed,
        lambda value: (
            isinstance(value, list)
            and all(isinstance(each, str) and fits(each) for each in value)
            and all(map(first_fits, value[:1]))
        ),
        kept_as=lambda value: tuple(map(kept_as, value)),
    )


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _is_place(text: str) -> bool:
    return text.startswith("~/") or _is_full_path(text)


def _is_full_path(text: str) -> bool:
    return PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


def _is_label(label: str) -> bool:
    plain = label.isascii() and label.replace("-", "").isalnum()
    return plain and len(label) <= 63 and not label.startswith("-") and not label.endswith("-")


def _is_address(text: str) -> bool:
    _, colon, port = text.rpartition(":")
    return bool(colon and port.isascii() and port.isdigit() and int(port) <= 65535)


def _is_store(text: str) -> bool:
    _, is_url, rest = text.partition("://")
    if not is_url:
        return not text or _is_place(text)
    user = rest.partition("/")[0].rpartition("@")[0]
    return database_of(text) is not None and ":" not in user and "password=" not in rest


def _is_pattern(text: str) -> bool:
    return 0 < len(text) <= 200 and text.isprintable()


def _is_domain(text: str) -> bool:
    labels = text.rstrip(".").split(".")
    return len(text) <= 253 and len(labels) > 1 and all(map(_is_label, labels))


_ON_OFF: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
SWITCH: Final = SettingType(
    "true or false", lambda value: isinstance(value, bool), read=lambda text: _ON_OFF.get(text.lower(), text)
)
SENTENCE: Final = one_line("a text of at most 200 characters, on one line", lambda text: bool(text.strip()))
ARGUMENT_NAME: Final = one_line('the name of an argument, or ""')
FILE_NAME: Final = one_line(
    'the full path of a file, or ""', lambda text: not text or _is_place(text), longest=1000
)
ADDRESS: Final = one_line(
    'a host and a port, like "127.0.0.1:8765", or ""', lambda text: not text or _is_address(text), longest=300
)
STORE_PLACE: Final = one_line(
    f'the full path of a file, "{DATABASE_URLS}" without a password in it (~/.pgpass has one), or ""',
    _is_store,
    longest=1000,
)
PATTERNS: Final = texts('a list of names or patterns, like ["delete_*"]', _is_pattern)
ARGUMENT_PATTERNS: Final = texts(
    'a list of arguments with patterns, like ["path=/etc/*"]',
    lambda text: _is_pattern(text) and text.find("=") > 0,
)
FOLDERS: Final = texts(
    'a list of the full paths of folders, like ["~/Notes"]',
    lambda text: text.isprintable() and _is_place(text),
)
DOMAINS: Final = texts(
    'a list of domain names, like ["example.org"]',
    _is_domain,
    kept_as=lambda text: text.lower().rstrip("."),
)
PROGRAM_COMMAND: Final = texts(
    'a list with the full path of a program and its arguments, like ["/usr/local/bin/answer"]',
    lambda text: "\0" not in text,
    first_fits=_is_full_path,
)
"""No shell reads it."""


T = TypeVar("T")
Stricter = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as it is documented and checked."""

    key: str
    default: object
    accepts: SettingType
    meaning: str
    own_file_only: bool
    """Never from the working directory: a project that somebody cloned must not run commands or switch off rules."""
    stricter: Stricter | None = None
    """For numbers: the values that a file in the working directory may set, compared with the default."""

    def may_come_with_project(self, value: object) -> bool:
        """Whether a file that came with somebody else's project may set this value: it makes nothing laxer."""
        if self.own_file_only:
            return value == self.default
        if (
            self.stricter is None
            or not isinstance(value, int | float)
            or not isinstance(self.default, int | float)
        ):
            return True
        return value <= self.default if self.stricter == "lower" else value >= self.default


def setting(
    default: T,
    meaning: str,
    accepts: SettingType | None = None,
    *,
    own_file_only: bool = False,
    stricter: Stricter | None = None,
) -> T:
    """Declare a setting as a field of its table. Words and switches say by their type what they accept."""
    told = {"accepts": accepts, "meaning": meaning, "own_file_only": own_file_only, "stricter": stricter}
    made: T = field(default=default, metadata=told)
    return made


def unsafe_switch(meaning: str) -> bool:
    """Declare a switch that weakens safety: off, and never from the working directory."""
    return setting(False, meaning, own_file_only=True)


def settings_of(table: type[Any], prefix: str) -> Iterator[Setting]:
    """The settings of a table, by their keys."""
    hints = get_type_hints(table)
    for each in fields(table):
        if each.metadata:
            accepts = each.metadata["accepts"] or _type_of(hints[each.name])
            told = {**each.metadata, "accepts": accepts}
            yield Setting(f"{prefix}{each.name}", each.default, **told)


def _type_of(hint: Any) -> SettingType:
    """The type of a setting whose annotation is a bool, some words, or a tuple of some words."""
    if hint is bool:
        return SWITCH
    words = get_args(hint)
    if get_origin(hint) is tuple:
        return some_of(*get_args(words[0]))
    return one_of(*(get_args(words[0]) if NoneType in words else words))
