"""Tokens that are written in pieces: with blanks, signs or words between their parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from handraise.secrets.providers import beginnings

_SINGLES: Final = r"(?<!\S)\S(?:\s\S){2,}(?:\s?[_-]\S*|\s\S)(?!\S)"
_SIGNED_SINGLES: Final = (
    r"(?<![A-Za-z0-9])[A-Za-z0-9]([./*|,·-])[A-Za-z0-9](?:\1[A-Za-z0-9_-])+(?:\1[A-Za-z0-9_-]{4,200})?"
)
_QUOTES: Final = r"[\"'`]\s?[+.&,]?\s?[\"'`]"
_CHUNK: Final = r"[A-Za-z0-9_+/=.-]{1,300}"
_SIGNS: Final = r"\((?:dot|dash|rest|\.|-)\)|[|/.+,;:~*\"'`()\[\]<>-]"
_PIECE: Final = r"(?=[A-Za-z0-9_-]*\d|[a-z]*[A-Z]+[a-z]+[A-Z])(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{6,200}"
"""Random letters and digits."""
_BETWEEN_PARTS: Final = frozenset(
    ["and", "then", "second", "half", "part", "rest", "the", "is", "plus", "next"]
)
"""Words that people write between the parts of a token."""
_FEW_WORDS: Final = 3


def put_in_one_piece(text: str) -> Iterator[str]:
    """The text with a token in one piece that stands there with signs, blanks or words between its parts."""
    signed = re.sub(_SIGNED_SINGLES, lambda run: re.sub(rf"[{re.escape(run[1])}]", "", run[0]), text)
    signed = re.sub(_QUOTES, "", signed)
    if signed != text:
        yield signed
    begins = beginnings().search(signed)
    if begins is not None:
        after = signed[begins.end() :]
        first = re.match(r"\S*", after)
        together = re.sub(_SIGNS, "", first[0] if first else "")
        mixed = re.search(r"\d", together) and re.search(r"[a-z][A-Z]|[A-Z][a-z]", together)
        if mixed or begins[0].isupper():
            yield begins[0] + together
        pieces = [chunk.strip("_-") for chunk in re.split(r"[\s…|+,;:()\"']+", after)]
        yield begins[0] + "".join(chunk for chunk in pieces if re.fullmatch(_PIECE, chunk))
    if re.search(r"\s|…", signed):
        yield from _without_blanks(signed)


def _without_blanks(text: str) -> Iterator[str]:
    text = re.sub(_SINGLES, lambda run: re.sub(r"\s", "", run[0]), text)
    text = re.sub(r" ([-_]) ", r"\1", text)
    begins = beginnings().search(text)
    if begins is None:
        yield text
        if len(text.split()) <= _FEW_WORDS:
            yield re.sub(r"\s", "", text)
        return
    rest = re.split(r"[\s…]+", text[begins.end() :].lstrip(" …\n\t"))
    for chunks in (rest, [chunk for chunk in rest if chunk.lower().strip(",:") not in _BETWEEN_PARTS]):
        yield re.sub(r"^(gh[pousr])-", r"\1_", begins[0] + "".join(_parts(chunks)))


def _parts(chunks: Iterable[str]) -> Iterator[str]:
    """The parts of a token, up to the next word of the sentence."""
    before = ["", ""]
    for chunk in (chunk.rstrip(",;:)\"'") for chunk in chunks):
        is_word = chunk.isalpha() and chunk.islower() and len(chunk) > 1
        in_groups = len(chunk) == len(before[-1]) == len(before[-2])
        if not re.fullmatch(_CHUNK, chunk) or (is_word and not in_groups):
            return
        before.append(chunk)
        yield chunk
