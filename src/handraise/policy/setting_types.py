"""One setting: how the class of its table declares it, and which values it accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final, Protocol, TypeVar

from handraise.policy.places import DATABASE_URLS, database_of


class SettingType(Protocol):
    """Takes a value as TOML gives it. ValueError says in one sentence what is allowed."""

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        ...

    def take(self, value: object) -> object:
        """The value to keep."""
        ...


class OneOf:
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def allowed(self) -> str:
        quoted = [f'"{word}"' for word in self.words]
        return f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def take(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise ValueError(self.allowed)
        return value


class SomeOf:
    """A list with some of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def allowed(self) -> str:
        quoted = ", ".join(f'"{word}"' for word in self.words)
        return f"a list with any of {quoted}"

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or any(each not in self.words for each in value):
            raise ValueError(self.allowed)
        return tuple(dict.fromkeys(value))


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number within bounds."""

    low: int
    high: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def take(self, value: object) -> int:
        if type(value) is not int or not self.low <= value <= self.high:
            raise ValueError(self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class Seconds:
    """A number of seconds within bounds."""

    low: float
    high: float

    @property
    def allowed(self) -> str:
        return f"a number of seconds from {self.low:g} to {self.high:g}"

    def take(self, value: object) -> float:
        # NaN fails the comparison; a bool is no number here.
        if type(value) not in (int, float) or not self.low <= value <= self.high:  # type: ignore[operator]
            raise ValueError(self.allowed)
        return float(value)  # type: ignore[arg-type]


class Switch:
    """True or false."""

    allowed = "true or false"

    def take(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError(self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class OneLine:
    """A text on one line."""

    allowed: str
    fits: Callable[[str], bool] = lambda text: True
    longest: int = 200

    def take(self, value: object) -> str:
        is_line = isinstance(value, str) and value.isprintable() and len(value) <= self.longest
        if not is_line or not self.fits(str(value)):
            raise ValueError(self.allowed)
        return str(value)


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts."""

    allowed: str
    fits: Callable[[str], bool]
    first_fits: Callable[[str], bool] = lambda text: True
    """What else the first text has to be."""
    kept_as: Callable[[str], str] = str

    def take(self, value: object) -> tuple[str, ...]:
        if (
            not isinstance(value, list)
            or not all(isinstance(each, str) and self.fits(each) for each in value)
            or not all(map(self.first_fits, value[:1]))
        ):
            raise ValueError(self.allowed)
        return tuple(map(self.kept_as, value))


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


SENTENCE: Final = OneLine("a text of at most 200 characters, on one line", lambda text: bool(text.strip()))
ARGUMENT_NAME: Final = OneLine('the name of an argument, or ""')
FILE_NAME: Final = OneLine(
    'the full path of a file, or ""', lambda text: not text or _is_place(text), longest=1000
)
ADDRESS: Final = OneLine(
    'a host and a port, like "127.0.0.1:8765", or ""', lambda text: not text or _is_address(text), longest=300
)
STORE_PLACE: Final = OneLine(
    f'the full path of a file, "{DATABASE_URLS}" without a password in it (~/.pgpass has one), or ""',
    _is_store,
    longest=1000,
)
PATTERNS: Final = Texts('a list of names or patterns, like ["delete_*"]', _is_pattern)
ARGUMENT_PATTERNS: Final = Texts(
    'a list of arguments with patterns, like ["path=/etc/*"]',
    lambda text: _is_pattern(text) and text.find("=") > 0,
)
FOLDERS: Final = Texts(
    'a list of the full paths of folders, like ["~/Notes"]',
    lambda text: text.isprintable() and _is_place(text),
)
DOMAINS: Final = Texts(
    'a list of domain names, like ["example.org"]',
    _is_domain,
    kept_as=lambda text: text.lower().rstrip("."),
)
PROGRAM_COMMAND: Final = Texts(
    'a list with the full path of a program and its arguments, like ["/usr/local/bin/answer"]',
    lambda text: "\0" not in text,
    first_fits=_is_full_path,
)
"""No shell reads it."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as it is documented and checked."""

    key: str
    default: object
    accepts: SettingType
    meaning: str
    own_file_only: bool
    """Never from the working directory: a project that somebody cloned must not run commands or switch off rules."""


def setting(default: T, accepts: SettingType, meaning: str, *, own_file_only: bool = False) -> T:
    """Declare a setting as a field of its table."""
    told = {"accepts": accepts, "meaning": meaning, "own_file_only": own_file_only}
    made: T = field(default=default, metadata=told)
    return made


def unsafe_switch(meaning: str) -> bool:
    """Declare a switch that weakens safety: off, and never from the working directory."""
    return setting(False, Switch(), meaning, own_file_only=True)
