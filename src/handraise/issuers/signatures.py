"""Which signatures of an issuer are believed, and which of its keys verify them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
_TYPES: Final = ("RSA", "EC", "OKP")


def verifying_keys(published: Mapping[str, Any], algorithm: object) -> list[dict[str, Any]]:
    """The keys of a JSON Web Key Set that may verify a signature made by this algorithm (RFC 7517, section 4).

    A key that is marked for encryption, or for another algorithm, is none of them. Others than the issuer may have its
    secret half, or get it to be used on data that they choose.
    """
    keys = published.get("keys")
    if algorithm not in ALGORITHMS or not isinstance(keys, list):
        return []
    return [key for key in keys if isinstance(key, dict) and _may_verify(key, algorithm)]


def _may_verify(key: Mapping[str, Any], algorithm: object) -> bool:
    operations = key.get("key_ops")
    return (
        key.get("kty") in _TYPES
        and key.get("use") in (None, "sig")
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and key.get("alg") in (None, algorithm)
    )
