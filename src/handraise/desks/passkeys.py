"""Passkeys: how a person shows at the web desk that it is they who say yes (WebAuthn, level 2).

The attack that this is against: a program that got into the desk, with a link that it saw or through the person's own
browser, answers for them. It has no finger for the sensor and does not know the PIN.

A challenge works once, for two minutes, and only for what it was made for: one purpose, one browser session, and for
an answer also the question and the content. The browser's part is `static/desk.js` of the web desk.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from handraise.desks.waiting import PasskeyProof
from handraise.disk import make_directory, replace_file
from handraise.errors import PasskeyRefused, SetupError
from handraise.policy.files import locked
from handraise.policy.places import data_directory
from handraise.questions import Person

FILE_NAME: Final = "passkeys.json"
LOCAL: Final = "localhost"
"""The relying party of a desk on this computer. WebAuthn takes no IP addresses."""
CHALLENGE_LIFE: Final = 120.0
INSTALL: Final = (
    "Passkeys need a library that is missing here. Install it with: pip install 'handraise[passkeys]'"
)
_MOST_CHALLENGES: Final = 10_000
_MOST_OF_ONE: Final = 20
"""Challenges of one browser. The attack: somebody at a shared desk asks for so many that others lose theirs."""
_MOST_BYTES: Final = 1024 * 1024
_LONGEST_RESPONSE: Final = 64 * 1024

Purpose = Literal["add", "remove", "sign in", "answer"]


@dataclass(frozen=True, slots=True)
class Passkey:
    """One registered passkey. The private key never leaves the person's device."""

    id: str
    """The credential's id, in base64url as browsers write it."""
    public_key: str
    """COSE, in base64url."""
    sign_count: int
    name: str
    created: float
    rp_id: str
    """The host at which it works."""
    owner: str
    """Whose it is: see `owner_of`."""


@dataclass(frozen=True, slots=True)
class Use:
    """The purpose of a passkey's use. A challenge for one purpose is refused for any other."""

    purpose: Purpose
    session: str
    """The browser session: a secret that only this browser and we know."""
    person: Person
    name: str = ""
    """The passkey that is added or removed."""
    answers: tuple[tuple[str, str], ...] = ()
    """The id of each question, with the digest of its answer."""


class PasskeyStore(Protocol):
    """Where passkeys are kept."""

    def all(self) -> tuple[Passkey, ...]:
        """Everybody's."""
        ...

    def edit(self, change: Callable[[tuple[Passkey, ...]], tuple[Passkey, ...]]) -> None:
        """Change them in one step. An error that `change` raises leaves them as they are."""
        ...


