"""The files: reading the configuration, keeping a person's own rules.

With `places`, the only module of the policy that touches the file system.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handraise.disk import make_directory, replace_file
from handraise.errors import SetupError
from handraise.policy.config import MAX_BYTES, parse_settings
from handraise.policy.places import ConfigFile, data_directory, find_config
from handraise.policy.rulebook import OwnRule, Rulebook, Which, dump_book, parse_book
from handraise.policy.settings import Settings

if TYPE_CHECKING:
    from handraise.policy.policy import Policy

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
    return Policy(settings, own=RulesFile(data_directory(known) / RULES_NAME))


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
            make_directory(self.path.parent)
            with locked(self.path.with_suffix(".lock")):
                replace_file(self.path, json.dumps(dump_book(change(self._read())), indent=1) + "\n")
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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two programs change a file one after the other."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "w") as stream:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
