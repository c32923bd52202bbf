"""The sources of the vault's keys: a variable, a file, or the system's keyring. No key is written to disk silently.

Keys are lines of hexadecimal digits, the newest first.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from handraise.disk import replace_file
from handraise.errors import SetupError

MIN_KEY = 32

VARIABLE: Final = "HANDRAISE_VAULT_KEY"
FILE_VARIABLE: Final = "HANDRAISE_VAULT_KEY_FILE"

_NO_KEY: Final = (
    "The vault has no key, so no secret can be kept. Do one of these: set "
    f"{VARIABLE} to what `handraise vault new-key` prints; name a private key file in {FILE_VARIABLE} "
    "(`handraise vault new-key --file PATH` makes one); or install the system keyring's extra: "
    "pip install 'handraise[keyring]'"
)


class KeySource(Protocol):
    """Gives the vault's keys, and keeps new ones where it can."""

    def load(self) -> tuple[bytes, ...]:
        """The keys, newest first. SetupError when there is none."""
        ...

    def save(self, keys: Sequence[bytes]) -> None:
        """Keep these keys instead. SetupError where only the user can do that."""
        ...


class EphemeralKeys:
    """A key in memory, for a store in memory."""

    def __init__(self) -> None:
        self._keys: tuple[bytes, ...] = (new_key(),)

    def load(self) -> tuple[bytes, ...]:
        return self._keys

    def save(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)


class KeyVariable:
    """Keys in an environment variable, apart by spaces, commas or lines."""

    def __init__(self, name: str = VARIABLE, environment: Mapping[str, str] = os.environ) -> None:
        self._name = name
        self._environment = environment

    def load(self) -> tuple[bytes, ...]:
        return _parse(self._environment.get(self._name, ""), f"the variable {self._name}")

    def save(self, keys: Sequence[bytes]) -> None:
        raise SetupError(
            f"Keys in {self._name} are yours to change: put a new one (`handraise vault new-key`) in front of "
            "the old one, run `handraise vault rotate --keep-keys`, then remove the old one."
        )


class KeyFile:
    """Keys in a file that only its owner can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)

    def load(self) -> tuple[bytes, ...]:
        try:
            mode = self.path.stat().st_mode
            text = self.path.read_text("ascii")
        except OSError as error:
            raise SetupError(f"The vault's key file {self.path} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise SetupError(f"{self.path} is no key file: keys are hexadecimal digits.") from None
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise SetupError(f"Others can read the vault's key file. Run: chmod 600 {self.path}")
        return _parse(text, str(self.path))

    def save(self, keys: Sequence[bytes]) -> None:
        """Save the keys atomically: a lost key loses its secrets."""
        replace_file(self.path, _dump(keys))


class SystemKeyring:
    """Keys in the system's keyring; the first one is made when it is first needed."""

    def __init__(self, service: str = "handraise", name: str = "vault") -> None:
        self._place = (service, name)

    def load(self) -> tuple[bytes, ...]:
        kept = _safe_keyring().get_password(*self._place)
        if kept is None:
            self.save([new_key()])
            kept = _safe_keyring().get_password(*self._place) or ""
        return _parse(kept, "the system's keyring")

    def save(self, keys: Sequence[bytes]) -> None:
        _safe_keyring().set_password(*self._place, _dump(keys))


def default_keys(environment: Mapping[str, str] = os.environ) -> KeySource:
    """The variable, the file that a variable names, or the system's keyring; SetupError when there is none."""
    if environment.get(VARIABLE):
        return KeyVariable(VARIABLE, environment)
    if path := environment.get(FILE_VARIABLE):
        return KeyFile(path)
    try:
        _safe_keyring()
    except SetupError as error:
        raise SetupError(f"{_NO_KEY}. ({error})") from None
    return SystemKeyring()


def new_key() -> bytes:
    """A fresh key."""
    return secrets.token_bytes(MIN_KEY)


class _Backend(Protocol):
    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...


def _safe_keyring() -> _Backend:
    """The system's keyring, unless its back end keeps nothing or writes plain files."""
    try:
        import keyring
    except ImportError:
        raise SetupError("The package keyring is not installed.") from None
    backend: _Backend = keyring.get_keyring()
    home = type(backend).__module__
    if home.startswith(("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")):
        raise SetupError(f"This system has no keyring that keeps secrets ({home}).")
    return backend


def _parse(text: str, where: str) -> tuple[bytes, ...]:
    try:
        keys = tuple(bytes.fromhex(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise SetupError(f"{where} holds no key: keys are hexadecimal digits.") from None
    if not keys:
        raise SetupError(f"{where} holds no key. Make one with: handraise vault new-key")
    return keys


def _dump(keys: Sequence[bytes]) -> str:
    return "".join(f"{key.hex()}\n" for key in keys)
