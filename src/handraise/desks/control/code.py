"""The code that answering by id needs: short enough to type, shown at a desk only, and not to be guessed.

The attack it is against: a model with a shell runs as the same user, reads everything that a command prints, and can
call `handraise answer` as well as the person can. What it does not see is the screen in front of the person.

The code itself never leaves the command in which it is typed. The listener gets a proof, bound to one connection and to
the answer. So a program that pretends to be a listener learns nothing that would fit another answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from typing import Any, Final, Literal

_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's: none of them is taken for another one."""
_LENGTH: Final = 8
_READ_AS: Final = str.maketrans({"I": "1", "L": "1", "O": "0", "-": "", " ": ""})
FREE_TRIES: Final = 5
PAUSE: Final = 10.0
"""Seconds between two tries after the free ones: forty bits then take some hundred thousand years."""

Verdict = Literal["right", "wrong", "wait"]


def new_letters() -> str:
    """The letters of a new code: forty bits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def written_in_groups(letters: str) -> str:
    """A code as it is shown to a person."""
    return f"{letters[:4]}-{letters[4:]}"


def read_as_typed(code: str) -> bytes:
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


def prove(code: str, nonce: str, question_id: str, answer: dict[str, Any], anyway: bool) -> str:
    """A proof of the code for this connection and this answer. Slow on purpose: it must not give the code away."""
    key = hashlib.scrypt(read_as_typed(code), salt=nonce.encode(), n=2**14, r=8, p=1, dklen=32)
    told = json.dumps([question_id, answer, anyway], sort_keys=True)
    return hmac.new(key, told.encode(), hashlib.sha256).hexdigest()


class AnswerCode:
    """One process's code. Its `repr` does not tell it, and nothing but `shown` does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._letters = new_letters()
        self._throttle = Throttle(clock)

    def __repr__(self) -> str:
        return "AnswerCode(…)"

    def shown(self) -> str:
        """The code as a desk shows it to the person. Never printed, logged or given to a client."""
        return written_in_groups(self._letters)

    async def check(
        self, proof: str, nonce: str, question_id: str, answer: dict[str, Any], anyway: bool
    ) -> Verdict:
        """Whether somebody knew the code. After a few wrong tries, most are not even looked at."""
        if not self._throttle.allows():
            return "wait"
        right = await asyncio.to_thread(prove, self._letters, nonce, question_id, answer, anyway)
        is_right = hmac.compare_digest(proof.encode("utf-8", "replace"), right.encode())
        return "right" if self._throttle.note(is_right) else "wrong"
