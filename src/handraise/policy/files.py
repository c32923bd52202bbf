"""The configuration file, and the file of a person's own rules.

Nothing is guessed: an unknown key, a wrong type or a value out of bounds refuses the whole configuration file.
With `places`, this is the only module of the policy that touches the file system.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from handraise.disk import lock, make_directory, replace_file
from handraise.display import for_line
from handraise.errors import SetupError
from handraise.policy.places import ConfigFile, data_directory, find_config
from handraise.policy.rules import OwnRule, Rulebook, Which, dump_book, parse_book
from handraise.policy.setting_types import Setting
from handraise.policy.settings import (
    FORMS_BY_PRESET,
    GROUPS,
    SETTINGS,
    GuardSettings,
    LimitSettings,
    ServerSettings,
    Settings,
)

if TYPE_CHECKING:
    from handraise.policy.policy import Policy


KeyPath: TypeAlias = tuple[str, ...]

_LONGEST: Final = 200
"""Lines of one value. After a longer one nothing is looked for: each of its lines costs another try."""


def lines_of_keys(text: str) -> dict[KeyPath, int]:
    """The line, from 1, on which each key of a valid TOML text first appears."""
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, statement in _statements(text):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = max(paths, key=len)
            paths = list(_prefixes(table))
        else:
            paths = [table + path for path in paths]
        for path in paths:
            found.setdefault(path, line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header and each assignment, with the line it starts on; a value may take several lines."""
    pending, start = "", 1
    for number, line in enumerate(text.split("\n"), start=1):
        if not pending:
            start = number
        pending += line + "\n"
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            if number - start > _LONGEST:
                return
            continue
        yield start, pending
        pending = ""


def _paths(value: dict[str, Any], above: KeyPath = ()) -> Iterator[KeyPath]:
    for key, inner in value.items():
        path = (*above, key)
        yield path
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            inner = inner[0]
        if isinstance(inner, dict):
            yield from _paths(inner, path)


def _prefixes(path: KeyPath) -> Iterator[KeyPath]:
    return (path[:length] for length in range(1, len(path) + 1))


MAX_BYTES: Final = 256 * 1024
_KNOWN: Final[Mapping[str, Setting]] = {setting.key: setting for setting in SETTINGS}
_NAMED: Final = ("servers", "guards")
"""Tables whose sub-tables have names that the user chooses."""
_TABLES: Final = tuple(dict.fromkeys([*(key.rpartition(".")[0] for key in _KNOWN), *_NAMED]))
_NAME: Final = "NAME"


def parse_settings(text: str, *, source: str = "handraise.toml", own_file: bool = True) -> Settings:
    """The settings in a configuration file; SetupError lists everything that is wrong with it.

    `own_file` is False for a file that may have come with somebody else's project: it may not name commands,
    switch rules off or raise limits.
    """
    if len(text) > MAX_BYTES:
        raise SetupError(f"{source}: the file has more than {MAX_BYTES} characters")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SetupError(f"{source}: this is not TOML: {for_line(str(error))}") from None
    reading = _SettingsReader(own_file)
    reading.read(document, (), "")
    reading.require_hook()
    reading.require_counts()
    if reading.problems:
        raise SetupError(_report(reading.problems, text, source))
    return _settings(reading.values)


