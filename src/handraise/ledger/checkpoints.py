"""Checkpoints: a signed word for how many records the ledger had, and which.

A checkpoint is a signed note as logs of certificates and of modules use them: the name of the ledger, the size and the
root of its tree, a time, and an Ed25519 signature. It is text, so that it can be kept in a mail, a ticket or on paper.
Whoever has one can find out later whether the records of that day are still what they were.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handraise.errors import LedgerError, SetupError
from handraise.ledger.tree import HASH

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ED25519 = b"\x01"
_NOTE = re.compile(
    r"(?P<origin>[^\s+]+)\n(?P<size>0|[1-9][0-9]{0,15})\n(?P<root>[A-Za-z0-9+/]{43}=)\n"
    r"(?P<word>at|cut) (?P<time>[0-9]{1,15})\n"
    r"\n— (?P<name>[^\s+]+) (?P<signature>[A-Za-z0-9+/]{90,92}={0,2})\n"
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a ledger was at one time."""

    origin: str
    size: int
    root: bytes
    time: int
    """Wall clock, in milliseconds since 1970."""
    cut: bool = False
    """Not only a size: the records up to here were removed, because their time was over."""

    @property
    def text(self) -> str:
        """What is signed."""
        root = base64.b64encode(self.root).decode()
        return f"{self.origin}\n{self.size}\n{root}\n{'cut' if self.cut else 'at'} {self.time}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A checkpoint with its signature, as it was found. Nobody has looked at the signature yet."""

    checkpoint: Checkpoint
    key: bytes
    """The first bytes of the hash of the key that is said to have signed it."""
    signature: bytes


class Keys:
    """What a ledger signs with, and what it makes digests of arguments with.

    Notes that were signed with `older` secrets, before keys were rotated, are still its own.
    """

    def __init__(self, secret: bytes, *older: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(secret) < HASH:
            raise SetupError(f"the key of a ledger needs {HASH} bytes of randomness")
        signers = [
            Ed25519PrivateKey.from_private_bytes(_derived(each, b"handraise/ledger/sign"))
            for each in (secret, *older)
        ]
        self._private = signers[0]
        self._digests = _derived(secret, b"handraise/ledger/arguments")
        self.verifier: Verifier = Verifier(*(signer.public_key().public_bytes_raw() for signer in signers))

    def sign(self, checkpoint: Checkpoint) -> str:
        """The checkpoint as a signed note."""
        signature = self._private.sign(checkpoint.text.encode())
        signed = base64.b64encode(self.verifier.name + signature).decode()
        return f"{checkpoint.text}\n— {checkpoint.origin} {signed}\n"

    def digest(self, canonical: bytes) -> str:
        """The digest of a call's arguments: equal for equal ones, and nobody without the key can try values."""
        return hmac.digest(self._digests, canonical, "sha256").hex()


class Verifier:
    """What tells whether a note was signed by one ledger, with its key or with one that it had before."""

    def __init__(self, public: bytes, *older: bytes) -> None:
        self.public = public
        self.origin: str = f"handraise-ledger-{hashlib.sha256(public).hexdigest()[:16]}"
        self.name: bytes = hashlib.sha256(self.origin.encode() + b"\n" + _ED25519 + public).digest()[:4]
        self._older = tuple(map(Verifier, older))

    def signed(self, note: Note) -> bool:
        """Whether this ledger signed the note."""
        from cryptography.exceptions import InvalidSignature

        if note.key != self.name or note.checkpoint.origin != self.origin:
            return any(verifier.signed(note) for verifier in self._older)
        try:
            self._key().verify(note.signature, note.checkpoint.text.encode())
        except InvalidSignature:
            return False
        return True

    def _key(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.public)


def parse_notes(text: str) -> list[Note]:
    """The notes in a text, in their order. Raises `LedgerError` when there is anything else in it."""
    return list(_notes(text.replace("\r\n", "\n").strip("\n") + "\n"))


def _notes(text: str) -> Iterator[Note]:
    at = 0
    while at < len(text):
        found = _NOTE.match(text, at)
        if found is None:
            raise LedgerError("this is no checkpoint of a ledger")
        yield _note(found)
        at = found.end()
        while text[at : at + 1] == "\n":
            at += 1


def _note(found: re.Match[str]) -> Note:
    try:
        root, signed = base64.b64decode(found["root"]), base64.b64decode(found["signature"])
    except binascii.Error:
        raise LedgerError("this is no checkpoint of a ledger") from None
    if len(root) != HASH or len(signed) != 4 + 64 or found["name"] != found["origin"]:
        raise LedgerError("this is no checkpoint of a ledger")
    cut = found["word"] == "cut"
    checkpoint = Checkpoint(found["origin"], int(found["size"]), root, int(found["time"]), cut)
    return Note(checkpoint, signed[:4], signed[4:])


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, purpose, "sha256")
