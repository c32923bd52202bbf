"""Numbers and keys that carry a check of their own: payment cards, IBANs, Bitcoin keys, wallets' seed phrases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

_WRITTEN: Final = (
    r"(?<![A-Za-z0-9_.+-])(?:"
    r"\d{4}(\s{0,2}[ ./,:_–-]\s{0,2})\d{4}\1\d{4}\1\d{3,4}(?:\1?\d{1,3})?"
    r"|\d{4}([ ./,_–-])\d{6}\2\d{4,5}"
    r"|\d(?: \d){12,18}"
    r"|\d{13,19}"
    r")(?![A-Za-z0-9_-]|\.\d)"
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
    (6703, 6703, (16, 17)),
    (6759, 6759, (16, 18, 19)), (6761, 6763, (16, 18, 19)),  # Maestro
    (2200, 2204, (16,)), (9792, 9792, (16,)), (5060, 5061, (16, 18, 19)), (6500, 6509, (16,)),  # Mir, Troy, Verve, Elo
)  # fmt: skip


_OTHER_NUMBER: Final = (
    r"(?i)\b(?:invoice|order|ticket|tracking|imei|ref|reference|case|serial|rechnung|bestellung|facture|commande"
    r"|pedido|factura|ordine|fattura|заказ|счёт)\b[^\d\n]{0,12}$"
)
"""Words for other numbers that a check digit may fit by chance."""


def holds_card_number(text: str) -> bool:
    """Whether the text holds what is almost surely a payment card's number."""
    for found in re.finditer(_WRITTEN, text):
        digits = re.sub(r"\D", "", found[0])
        before = text[max(0, found.start() - 40) : found.start()]
        is_card = _is_card(digits) or (found[1] is not None and _is_card(digits[:16]))  # a date may follow
        if is_card and not re.search(_OTHER_NUMBER, before):
            return True
    return False


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


_LENGTHS: Final = (24, 21, 18, 15, 12)
_LONGEST_PHRASE: Final = (1 << 11 * _LENGTHS[0]) - 1
_MOST_WORDS: Final = 10_000
"""Words in a row that are looked at. The attack: a long text of nothing else keeps everybody waiting."""
_SEED_WORD: Final = r"[A-Za-z]+"


def holds_seed_phrase(text: str) -> bool:
    """Whether consecutive words of the text are a phrase with a right checksum."""
    words = re.findall(_SEED_WORD, text)
    if len(words) < _LENGTHS[-1]:
        return False
    return any(map(_holds, _runs(words)))


def longest_run_of_seed_words(text: str) -> int:
    """How many consecutive words of the text are on the list that seed phrases are made from."""
    return max(map(len, _runs(re.findall(_SEED_WORD, text))))


def all_seed_words(text: str) -> bool:
    """Whether every word of the text is on that list."""
    return all(word in _numbers() for word in re.findall(_SEED_WORD, text))


def _runs(words: Sequence[str]) -> Iterator[list[int]]:
    run: list[int] = []
    for word in words:
        if (number := _numbers().get(word.lower())) is not None:
            run.append(number)
        elif run:
            yield run
            run = []
    yield run


def _holds(run: Sequence[int]) -> bool:
    last = 0
    for end, number in enumerate(run[:_MOST_WORDS], 1):
        last = (last << 11 | number) & _LONGEST_PHRASE
        if any(end >= length and _checksum_is_right(last, length) for length in _LENGTHS):
            return True
    return False


def _checksum_is_right(numbers: int, length: int) -> bool:
    """Whether the last words, 11 bits each, are a phrase of this length: one bit in 33 belongs to the checksum."""
    check = length // 3
    entropy = (numbers & ((1 << 11 * length) - 1)) >> check
    return hashlib.sha256(entropy.to_bytes(4 * check, "big")).digest()[0] >> 8 - check == numbers & (
        (1 << check) - 1
    )


@lru_cache(maxsize=1)
def _numbers() -> Mapping[str, int]:
    words = files(__package__).joinpath("bip39.txt").read_text("ascii").split()
    return {word: number for number, word in enumerate(words)}


_IBAN: Final = (
    r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ .-]?[A-Z0-9]{4}){2,7}(?:[ .-]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
)


def holds_iban(text: str) -> bool:
    """Whether the text holds an IBAN with right check digits (ISO 13616)."""
    return any(_iban_is_right(re.sub(r"[ .-]", "", found[0])) for found in re.finditer(_IBAN, text))


def _iban_is_right(iban: str) -> bool:
    return (
        15 <= len(iban) <= 34 and int("".join(str(int(sign, 36)) for sign in iban[4:] + iban[:4])) % 97 == 1
    )


_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_WIF: Final = r"(?<![A-Za-z0-9])[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"


def holds_bitcoin_key(text: str) -> bool:
    """Whether the text holds a Bitcoin private key as wallets export it (WIF), with a right checksum."""
    return any(_base58_is_right(found[0]) for found in re.finditer(_WIF, text))


def _base58_is_right(text: str) -> bool:
    number = 0
    for sign in text:
        number = number * 58 + _BASE58.index(sign)
    raw = number.to_bytes(44, "big").lstrip(b"\0")
    payload, check = raw[:-4], raw[-4:]
    return hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4] == check
