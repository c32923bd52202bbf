"""The desk code: how a person opens their desk where the system does not tell which program is asking.

`handraise desk code` makes the code and shows it once, at the person's terminal. The person types it whenever a desk
asks for it. The file keeps no code: only a public key that follows from it, through scrypt so that guessing is slow. A
command proves the code by signing what a desk gave it, bound to that desk. So a program that pretends to be a desk
learns nothing that would open the real one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from handraise.desks.control.code import Throttle, new_letters, read_as_typed, written_in_groups
from handraise.disk import make_directory, replace_file
from handraise.errors import SetupError
from handraise.policy.places import data_directory

logger = logging.getLogger(__name__)

FILE: Final = "desk-code.json"


def desk_code_file(environment: Mapping[str, str]) -> Path:
    """Where this user's desk code is kept."""
    return data_directory(environment) / FILE


@dataclass(frozen=True, slots=True)
class DeskCode:
    """The part of a person's code that a desk keeps: it can check the code and not show it."""

    salt: str
    public_key: bytes

    @classmethod
    def load(cls, file: Path) -> DeskCode | None:
        """The code in a file; None when there is no such file. SetupError when it cannot be used."""
        try:
            with file.open(encoding="utf-8") as stream:
                found = os.fstat(stream.fileno())
                if hasattr(os, "getuid"):
                    _require_private(file, found)
                told = json.load(stream)
            return cls(str(told["salt"]), bytes.fromhex(told["public_key"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SetupError(
                f"{file}: the desk code cannot be read ({type(error).__name__}). Remove the file and make a new code "
                "with `handraise desk code`."
            ) from None

    def is_it(self, typed: str) -> bool:
        """Whether somebody typed this code. It takes a moment, so that guessing does too."""
        return _key(typed, self.salt).public_key().public_bytes_raw() == self.public_key

    def is_proof(self, signature: bytes, challenge: str, desk: str) -> bool:
        """Whether somebody who knows the code signed this challenge of this desk."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, _signed(challenge, desk))
        except (InvalidSignature, ValueError):
            return False
        return True


def new_desk_code(file: Path) -> str:
    """Make a code, keep what checks it, and give the code as it is shown to the person. It replaces an older one."""
    letters, salt = new_letters(), secrets.token_hex(16)
    public_key = _key(letters, salt).public_key().public_bytes_raw()
    make_directory(file.parent)
    replace_file(file, json.dumps({"salt": salt, "public_key": public_key.hex()}))
    return written_in_groups(letters)


def prove_desk_code(typed: str, salt: str, challenge: str, desk: str) -> bytes:
    """Show one desk that one knows the code, without telling it."""
    return _key(typed, salt).sign(_signed(challenge, desk))


class DeskCodeCheck:
    """Checks what people type at one desk, and slows down guessing.

    The attack: a program of the client makes a code of its own, or puts one in the place of the person's, if only for a
    moment. So a gateway reads the code when it starts, and not again (`read_once`).
    """

    def __init__(
        self,
        file: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        read_once: bool = False,
    ) -> None:
        self._file = file or desk_code_file(os.environ)
        self._read_once = read_once
        self._first = self._read_first() if read_once else None
        self._throttle = Throttle(clock)
        self._challenges: dict[str, None] = {}

    def load(self) -> DeskCode | None:
        """The person's code, if they made one in time."""
        return self._first if self._read_once else DeskCode.load(self._file)

    def _read_first(self) -> DeskCode | None:
        try:
            return DeskCode.load(self._file)
        except SetupError as error:
            logger.warning("no desk code works here: %s", error)
            return None

    def accepts(self, typed: str) -> bool:
        """Whether this is the code. False for everything while too many wrong codes come in."""
        code = self.load()
        return code is not None and self._throttle.allows() and self._throttle.note(code.is_it(typed))

    def challenge(self) -> str:
        """A text to sign, good for one proof."""
        made = secrets.token_hex(16)
        self._challenges[made] = None
        while len(self._challenges) > 100:
            del self._challenges[next(iter(self._challenges))]
        return made

    def accepts_proof(self, signature: bytes, challenge: str, desk: str) -> bool:
        """Whether somebody proved the code for this desk, with a challenge of ours that was not used before."""
        code = self.load()
        if challenge not in self._challenges or code is None or not self._throttle.allows():
            return False
        del self._challenges[challenge]
        return self._throttle.note(code.is_proof(signature, challenge, desk))


def _key(typed: str, salt: str) -> Ed25519PrivateKey:
    seed = hashlib.scrypt(read_as_typed(typed), salt=salt.encode(), n=2**14, r=8, p=1, dklen=32)
    return Ed25519PrivateKey.from_private_bytes(seed)


def _signed(challenge: str, desk: str) -> bytes:
    return json.dumps(["handraise desk", desk, challenge]).encode()


def _require_private(file: Path, found: os.stat_result) -> None:
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SetupError(f"{file} must be a file that is yours alone: chmod 600 {file}")
