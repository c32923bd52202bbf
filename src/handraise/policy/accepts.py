"""What a setting accepts: each kind takes a value from the file, or says what it wants instead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Protocol


class Accepts(Protocol):
    """Takes a value as TOML gives it. ValueError says in one sentence what is allowed."""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        ...

    def take(self, value: object) -> object:
        """The value to keep."""
        ...


class Choice:
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


@dataclass(frozen=True, slots=True)
class Whole:
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


class Sentence:
    """A short text on one line."""

    allowed = "a text of at most 200 characters, on one line"

    def take(self, value: object) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > 200 or not value.isprintable():
            raise ValueError(self.allowed)
        return value


class FileName:
    """The full path of a file, or nothing."""

    allowed = 'the full path of a file, or ""'

    def take(self, value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
            raise ValueError(self.allowed)
        if value and not (value.startswith("~/") or _is_full_path(value)):
            raise ValueError(self.allowed)
        return value


class Address:
    """A host and a port, or nothing."""

    allowed = 'a host and a port, like "127.0.0.1:8765", or ""'

    def take(self, value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or len(value) > 300:
            raise ValueError(self.allowed)
        _, colon, port = value.rpartition(":")
        if value and not (colon and port.isascii() and port.isdigit() and int(port) <= 65535):
            raise ValueError(self.allowed)
        return value


class StorePlace:
    """Where a store is, or nothing."""

    allowed = 'the full path of a file, "postgresql://…" without a password in it (~/.pgpass has one), or ""'

    def take(self, value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
            raise ValueError(self.allowed)
        scheme, is_url, rest = value.partition("://")
        if is_url:
            user = rest.partition("/")[0].rpartition("@")[0]
            if scheme not in ("postgresql", "postgres") or ":" in user or "password=" in rest:
                raise ValueError(self.allowed)
        elif value and not (value.startswith("~/") or _is_full_path(value)):
            raise ValueError(self.allowed)
        return value


class Patterns:
    """A list of names or patterns."""

    allowed = 'a list of names or patterns, like ["delete_*"]'

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(map(_is_pattern, value)):
            raise ValueError(self.allowed)
        return tuple(value)


class ArgumentName:
    """The name of an argument, or nothing."""

    allowed = 'the name of an argument, or ""'

    def take(self, value: object) -> str:
        if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
            raise ValueError(self.allowed)
        return value


class ArgumentPatterns:
    """A list of arguments, each with the pattern of its value."""

    allowed = 'a list of arguments with patterns, like ["path=/etc/*"]'

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(_is_pattern(each) and each.find("=") > 0 for each in value):
            raise ValueError(self.allowed)
        return tuple(value)


class Folders:
    """A list of folders by their full paths."""

    allowed = 'a list of the full paths of folders, like ["~/Notes"]'

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(map(_is_folder, value)):
            raise ValueError(self.allowed)
        return tuple(value)


class Domains:
    """A list of domain names."""

    allowed = 'a list of domain names, like ["example.org"]'

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(
            isinstance(each, str) and _is_domain(each) for each in value
        ):
            raise ValueError(self.allowed)
        return tuple(each.lower().rstrip(".") for each in value)


class Command:
    """A program by its full path, with arguments. No shell reads it."""

    allowed = 'a list with the full path of a program and its arguments, like ["/usr/local/bin/answer"]'

    def take(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(
            isinstance(each, str) and "\0" not in each for each in value
        ):
            raise ValueError(self.allowed)
        if value and not _is_full_path(value[0]):
            raise ValueError(self.allowed)
        return tuple(value)


def _is_pattern(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable()


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and (value.startswith("~/") or _is_full_path(value))


def _is_full_path(text: str) -> bool:
    return PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute()


def _is_domain(text: str) -> bool:
    labels = text.rstrip(".").split(".")
    return len(text) <= 253 and len(labels) > 1 and all(_is_label(label) for label in labels)


def _is_label(label: str) -> bool:
    plain = label.isascii() and label.replace("-", "").isalnum()
    return plain and len(label) <= 63 and not label.startswith("-") and not label.endswith("-")