class _SettingsReader:
    """One pass over a document, collecting values by path and problems by path."""

    def __init__(self, own_file: bool) -> None:
        self.values: dict[KeyPath, object] = {}
        self.problems: list[tuple[KeyPath, str]] = []
        self._own_file = own_file

    def read(self, table: Mapping[str, Any], at: KeyPath, known_as: str) -> None:
        """Read a table. `known_as` is its key in the table of settings, where a server's name is NAME."""
        for key, value in table.items():
            path = (*at, key)
            name = _NAME if known_as in _NAMED else key
            known = f"{known_as}.{name}" if known_as else name
            if known in _TABLES:
                self._read_table(value, path, known)
            elif (setting := _KNOWN.get(known)) is not None:
                self._take(setting, value, path)
            else:
                self.problems.append((path, _unknown(known, known_as)))

    def _read_table(self, value: object, path: KeyPath, known: str) -> None:
        if not isinstance(value, dict):
            self.problems.append((path, "this is a table, not a value"))
        elif known.endswith(f".{_NAME}") and not _is_name(path[-1]):
            what = "server" if known.startswith("servers") else "guard"
            self.problems.append((path, f"a {what}'s name is printable text of at most 200 characters"))
        elif known == "guards.NAME" and not value:
            self.problems.append((path, 'a guard needs a setting at least, like hint = "destructive"'))
        else:
            self.read(value, path, known)

    def _take(self, setting: Setting, value: object, path: KeyPath) -> None:
        try:
            taken = setting.accepts.take(value)
        except ValueError as error:
            self.problems.append((path, f"use {error}"))
            return
        if not self._own_file and not setting.may_come_with_project(taken):
            self.problems.append((path, _NOT_HERE))
        self.values[path] = taken

    def require_hook(self) -> None:
        """A rule that runs the hook needs one."""
        if self.values.get(("headless", "rule")) == "hook" and not self.values.get(("headless", "hook")):
            self.problems.append((("headless", "rule"), '"hook" needs headless.hook, the command to run'))

    def require_counts(self) -> None:
        """A guard that speaks of a count needs an argument that has one."""
        for name in _names(self.values, "guards"):
            at = ("guards", name)
            spoken = {
                "above": self.values.get((*at, "above")) is not None,
                "typed": self.values.get((*at, "typed")) == "count",
                "message": "{count}" in str(self.values.get((*at, "message"))),
            }
            if not self.values.get((*at, "count")):
                needing = [(*at, key) for key, speaks in spoken.items() if speaks]
                self.problems += [(path, "this needs count, the argument to count by") for path in needing]


_NOT_HERE: Final = (
    "this is not taken from a file in the working directory, which may have come with somebody else's project; "
    "put it into your own configuration file, or name this file in HANDRAISE_CONFIG"
)


def _unknown(known: str, known_as: str) -> str:
    near = [name for name in (*_KNOWN, *_TABLES) if name.rpartition(".")[0] == known_as and name]
    close = get_close_matches(known, near, n=1)
    if close:
        return f"there is no such setting; did you mean {close[0].rpartition('.')[2]}?"
    return f"there is no such setting; there are: {', '.join(each.rpartition('.')[2] for each in near)}"


def _is_name(name: str) -> bool:
    return 0 < len(name) <= 200 and name.isprintable()


def _report(problems: list[tuple[KeyPath, str]], text: str, source: str) -> str:
    lines = lines_of_keys(text)
    told = [(lines.get(path, 0), for_line(".".join(path)), problem) for path, problem in problems]
    return "\n".join(
        f"{source}:{line}: {key}: {problem}" if line else f"{source}: {key}: {problem}"
        for line, key, problem in sorted(told)
    )


def _settings(values: Mapping[KeyPath, object]) -> Settings:
    """Defaults, then the preset, then the file."""
    top: Any = _given(values, ())
    groups: Any = {name: shape() for name, shape in GROUPS.items()}
    groups["forms"] = FORMS_BY_PRESET[top.get("preset", "standard")]
    groups = {name: replace(group, **_given(values, (name,))) for name, group in groups.items()}
    servers = {name: _server(values, name, groups["limits"]) for name in _names(values, "servers")}
    guards = {name: GuardSettings(**_given(values, ("guards", name))) for name in _names(values, "guards")}
    return Settings(**top, **groups, servers=MappingProxyType(servers), guards=MappingProxyType(guards))


def _names(values: Mapping[KeyPath, object], table: str) -> list[str]:
    """The names that the user gave to the tables in a table, in their order."""
    return list(dict.fromkeys(path[1] for path in values if path[0] == table))


def _server(values: Mapping[KeyPath, object], name: str, limits: LimitSettings) -> ServerSettings:
    at = ("servers", name)
    return ServerSettings(**_given(values, at), limits=replace(limits, **_given(values, (*at, "limits"))))


