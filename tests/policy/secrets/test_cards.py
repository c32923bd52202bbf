"""Payment card numbers."""

from __future__ import annotations

import pytest

from handraise.policy.secrets.cards import holds_card_number


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
def test_a_number_as_cards_have_it_is_found(text: str) -> None:
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
def test_other_numbers_are_not(text: str) -> None:
    assert not holds_card_number(text)
