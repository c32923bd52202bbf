"""Payment card numbers: written as cards are printed, issued by a scheme, and with a right check digit."""

from __future__ import annotations

import re
from typing import Final

_WRITTEN: Final = re.compile(
    r"(?<![\w.+-])(?:"
    r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1?\d{1,3})?"
    r"|\d{4}([ -])\d{6}\2\d{4,5}"
    r"|\d{13,19}"
    r")(?![\w-]|\.\d)"
)
_SCHEMES: Final = (
    # first digits (from, to), lengths
    (4, 4, (16,)),  # Visa
    (51, 55, (16,)), (2221, 2720, (16,)),  # Mastercard
    (34, 34, (15,)), (37, 37, (15,)),  # American Express
    (6011, 6011, (16, 19)), (644, 659, (16, 19)),  # Discover, RuPay, Troy
    (300, 305, (14,)), (36, 36, (14,)), (38, 39, (14, 16)), (309, 309, (14,)),  # Diners Club
    (3528, 3589, (16,)),  # JCB
    (62, 62, (16, 17, 18, 19)), (81, 81, (16,)),  # UnionPay
    (5018, 5018, (16,)), (5020, 5020, (16,)), (5038, 5038, (16,)), (5893, 5893, (16,)), (6304, 6304, (16, 18, 19)),
    (6759, 6759, (16, 18, 19)), (6761, 6763, (16, 18, 19)),  # Maestro
    (2200, 2204, (16,)), (9792, 9792, (16,)), (5060, 5061, (16, 18, 19)), (6500, 6509, (16,)),  # Mir, Troy, Verve, Elo
)  # fmt: skip


def holds_card_number(text: str) -> bool:
    """Whether the text holds what is almost surely a payment card's number."""
    return any(_is_card(re.sub(r"\D", "", found[0])) for found in _WRITTEN.finditer(text))


def _is_card(digits: str) -> bool:
    issued = any(
        len(digits) in lengths and first <= int(digits[: len(str(first))]) <= last
        for first, last, lengths in _SCHEMES
    )
    return issued and _check_digit_is_right(digits) and len(set(digits)) > 1


def _check_digit_is_right(digits: str) -> bool:
    """The Luhn check, ISO/IEC 7812-1 Annex B."""
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (
        sum(int(digit) for digit in digits[-1::-2]) + sum(n - 9 if n > 9 else n for n in doubled)
    ) % 10 == 0
