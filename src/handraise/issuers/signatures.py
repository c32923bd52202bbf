"""Which signatures of an issuer are believed."""

from __future__ import annotations

from typing import Final

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
"""Signatures that only the issuer can make: no `none`, and none with a secret that two parties have."""