class PasskeyFile:
    """Passkeys in a file that only this user can read. It is read anew each time: a command may have changed it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path: Path = path or data_directory(os.environ) / FILE_NAME

    def all(self) -> tuple[Passkey, ...]:
        try:
            if os.name == "posix" and self.path.stat().st_mode & 0o077:
                raise SetupError(f"{self.path}: others can read or write it; make it yours with: chmod 600")
            held = json.loads(self.path.read_bytes()[:_MOST_BYTES])
            return tuple(Passkey(**each) for each in held["passkeys"])
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise SetupError(f"{self.path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise SetupError(f"{self.path}: your passkeys cannot be read; mend or remove it") from None

    def edit(self, change: Callable[[tuple[Passkey, ...]], tuple[Passkey, ...]]) -> None:
        try:
            make_directory(self.path.parent)
            with locked(self.path.with_suffix(".lock")):
                kept = {"passkeys": [asdict(each) for each in change(self.all())]}
                replace_file(self.path, json.dumps(kept, indent=1) + "\n")
        except OSError as error:
            raise SetupError(f"{self.path}: passkeys cannot be kept: {error.strerror}") from None


class Passkeys:
    """Registers and checks the passkeys of one site: each in two steps, with the browser in between."""

    def __init__(
        self,
        store: PasskeyStore,
        *,
        rp_id: str,
        origin: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`rp_id` is the site's host; `origin` gives its scheme, host and port, as the browser writes them."""
        self.store = store
        self.rp_id = rp_id
        self._origin = origin
        self._clock = clock
        self._now = now
        self._challenges: dict[bytes, tuple[Use, float]] = {}

    @property
    def available(self) -> bool:
        """Whether the library is installed."""
        return find_spec("webauthn") is not None

    def of(self, person: Person) -> tuple[Passkey, ...]:
        """The passkeys that a person has for this site."""
        owner = owner_of(person)
        return tuple(each for each in self.store.all() if (each.owner, each.rp_id) == (owner, self.rp_id))

    def begin_registration(self, use: Use) -> str:
        """Options for a new passkey, as JSON for `navigator.credentials.create`."""
        require_library()
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        options = generate_registration_options(
            rp_id=self.rp_id,
            rp_name="Handraise",
            user_id=hashlib.sha256(f"handraise {self.rp_id} {owner_of(use.person)}".encode()).digest(),
            user_name=use.name,
            challenge=self._challenge(use),
            timeout=int(CHALLENGE_LIFE * 1000),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.PREFERRED,
                user_verification=UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=_named(self.of(use.person)),
        )
        return options_to_json(options)

    def finish_registration(self, response: str, use: Use) -> Passkey:
        """Keep the passkey that the browser made. Raises `PasskeyRefused`."""
        challenge = self._redeem(response, use)
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url

        with _refusing():
            made = verify_registration_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self.rp_id,
                expected_origin=self._origin(),
                require_user_verification=True,
            )
        passkey = Passkey(
            bytes_to_base64url(made.credential_id),
            bytes_to_base64url(made.credential_public_key),
            made.sign_count,
            use.name,
            self._now(),
            self.rp_id,
            owner_of(use.person),
        )

        def add(kept: tuple[Passkey, ...]) -> tuple[Passkey, ...]:
            if any(each.id == passkey.id for each in kept):
                raise PasskeyRefused("this passkey is registered already")
            return (*kept, passkey)

        self.store.edit(add)
        return passkey

    def begin_assertion(self, use: Use) -> str:
        """Options for using the person's passkey, as JSON for `navigator.credentials.get`."""
        require_library()
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=self.rp_id,
            challenge=self._challenge(use),
            timeout=int(CHALLENGE_LIFE * 1000),
            allow_credentials=_named(self.of(use.person)),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json(options)

    def finish_assertion(self, response: str, use: Use) -> PasskeyProof:
        """Check what the person's passkey signed. Raises `PasskeyRefused`.

        The signature, the origin, the host, that the person was verified, and that the device counted on: a copy of a
        passkey shows by a count that went back.
        """
        challenge = self._redeem(response, use)
        from webauthn import base64url_to_bytes, verify_authentication_response
        from webauthn.helpers import parse_authentication_credential_json

        with _refusing():
            given = parse_authentication_credential_json(response)
        used: list[Passkey] = []

        def count_on(kept: tuple[Passkey, ...]) -> tuple[Passkey, ...]:
            """Verify and note the count in one step, so that two uses at once cannot both pass with one count."""
            theirs = (owner_of(use.person), self.rp_id, given.id)
            known = next((each for each in kept if (each.owner, each.rp_id, each.id) == theirs), None)
            if known is None:
                raise PasskeyRefused("this passkey is not one of this person's")
            with _refusing():
                verified = verify_authentication_response(
                    credential=given,
                    expected_challenge=challenge,
                    expected_rp_id=self.rp_id,
                    expected_origin=self._origin(),
                    credential_public_key=base64url_to_bytes(known.public_key),
                    credential_current_sign_count=known.sign_count,
                    require_user_verification=True,
                )
            used.append(replace(known, sign_count=verified.new_sign_count))
            return tuple(used[0] if each == known else each for each in kept)

        self.store.edit(count_on)
        return PasskeyProof(use.person.key, used[0].name, use.answers)

    def remove(self, person: Person, name: str) -> None:
        """Forget a passkey of a person's."""
        gone = {each.id for each in self.of(person) if each.name == name}
        self.store.edit(lambda kept: tuple(each for each in kept if each.id not in gone))

    def free_name(self, person: Person, wanted: str = "passkey") -> str:
        """A name that no passkey of this person has here."""
        taken = {each.name for each in self.of(person)}
        names = (wanted if number == 1 else f"{wanted}-{number}" for number in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)

    def _challenge(self, use: Use) -> bytes:
        now = self._clock()
        self._challenges = {each: made for each, made in self._challenges.items() if made[1] > now}
        of_session = [each for each, made in self._challenges.items() if made[0].session == use.session]
        for each in of_session[: max(0, len(of_session) - _MOST_OF_ONE + 1)]:
            del self._challenges[each]
        while len(self._challenges) >= _MOST_CHALLENGES:
            del self._challenges[next(iter(self._challenges))]
        challenge = secrets.token_bytes(32)
        self._challenges[challenge] = (use, now + CHALLENGE_LIFE)
        return challenge

    def _redeem(self, response: str, use: Use) -> bytes:
        """Use up the challenge that a response answers, whatever comes of it."""
        require_library()
        challenge = _challenge_in(response)
        made = self._challenges.pop(challenge, None)
        if made is None or made[1] <= self._clock():
            raise PasskeyRefused("its challenge is unknown, used already, or older than two minutes")
        if made[0] != use:
            raise PasskeyRefused("its challenge was made for something else")
        return challenge


def owner_of(person: Person) -> str:
    """The owner of a passkey. For this computer's user it leaves out the computer's name, which may change."""
    return f"system:{person.subject}" if person.how == "system" else person.key


def _named(passkeys: Sequence[Passkey]) -> list[Any]:
    from webauthn import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(each.id)) for each in passkeys]


def _challenge_in(response: str) -> bytes:
    """The challenge that a browser's response says it answers. It is looked up before anything else is believed."""
    from webauthn import base64url_to_bytes
    from webauthn.helpers import parse_client_data_json

    if len(response) > _LONGEST_RESPONSE:
        raise PasskeyRefused("the browser's response is too long")
    try:
        said: Mapping[str, Any] = json.loads(response)
        return parse_client_data_json(base64url_to_bytes(said["response"]["clientDataJSON"])).challenge
    except Exception as error:  # noqa: BLE001 - hostile input, and a parser that is not ours
        raise PasskeyRefused(f"the browser's response cannot be read ({type(error).__name__})") from None


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn every error of the library into a refusal."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - hostile input, and a parser that is not ours
        raise PasskeyRefused(str(error) or type(error).__name__) from None


def require_library() -> None:
    """SetupError, with how to install it, when the library is missing."""
    if find_spec("webauthn") is None:
        raise SetupError(INSTALL)
