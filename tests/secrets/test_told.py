"""Sentences that give a secret away."""

from __future__ import annotations

import pytest

from handraise.secrets import scan_answer

TOLD = [
    ("password", "The wifi password is on the fridge: Blueberry77"),
    ("password", "It's Rosebud77, that's my password"),
    ("password", "Biscuit2014, that logs you in"),
    ("password", "pw=Tr0ub4dor"),
    ("password", "Das Kennwort lautet Hafen-Nacht7"),
    ("pin", "the safe opens with code 40-12-33"),
    ("pin", "punch in 8263# to disarm the alarm"),
    ("pin", "der Code für die Haustür ist 4471"),
    ("pin", "the card pin is 2 8 6 0, please keep it"),
    ("pin", "pin = 7*1*0*4"),
    ("pin", "my PIN is four four seven one"),
    ("otp", "mi código de autenticador ahora mismo es 610199"),
    ("otp", "the app says 665 510 but it is about to change"),
    ("otp", "one of my recovery codes is h7k2-99ab-x3mm"),
    ("cvv", "The security code on the back is 216"),
    (
        "api_key",
        "secret access key: wJalrXUtnFEMI/K7MDENG+bPxRfiCYzz81LKEYzz4pf85St7azg==, region eu-central-1",
    ),
]
HARMLESS = [
    "the garage opens at 0700",
    "alarm: 0630",
    "the laptop is 1299 with tax",
    "network: Heron5",
    "the parcel that arrived has number 665510",
    "error code 665510 in the app",
    "postal code of the door is 80331",
    "I forgot my password, call me, Anna2",
    "password: none, Windows11",
    "the door code was changed on 2024-05-01",
    "token limit 128000",
    "password manager: KeePass2",
    "my password is none of your business",
]


@pytest.mark.shows("S4")
@pytest.mark.parametrize(("kind", "text"), TOLD)
def test_a_sentence_that_gives_a_secret_away_is_found(kind: str, text: str) -> None:
    assert [found.kind for found in scan_answer({"note": text})] == [kind]


@pytest.mark.shows("S4")
@pytest.mark.parametrize("text", HARMLESS)
def test_a_sentence_that_only_speaks_of_one_raises_no_alarm(text: str) -> None:
    assert scan_answer({"note": text}) == ()


@pytest.mark.shows("S4")
@pytest.mark.parametrize("kind", ["passphrase", "password"])
def test_four_words_in_a_row_that_no_sentence_needs_are_a_secret_and_three_are_none(kind: str) -> None:
    (found,) = scan_answer({"note": f"{kind}: wobble frumious plumtree zebras"})
    assert (found.kind, found.words) == (kind, (f"words follow the word {kind!r}",))
    assert scan_answer({"note": f"{kind}: wobble frumious plumtree"}) == ()
    assert scan_answer({"note": f"{kind}: the frumious plumtree is"}) == ()
