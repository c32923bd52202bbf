"""Codes of locks, patterns to draw, codes that were sent, and answers to security questions."""

from __future__ import annotations

import pytest

from handraise.secrets import scan_answer

TOLD = [
    ("pin", "kod do bramy 3152"),
    ("pin", "le code de l'immeuble est le 4913A"),
    ("pin", "padlock combo is 31-08-22"),
    ("pin", "safe: left 32, right 14, left 7"),
    ("password", "swipe 1 2 3 6 9 on the dots to open it"),
    ("password", "you can unlock it with Hedgehog79"),
    ("password", "use Hedgehog06! to get in"),
    ("otp", "just got 288410 by text"),
    ("otp", "telegram code 20056"),
    ("security_answer", "my mother's maiden name is Kowalczyk"),
    ("security_answer", "first pet was Biscuit, that's the answer to the security question"),
    ("cvv", "the three digits on the back are 266"),
]
HARMLESS = [
    "code postal 75011, porte 3",
    "error code 4711 on the alarm panel",
    "garage 1299 EUR a year",
    "turn left 200 m then right 50",
    "connect 4 5 times",
    "log in with Office365",
    "received 250000 EUR by transfer",
    "security question: which pet?",
    "the number on the back of the ticket is 48213",
]


@pytest.mark.shows("S4")
@pytest.mark.parametrize(("kind", "text"), TOLD)
def test_a_secret_of_every_day_is_found(kind: str, text: str) -> None:
    assert [found.kind for found in scan_answer({"note": text})] == [kind]


@pytest.mark.shows("S4")
@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_of_every_day_raise_no_alarm(text: str) -> None:
    assert scan_answer({"note": text}) == ()
