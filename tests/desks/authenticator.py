"""A passkey in software, for tests: it signs whatever it is told to, so that each lie can be told."""

from __future__ import annotations

import hashlib
import json
import secrets
import struct
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import bytes_to_base64url

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


@dataclass
class Authenticator:
    """One device with one passkey. Each field can be changed to something wrong."""

    rp_id: str = "localhost"
    origin: str = "http://localhost:7070"
    verifies: bool = True
    count: int = 0
    counts: bool = True
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: str) -> str:
        """What a browser gives for `navigator.credentials.create`."""
        numbers = self.key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        cose = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        attested = bytes(15) + b"\1" + struct.pack(">H", len(self.id)) + self.id + cose
        data = self._data(ATTESTED) + attested
        made = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        return self._said("webauthn.create", options, {"attestationObject": bytes_to_base64url(made)})

    def get(self, options: str, *, kind: str = "webauthn.get") -> str:
        """What a browser gives for `navigator.credentials.get`."""
        if self.counts:
            self.count += 1
        data, client = self._data(), self._client(kind, options)
        signed = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        more = {"authenticatorData": bytes_to_base64url(data), "signature": bytes_to_base64url(signed)}
        return self._said(kind, options, more)

    def _data(self, flags: int = 0) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        return hashlib.sha256(self.rp_id.encode()).digest() + struct.pack(">BI", flags, self.count)

    def _client(self, kind: str, options: str) -> bytes:
        told = {"type": kind, "challenge": json.loads(options)["challenge"], "origin": self.origin}
        return json.dumps(told).encode()

    def _said(self, kind: str, options: str, more: dict[str, Any]) -> str:
        id, client = bytes_to_base64url(self.id), bytes_to_base64url(self._client(kind, options))
        response = {"clientDataJSON": client, **more}
        return json.dumps({"id": id, "rawId": id, "type": "public-key", "response": response})
