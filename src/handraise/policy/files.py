"""The files: where they are, reading the configuration, keeping a person's own rules.

The one module of the policy that touches the file system.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handraise.errors import SetupError
from handraise.policy.config import MAX_BYTES, parse_settings
from handraise.policy.policy import Policy
from handraise.policy.rulebook import OwnRule, Rulebook, Which, dump_book, parse_book
from handraise.policy.settings import Settings

CONFIG_NAME: Final = "handraise.toml"
RULES_NAME: Final = "rules.json"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The configuration file that counts."""

    path: Path
    own: bool
    """False when it was found in the working directory: it may be part of somebody else's project."""


def find_config(environment: Mapping[str, str], directory: Path) -> ConfigFile | None:
    """The file that HANDRAISE_CONFIG names, else the user's own, else the one in the working directory.

    The user's own goes first, so that a project that somebody cloned cannot replace it.
    """
    if named := environment.get("HANDRAISE_CONFIG"):
        return ConfigFile(Path(named).expanduser(), own=True)
    own = config_directory(environment) / CONFIG_NAME
    if own.is_file():
        return ConfigFile(own, own=True)
    found = directory / CONFIG_NAME
    return ConfigFile(found, own=False) if found.is_file() else None


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
    known = os.environ if environment is None else environment
    settings = load_settings(environment=known, directory=directory)
    return Policy(settings, own=RulesFile(data_directory(known) / RULES_NAME))


def config_directory(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the user's configuration is."""
    match platform:
        case "win32":
            return _place(environment, "APPDATA", "AppData/Roaming")
        case "darwin":
            return _home(environment) / "Library/Application Support/handraise"
        case _:
            return _place(environment, "XDG_CONFIG_HOME", ".config")


def data_directory(environment: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the user's own rules are."""
    match platform:
        case "win32":
            return _place(environment, "LOCALAPPDATA", "AppData/Local")
        case "darwin":
            return _home(environment) / "Library/Application Support/handraise"
        case _:
            return _place(environment, "XDG_DATA_HOME", ".local/share")


class RulesFile:
    """A person's own rules in a file that only they can read, and those for this program's life beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_at: tuple[int, int, int] | None = None
        self._kept = Rulebook()
        self._session: list[OwnRule] = []

    def book(self) -> Rulebook:
        """All rules as they are now: another program may have changed them."""
        stamp = self._stamp()
        if stamp != self._read_at:
            self._kept, self._read_at = self._read(), stamp
        entries = sorted([*self._kept.entries, *self._session], key=lambda each: each.made)
        return Rulebook(tuple(entries))

    def add(self, rule: OwnRule, *, keep: bool) -> None:
        """Make a rule; without `keep` it is forgotten when this program ends."""
        if keep:
            self._edit(lambda book: book.add(rule))
        else:
            self._session.append(rule)

    def undo(self, which: Which = None) -> OwnRule | None:
        """Take back the latest rule, the latest about one server, or a certain one; None when there is none."""
        _, latest = self.book().undo(which)
        if latest in self._session:
            self._session.remove(latest)
            return latest
        undone: list[OwnRule | None] = []

        def change(book: Rulebook) -> Rulebook:
            rest, rule = book.undo(which)
            undone.append(rule)
            return rest

        self._edit(change)
        return undone[0]

    def keeps(self, rule: OwnRule) -> bool:
        """Whether a rule is in the file, and so outlives this program."""
        return rule not in self._session

    def _edit(self, change: Callable[[Rulebook], Rulebook]) -> None:
        """Change the kept rules. Two programs that do so at once wait for each other."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(self.path.with_suffix(".lock")):
                _replace(self.path, json.dumps(dump_book(change(self._read())), indent=1) + "\n")
        except OSError as error:
            raise SetupError(f"{self.path}: the rules cannot be kept: {error.strerror}") from None

    def _read(self) -> Rulebook:
        try:
            return parse_book(json.loads(self.path.read_bytes()))
        except FileNotFoundError:
            return Rulebook()
        except (OSError, ValueError, SetupError) as error:
            raise SetupError(f"{self.path}: your rules cannot be read ({error}); mend or remove it") from None

    def _stamp(self) -> tuple[int, int, int] | None:
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


def _place(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """The specification of XDG: a relative path in the variable is to be ignored."""
    named = environment.get(variable, "")
    return (Path(named) if Path(named).is_absolute() else _home(environment) / otherwise) / "handraise"


def _home(environment: Mapping[str, str]) -> Path:
    named = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(named) if named else Path.home()


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, readable by its owner only: `mkstemp` makes it 0600."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "w") as stream:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