def _given(values: Mapping[KeyPath, object], table: KeyPath) -> dict[str, Any]:
    """The values given in one table. Each value was parsed by its setting, so its type is right."""
    return {path[-1]: value for path, value in values.items() if path[:-1] == table}


RULES_NAME: Final = "rules.json"


def load_settings(
    path: Path | None = None, *, environment: Mapping[str, str] | None = None, directory: Path | None = None
) -> Settings:
    """The settings from the file that counts, or from this one; the defaults when there is none.

    SetupError, with every problem and its line, when the file cannot be used: then nothing should be asked.
    """
    if path is not None:
        return _read_settings(ConfigFile(path, own=True))
    found = find_config(os.environ if environment is None else environment, directory or Path())
    return Settings() if found is None else _read_settings(found)


def load_policy(*, environment: Mapping[str, str] | None = None, directory: Path | None = None) -> Policy:
    """The policy of this user: settings from the file that counts, and their own rules."""
    from handraise.policy.policy import Policy

    known = os.environ if environment is None else environment
    settings = load_settings(environment=known, directory=directory)
    return Policy(settings, own=OwnRules(data_directory(known) / RULES_NAME))


class OwnRules:
    """A person's own rules: those in a file that only they can read, and those for this program's life beside it."""

    def __init__(self, path: Path | None = None) -> None:
        """Without a path all rules end with this program."""
        self.path = path
        self._read_at: tuple[int, int, int] | None = None
        self._kept = Rulebook()
        self._session = Rulebook()

    def book(self) -> Rulebook:
        """All rules as they are now: another program may have changed them."""
        stamp = self._stamp()
        if stamp != self._read_at:
            self._kept, self._read_at = self._read(), stamp
        entries = sorted([*self._kept.entries, *self._session.entries], key=lambda each: each.made)
        return Rulebook(tuple(entries))

    def add(self, rule: OwnRule, *, keep: bool) -> None:
        """Make a rule; without `keep` it is forgotten when this program ends."""
        if keep and self.path is not None:
            self._edit(lambda book: book.add(rule))
        else:
            self._session = self._session.add(rule)

    def undo(self, which: Which = None) -> OwnRule | None:
        """Take back the latest rule, the latest about one server, or a certain one; None when there is none."""
        _, latest = self.book().undo(which)
        if latest in self._session.entries:
            self._session, _ = self._session.undo(latest)
            return latest
        if self.path is None:
            return None
        undone: list[OwnRule | None] = []

        def change(book: Rulebook) -> Rulebook:
            rest, rule = book.undo(which)
            undone.append(rule)
            return rest

        self._edit(change)
        return undone[0]

    def keeps(self, rule: OwnRule) -> bool:
        """Whether a rule is in the file, and so outlives this program."""
        return rule not in self._session.entries

    def _edit(self, change: Callable[[Rulebook], Rulebook]) -> None:
        """Change the kept rules. Two programs that do so at once wait for each other."""
        assert self.path is not None
        try:
            make_directory(self.path.parent)
            with locked(self.path.with_suffix(".lock")):
                replace_file(self.path, json.dumps(dump_book(change(self._read())), indent=1) + "\n")
        except OSError as error:
            raise SetupError(f"{self.path}: the rules cannot be kept: {error.strerror}") from None

    def _read(self) -> Rulebook:
        if self.path is None:
            return Rulebook()
        try:
            return parse_book(json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            return Rulebook()
        except (OSError, ValueError, SetupError) as error:
            raise SetupError(
                f"{self.path}: your rules cannot be read ({error}); repair or remove it"
            ) from None

    def _stamp(self) -> tuple[int, int, int] | None:
        if self.path is None:
            return None
        try:
            status = self.path.stat()
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_size, status.st_ino)


def _read_settings(file: ConfigFile) -> Settings:
    try:
        with file.path.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1).decode()
    except OSError as error:
        raise SetupError(f"{file.path}: {error.strerror}") from None
    except UnicodeError:
        raise SetupError(f"{file.path}: this is not UTF-8") from None
    return parse_settings(text, source=str(file.path), own_file=file.own)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two programs change a file one after the other."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "w") as stream:
        lock(stream.fileno())
        yield
