"""What was found: which field asks for, or holds, which kind of secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Tier = Literal[1, 2]
"""1: a credential or payment data, never in a form. 2: personal data, at least a warning."""

CALLED: Final = {
    "password": "a password",
    "passphrase": "a passphrase",
    "pin": "a PIN",
    "otp": "a one-time code",
    "api_key": "an API key",
    "token": "an access token",
    "client_secret": "a shared secret",
    "private_key": "a private key",
    "seed_phrase": "a wallet's seed phrase",
    "connection_string": "a connection string with its credentials",
    "security_answer": "the answer to a security question",
    "card_number": "a payment card's number",
    "cvv": "a payment card's security code",
    "bank_account": "a bank account number",
    "national_id": "a national id number",
    "personal_data": "personal data",
}
"""Every kind, with the words a person reads. The names are stable: rules and the ledger keep them."""

PERSONAL: Final = frozenset({"national_id", "personal_data"})
NUMERIC: Final = frozenset({"password", "pin", "otp", "card_number", "cvv", "bank_account", "national_id"})
"""What a number field can carry. An API key has letters in it."""


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """One field that asks for a secret, or one answer that holds one. Never carries the value."""

    field: str | None
    """None: the message asks, and no single field can be named for it."""
    tier: Tier
    kind: str
    reason: str
    """One sentence for the person."""
    doubtful: bool = False
    """It may be harmless: warn, and ask for a second look. Never a reason to refuse by itself."""
    words: tuple[str, ...] = ()
    """What the finding rests on: words of the form, or what gives an answer away."""


def tier_of(kind: str) -> Tier:
    """How bad it is that a form asks for this kind."""
    return 2 if kind in PERSONAL else 1
