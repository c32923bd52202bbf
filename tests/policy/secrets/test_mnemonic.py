"""Wallet phrases, with the vectors of BIP-39."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

import handraise.policy.secrets
from handraise.policy.secrets.mnemonic import holds_seed_phrase

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
def test_a_phrase_is_found_however_it_is_written(phrase: str) -> None:
    assert holds_seed_phrase(phrase)
    assert holds_seed_phrase(phrase.upper().replace(" ", ",\n"))
    assert holds_seed_phrase(f"the words are: {phrase}. Thanks!")


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "text", ["abandon " * 12, "zoo " * 11, "all work and no play makes Jack a dull boy today", ""]
)
def test_words_without_the_checksum_are_only_words(text: str) -> None:
    assert not holds_seed_phrase(text)


def test_the_list_is_the_one_of_the_standard() -> None:
    words = files(handraise.policy.secrets).joinpath("bip39.txt").read_text("ascii").split()
    digest = hashlib.sha256("".join(f"{word}\n" for word in words).encode()).hexdigest()
    assert digest == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
