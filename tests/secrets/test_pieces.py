"""Tokens with something between their parts."""

from __future__ import annotations

import pytest

from handraise.secrets import scan_answer

FIRST, SECOND = "aB3dE5gH1jK7mN9pQ2", "sT4vW6xY8zC0fL1rUv"


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "text",
    [
        f"ghp_ + {FIRST}{SECOND}",
        f'"ghp" "_" "{FIRST}{SECOND}"',
        f"g-h-p-_-{FIRST}{SECOND}",
        f"part 1: ghp_{FIRST} part 2: {SECOND}",
        f"erste Hälfte ghp_{FIRST} zweite Hälfte {SECOND}",
        f"ghp_{FIRST} … {SECOND}",
        "AKIA-QWERTYUI-ASDFGHJK",
        f"s k _ l i v e _ {FIRST}",
    ],
)
def test_a_token_in_pieces_is_found(text: str) -> None:
    assert scan_answer({"note": text})


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "text",
    [
        "part 1: intro2026 part 2: summary2026",
        "sk-project/docs/2024/readme",
        "a.b.c.d.e",
        "ghp_ then the rest follows in the docs, 2 parts",
    ],
)
def test_pieces_of_something_else_raise_no_alarm(text: str) -> None:
    assert scan_answer({"note": text}) == ()
