"""Which keys of an issuer verify a signature: those that are for it, or not marked for anything."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.issuers.signatures import verifying_keys

pytestmark = pytest.mark.shows("W8", "L8")

KEY = {"kty": "EC", "crv": "P-256", "kid": "one"}


@pytest.mark.parametrize(
    "marks", [{}, {"use": "sig"}, {"alg": "ES256"}, {"key_ops": ["verify"]}, {"key_ops": ["verify", "sign"]}]
)
def test_a_key_for_signatures_verifies(marks: dict[str, Any]) -> None:
    assert verifying_keys({"keys": [{**KEY, **marks}]}, "ES256") == [{**KEY, **marks}]


@pytest.mark.parametrize(
    "marks",
    [
        {"use": "enc"},
        {"use": ""},
        {"use": ["sig"]},
        {"key_ops": []},
        {"key_ops": ["decrypt"]},
        {"key_ops": "verify"},
        {"alg": "ES384"},
        {"alg": "none"},
        {"alg": "RSA-OAEP"},
        {"kty": "oct"},
        {"kty": None},
    ],
    ids=str,
)
def test_a_key_for_something_else_does_not(marks: dict[str, Any]) -> None:
    assert verifying_keys({"keys": [{**KEY, **marks}]}, "ES256") == []


@pytest.mark.parametrize("algorithm", ["none", "HS256", "", None, 1, ["ES256"]], ids=str)
def test_no_key_verifies_an_algorithm_that_others_could_sign_by(algorithm: object) -> None:
    assert verifying_keys({"keys": [KEY]}, algorithm) == []


@pytest.mark.parametrize("published", [{}, {"keys": None}, {"keys": {}}, {"keys": ["x", 1, None]}], ids=str)
def test_no_key_is_found_in_what_is_no_key_set(published: dict[str, Any]) -> None:
    assert verifying_keys(published, "ES256") == []
