"""The codes that a person types to show that it is they: short enough to type, and not to be guessed.

The *answer code* belongs to one process. `handraise answer` needs it, and only a desk shows it. The attack it is
against: a model with a shell runs as the same user, reads everything that a command prints, and can call `handraise
answer` as well as the person can. What it does not see is the screen in front of the person.

The *desk code* belongs to a person. It opens their desk where the system does not tell which program is asking.
`handraise desk code` makes it and shows it once. The file keeps no code: only a public key that follows from it,
through scrypt so that guessing is slow.

Neither code leaves the command in which it is typed. The other side gets a proof, bound to one connection and one
answer, or to one desk. So a program that pretends to be a desk learns nothing that would open another one.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from handraise.disk import make_directory, replace_file
from handraise.errors import SetupError
from handraise.policy.places import data_directory

logger = logging.getLogger(__name__)

_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's: none of them is taken for another one."""
_LENGTH: Final = 8
_READ_AS: Final = str.maketrans({"I": "1", "L": "1", "O": "0", "-": "", " ": ""})
FREE_TRIES: Final = 5
PAUSE: Final = 10.0
"""Seconds between two tries after the free ones: forty bits then take some hundred thousand years."""
TERMINAL: Final = "CONOUT$" if sys.platform == "win32" else "/dev/tty"
"""The terminal of the person who started this program, also if its output goes into a file or a pipe."""
DESK_CODE_FILE: Final = "desk-code.json"


def _new_letters() -> str:
    """The letters of a new code: forty bits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def _written(letters: str) -> str:
    """A code as it is shown to a person."""
    return f"{letters[:4]}-{letters[4:]}"


def _letters_of(code: str) -> bytes:
    """The letters that a person meant, however they wrote them."""
    return code.upper().translate(_READ_AS).encode("utf-8", "replace")


class Throttle:
    """Slows down guessing: after a few wrong tries, one try every ten seconds is looked at."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong = 0
        self._last = 0.0

    def allows(self) -> bool:
        """Whether a try may be looked at now. It counts as wrong until `note` says otherwise: tries may overlap."""
        now = self._clock()
        if self._wrong >= FREE_TRIES and now - self._last < PAUSE:
            return False
        self._wrong, self._last = self._wrong + 1, now
        return True

    def note(self, right: bool) -> bool:
        """Take the result of a try, and give it back."""
        if right:
            self._wrong = 0
        return right


def show_at_terminal(text: str) -> bool:
    """Write to the controlling terminal, past standard output and error; False when there is none."""
    with suppress(OSError):
        with open(TERMINAL, "w", encoding="utf-8") as screen:
            screen.write(text)
        return True
    return False


def prove(code: str, nonce: str, question_id: str, answer: dict[str, Any], anyway: bool) -> str:
    """A proof of the code for this connection and this answer. Slow on purpose: it must not give the code away."""
    key = hashlib.scrypt(_letters_of(code), salt=nonce.encode(), n=2**14, r=8, p=1, dklen=32)
    told = json.dumps([question_id, answer, anyway], sort_keys=True)
    return hmac.new(key, told.encode(), hashlib.sha256).hexdigest()


class AnswerCode:
    """One process's code. Its `repr` does not tell it, and nothing but `shown` does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._letters = _new_letters()
        self._throttles = {trusted: Throttle(clock) for trusted in (True, False)}

    def __repr__(self) -> str:
        return "AnswerCode(…)"

    def shown(self) -> str:
        """The code as a desk shows it to the person. Never printed, logged or given to a client."""
        return _written(self._letters)

    async def check(
        self,
        proof: str,
        nonce: str,
        question_id: str,
        answer: dict[str, Any],
        anyway: bool,
        *,
        trusted: bool = True,
    ) -> Literal["right", "wrong", "wait"]:
        """Whether somebody knew the code. After a few wrong tries, most are not even looked at.

        Tries of programs that are not `trusted` count apart. The attack: a client's program guesses without end, so
        that the person's own try is never looked at.
        """
        throttle = self._throttles[trusted]
        if not throttle.allows():
            return "wait"
        right = await asyncio.to_thread(prove, self._letters, nonce, question_id, answer, anyway)
        is_right = hmac.compare_digest(proof.encode("utf-8", "replace"), right.encode())
        return "right" if throttle.note(is_right) else "wrong"


def desk_code_file(environment: Mapping[str, str]) -> Path:
    """Where this user's desk code is kept."""
    return data_directory(environment) / DESK_CODE_FILE


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
    letters, salt = _new_letters(), secrets.token_hex(16)
    public_key = _key(letters, salt).public_key().public_bytes_raw()
    make_directory(file.parent)
    replace_file(file, json.dumps({"salt": salt, "public_key": public_key.hex()}))
    return _written(letters)


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
    seed = hashlib.scrypt(_letters_of(typed), salt=salt.encode(), n=2**14, r=8, p=1, dklen=32)
    return Ed25519PrivateKey.from_private_bytes(seed)


def _signed(challenge: str, desk: str) -> bytes:
    return json.dumps(["handraise desk", desk, challenge]).encode()


def _require_private(file: Path, found: os.stat_result) -> None:
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise SetupError(f"{file} must be a file that is yours alone: chmod 600 {file}")
