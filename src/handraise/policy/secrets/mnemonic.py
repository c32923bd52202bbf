"""A wallet's seed phrase (BIP-39): 12 to 24 words of one list, the last of which carries a checksum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

_LENGTHS: Final = (24, 21, 18, 15, 12)
_WORD: Final = re.compile(r"[A-Za-z]+")


def holds_seed_phrase(text: str) -> bool:
    """Whether consecutive words of the text are a phrase with a right checksum."""
    words = _WORD.findall(text)
    if len(words) < _LENGTHS[-1]:
        return False
    numbers = [_numbers().get(word.lower()) for word in words]
    run: list[int] = []
    for number in (*numbers, None):
        if number is not None:
            run.append(number)
            continue
        if _holds(run):
            return True
        run = []
    return False


def _holds(run: Sequence[int]) -> bool:
    return any(
        _checksum_is_right(run[start : start + length])
        for length in _LENGTHS
        for start in range(len(run) - length + 1)
    )


def _checksum_is_right(numbers: Sequence[int]) -> bool:
    bits = "".join(f"{number:011b}" for number in numbers)
    split = len(bits) * 32 // 33
    entropy = int(bits[:split], 2).to_bytes(split // 8, "big")
    return f"{hashlib.sha256(entropy).digest()[0]:08b}"[: len(bits) - split] == bits[split:]


@lru_cache(maxsize=1)
def _numbers() -> Mapping[str, int]:
    words = files(__package__).joinpath("bip39.txt").read_text("ascii").split()
    return {word: number for number, word in enumerate(words)}
