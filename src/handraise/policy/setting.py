"""One setting: how the class of its table declares it, and which values it accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import ClassVar, Protocol, TypeVar

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


class _Line:
    """A text on one line."""

    allowed: str
    longest: ClassVar = 200

    def take(self, value: object) -> str:
        if (
            isinstance(value, str)
            and value.isprintable()
            and len(value) <= self.longest
            and self._fits(value)
        ):
            return value
        raise ValueError(self.allowed)

    def _fits(self, text: str) -> bool:
        return True


class Sentence(_Line):
    """A short text on one line."""

    allowed = "a text of at most 200 characters, on one line"

    def _fits(self, text: str) -> bool:
        return bool(text.strip())


class ArgumentName(_Line):
    """The name of an argument, or nothing."""

    allowed = 'the name of an argument, or ""'


class FileName(_Line):
    """The full path of a file, or nothing."""

    allowed = 'the full path of a file, or ""'
    longest = 1000

    def _fits(self, text: str) -> bool:
        return not text or _is_place(text)


class Address(_Line):
    """A host and a port, or nothing."""

    allowed = 'a host and a port, like "127.0.0.1:8765", or ""'
    longest = 300

    def _fits(self, text: str) -> bool:
        _, colon, port = text.rpartition(":")
        return not text or bool(colon and port.isascii() and port.isdigit() and int(port) <= 65535)


class StorePlace(_Line):
    """Where a store is, or nothing."""

    allowed = (
        f'the full path of a file, "{DATABASE_URLS}" without a password in it (~/.pgpass has one), or ""'
    )
    longest = 1000

    def _fits(self, text: str) -> bool:
        _, is_url, rest = text.partition("://")
        if not is_url:
            return not text or _is_place(text)
        user = rest.partition("/")[0].rpartition("@")[0]
        return database_of(text) is not None and ":" not in user and "password=" not in rest


class _Texts:
    """A list of texts."""

    allowed: str

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(
            isinstance(each, str) and self._fits(each) for each in value
        ):
            raise ValueError(self.allowed)
        return tuple(value)

    def _fits(self, text: str) -> bool:
        raise NotImplementedError


class Patterns(_Texts):
    """A list of names or patterns."""

    allowed = 'a list of names or patterns, like ["delete_*"]'

    def _fits(self, text: str) -> bool:
        return 0 < len(text) <= 200 and text.isprintable()


class ArgumentPatterns(Patterns):
    """A list of arguments, each with the pattern of its value."""

    allowed = 'a list of arguments with patterns, like ["path=/etc/*"]'

    def _fits(self, text: str) -> bool:
        return super()._fits(text) and text.find("=") > 0


class Folders(_Texts):
    """A list of folders by their full paths."""

    allowed = 'a list of the full paths of folders, like ["~/Notes"]'

    def _fits(self, text: str) -> bool:
        return text.isprintable() and _is_place(text)


class Domains(_Texts):
    """A list of domain names."""

    allowed = 'a list of domain names, like ["example.org"]'

    def take(self, value: object) -> tuple[str, ...]:
        return tuple(each.lower().rstrip(".") for each in super().take(value))

    def _fits(self, text: str) -> bool:
        labels = text.rstrip(".").split(".")
        return len(text) <= 253 and len(labels) > 1 and all(map(_is_label, labels))


class ProgramCommand(_Texts):
    """A program by its full path, with arguments. No shell reads it."""

    allowed = 'a list with the full path of a program and its arguments, like ["/usr/local/bin/answer"]'

    def take(self, value: object) -> tuple[str, ...]:
        words = super().take(value)
        if words and not _is_full_path(words[0]):
            raise ValueError(self.allowed)
        return words

    def _fits(self, text: str) -> bool:
        return "\0" not in text


def _is_place(text: str) -> bool:
    return text.startswith("~/") or _is_full_path(text)


def _is_full_path(text: str) -> bool:
    return PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


def _is_label(label: str) -> bool:
    plain = label.isascii() and label.replace("-", "").isalnum()
    return plain and len(label) <= 63 and not label.startswith("-") and not label.endswith("-")


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
