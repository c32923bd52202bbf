"""Payment cards, IBANs, Bitcoin keys and seed phrases (the vectors of BIP-39)."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest
from tests.secrets.answer_set import base58check, iban

import handraise.secrets
from handraise.secrets.checksums import holds_bitcoin_key, holds_card_number, holds_iban, holds_seed_phrase


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "card: 5105105105105100.",
        "2223003122003222",
        "378282246310005",
        "3782 822463 10005",
        "6011 0009 9013 9424",
        "30569309025904",
        "3530111333300000",
        "6200000000000005",
        "2200123456789019",
    ],
)
def test_a_card_number_is_found(text: str) -> None:
    assert holds_card_number(text)


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",  # wrong check digit
        "41 11 11 11 11 11 11 11",  # not how anybody writes one
        "1234567890123452",  # no scheme issues it
        "a4111111111111111",
        "4111111111111111-22",
        "4111111111111111.5",
        "9941111111111111110",
        "4444444444444444",
        "0000000000000000",
    ],
)
def test_other_numbers_raise_no_alarm(text: str) -> None:
    assert not holds_card_number(text)


VECTORS = [
    "abandon " * 11 + "about",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
    "zoo " * 11 + "wrong",
    "abandon " * 17 + "agent",
    "abandon " * 23 + "art",
    "hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis "
    "maple dilemma loan word shrug inflict delay length",
]


@pytest.mark.shows("S4")
@pytest.mark.parametrize("phrase", VECTORS)
def test_a_seed_phrase_is_found_in_every_spelling(phrase: str) -> None:
    assert holds_seed_phrase(phrase)
    assert holds_seed_phrase(phrase.upper().replace(" ", ",\n"))
    assert holds_seed_phrase(f"the words are: {phrase}. Thanks!")


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "text", ["abandon " * 12, "zoo " * 11, "all work and no play makes Jack a dull boy today", ""]
)
def test_words_without_the_checksum_raise_no_alarm(text: str) -> None:
    assert not holds_seed_phrase(text)


def test_the_word_list_is_that_of_bip39() -> None:
    words = files(handraise.secrets).joinpath("bip39.txt").read_text("ascii").split()
    digest = hashlib.sha256("".join(f"{word}\n" for word in words).encode()).hexdigest()
    assert digest == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"


@pytest.mark.shows("S4")
def test_a_bitcoin_key_is_known_by_its_checksum() -> None:
    key = base58check(b"\x80" + bytes(range(32)) + b"\x01")
    assert holds_bitcoin_key(f"import {key} please")
    assert not holds_bitcoin_key(key[:-1] + ("2" if key[-1] == "1" else "1"))


def test_an_iban_is_known_by_its_check_digits() -> None:
    right = iban("DE", "370400440532013000")
    assert holds_iban(right)
    assert holds_iban("DE89 3704 0044 0532 0130 00")
    assert not holds_iban("DE88370400440532013000")
